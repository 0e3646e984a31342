import { ArgumentError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { pad } from './padding.js'
import { max, mean } from './reductions.js'
import { checkImages, type Pair, pairOf, slidingWindows } from './windows.js'

/** Options of `maxPool2d` and `avgPool2d`. */
export interface PoolingOptions {
  /** From one window to the next; the window's size by default. */
  readonly stride?: Pair | undefined
  /** The margin around the image, at most half of the window; 0 by default. */
  readonly padding?: Pair | undefined
}

function pool(
  op: string,
  x: Tensor,
  size: Pair,
  options: PoolingOptions,
  margin: number,
  reduce: (windows: Tensor, options: { readonly axis: readonly number[] }) => Tensor,
): Tensor {
  checkImages(op, x)
  checkOptions(op, options, ['stride', 'padding'])
  const window = pairOf(op, 'the size', size, 1)
  const stride = pairOf(op, 'stride', options.stride ?? window, 1)
  const padding = pairOf(op, 'padding', options.padding ?? 0, 0)
  if (padding.some((width, axis) => 2 * width > (window[axis] as number))) {
    throw new ArgumentError(
      `${op}: padding ${padding.join(', ')} is more than half of the window ${window.join(' × ')}, so that some would see nothing of the image`,
    )
  }
  return composite(() => {
    const padded = pad(
      x,
      padding.map((width) => [width, width] as const),
      { value: margin },
    )
    return reduce(slidingWindows(op, padded, { size: window, stride, dilation: [1, 1] }), { axis: [-4, -3] })
  })
}

/**
 * The largest element of each window of the images' last two axes; what lies in the margin does not count. Derivative:
 * 1 at the largest element, shared equally among ties.
 *
 * @param x (batch, channels, height, width) or (channels, height, width)
 * @param size of the windows
 * @returns the shape of x with the numbers of windows in the last two axes
 * @throws ShapeError where no window fits; DTypeError unless floating; ArgumentError for an option
 */
export function maxPool2d(x: Tensor, size: Pair, options: PoolingOptions = {}): Tensor {
  return pool('maxPool2d', x, size, options, Number.NEGATIVE_INFINITY, max)
}

/**
 * The mean of each window of the images' last two axes; the margin counts as zeros. Derivative: 1/elements of a window.
 *
 * @param x (batch, channels, height, width) or (channels, height, width)
 * @param size of the windows
 * @returns the shape of x with the numbers of windows in the last two axes
 * @throws as `maxPool2d`
 */
export function avgPool2d(x: Tensor, size: Pair, options: PoolingOptions = {}): Tensor {
  return pool('avgPool2d', x, size, options, 0, mean)
}
