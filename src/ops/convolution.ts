import { ArgumentError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { add } from './arithmetic.js'
import { operands } from './elementwise.js'
import { matmul } from './matmul.js'
import { pad } from './padding.js'
import { reshape, unsqueeze } from './views.js'
import { checkImages, type Pair, pairOf, slidingWindows } from './windows.js'

/** Options of `conv2d`. */
export interface ConvolutionOptions {
  /** From one window to the next; 1 by default. */
  readonly stride?: Pair | undefined
  /** Zeros around the image, on both sides alike; 0 by default. `'same'` (stride 1) keeps height and width. */
  readonly padding?: Pair | 'same' | undefined
  /** From one element of a window to the next; 1 by default. */
  readonly dilation?: Pair | undefined
  /** Groups of channels that are convolved apart from each other; 1 by default. */
  readonly groups?: number | undefined
}

/**
 * The cross-correlation that neural networks call convolution,
 * `yₒ[i, j] = biasₒ + Σ weight[o, c, u, v] · x[c, i·stride + u·dilation, j·stride + v·dilation]`, by unfolding the
 * windows into a matrix and one product: made for small images.
 *
 * Derivatives: towards x the cotangents of all windows, `weightᵀ g`, added in their places; towards the weight the
 * products of cotangent and windows; towards the bias the sum of the cotangent.
 *
 * @param x (batch, channels, height, width) or (channels, height, width)
 * @param weight (out channels, channels / groups, window height, window width)
 * @param bias (out channels,)
 * @returns (batch, out channels, rows, columns), without the batch where x has none
 * @throws ShapeError where sizes do not fit or no window does; DTypeError unless floating; ArgumentError for an option
 */
export function conv2d(x: Tensor, weight: Tensor, bias?: Tensor, options: ConvolutionOptions = {}): Tensor {
  checkImages('conv2d', x)
  checkTensor('conv2d', weight, 'the weight')
  checkOptions('conv2d', options, ['stride', 'padding', 'dilation', 'groups'])
  const { groups = 1 } = options
  checkInteger('conv2d', 'groups', groups, 1)
  const stride = pairOf('conv2d', 'stride', options.stride ?? 1, 1)
  const dilation = pairOf('conv2d', 'dilation', options.dilation ?? 1, 1)
  const channels = x.shape[x.ndim - 3] as number
  const [outChannels, depth, height, width] = weight.shape as readonly [number, number, number, number]
  if (weight.ndim !== 4 || depth * groups !== channels || outChannels % groups !== 0 || height * width === 0) {
    throw new ShapeError(
      `conv2d: x ${showShape(x.shape)} and a weight of ${showShape(weight.shape)} do not fit${groups === 1 ? '' : ` in ${groups} groups`}; the weight is (out channels, channels / groups, window height, window width)`,
    )
  }
  if (bias !== undefined) {
    checkTensor('conv2d', bias, 'the bias')
    if (bias.ndim !== 1 || bias.shape[0] !== outChannels) {
      throw new ShapeError(
        `conv2d: the bias must have shape (${outChannels},), one number for each out channel, got ${showShape(bias.shape)}`,
      )
    }
  }
  const size = [height, width] as const
  const margins = marginsOf(options.padding ?? 0, size, stride, dilation)
  return composite(() => {
    const [images, kernel] = operands('conv2d', x.ndim === 3 ? unsqueeze(x, 0) : x, weight, 'float32')
    const batch = images.shape[0] as number
    const windows = slidingWindows('conv2d', pad(images, margins), { size, stride, dilation })
    const [rows, columns] = windows.shape.slice(-2) as [number, number]
    const inner = depth * height * width
    const unfolded = reshape(windows, [batch, groups, inner, rows * columns])
    const product = matmul(reshape(kernel, [groups, outChannels / groups, inner]), unfolded)
    const result = reshape(product, [...(x.ndim === 3 ? [] : [batch]), outChannels, rows, columns])
    return bias === undefined ? result : add(result, reshape(bias, [outChannels, 1, 1]))
  })
}

/** Zeros before and behind along height and width. */
function marginsOf(
  padding: Pair | 'same',
  size: readonly [number, number],
  stride: readonly [number, number],
  dilation: readonly [number, number],
): (readonly [number, number])[] {
  if (padding !== 'same') {
    return pairOf('conv2d', 'padding', padding, 0).map((margin) => [margin, margin] as const)
  }
  if (stride.some((step) => step !== 1)) {
    throw new ArgumentError("conv2d: padding 'same' needs stride 1; give the padding in numbers")
  }
  return size.map((length, axis) => {
    const total = (dilation[axis] as number) * (length - 1)
    const before = Math.floor(total / 2)
    return [before, total - before] as const
  })
}
