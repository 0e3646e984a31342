// Windows that slide over images: what convolution and pooling share.
import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, suffixOf } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { checkInteger, contiguousStrides, type Shape, showShape, sizeOf } from '../core/shape.js'
import { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { tensor } from './creation.js'

/** Height and width, or one number for both. */
export type Pair = number | readonly [height: number, width: number]

/** The pair; throws unless it is of whole numbers of at least `minimum`. */
export function pairOf(op: string, name: string, value: Pair, minimum: number): readonly [number, number] {
  const pair: unknown = typeof value === 'number' ? [value, value] : value
  if (!Array.isArray(pair) || pair.length !== 2) {
    throw new ArgumentError(`${op}: ${name} must be a number or a pair [height, width], got ${String(value)}`)
  }
  for (const number of pair) checkInteger(op, name, number, minimum)
  return pair as [number, number]
}

/** Throws unless x is a floating image (channels, height, width) or a batch of them. */
export function checkImages(op: string, x: Tensor): void {
  checkTensor(op, x)
  checkFloating(op, x.dtype)
  if (x.ndim !== 3 && x.ndim !== 4) {
    throw new ShapeError(
      `${op}: needs images (batch, channels, height, width) or (channels, height, width), got ${showShape(x.shape)}`,
    )
  }
}

/** How windows lie in an image. */
export interface Windows {
  readonly size: readonly [number, number]
  /** From one window to the next. */
  readonly stride: readonly [number, number]
  /** From one element of a window to the next. */
  readonly dilation: readonly [number, number]
}

/** Number of windows along an axis of an image of this length; throws where none fits. */
function countAlong(op: string, shape: Shape, axis: 0 | 1, { size, stride, dilation }: Windows): number {
  const length = shape[shape.length - 2 + axis] as number
  const extent = dilation[axis] * (size[axis] - 1) + 1
  if (extent > length) {
    throw new ShapeError(
      `${op}: windows of ${size.join(' × ')}${dilation.some((step) => step > 1) ? ` with dilation ${dilation.join(', ')}` : ''} do not fit into images of ${shape.slice(-2).join(' × ')} (with their padding)`,
    )
  }
  return Math.floor((length - extent) / stride[axis]) + 1
}

interface Sliding extends Windows {
  /** Windows along the height and along the width. */
  readonly counts: readonly [number, number]
}

const slidingOperation: Operation<Sliding> = {
  name: 'slidingWindows',
  forward: ([input], { size, stride, dilation, counts }) => {
    const x = input as Tensor
    const strides = x.strides ?? contiguousStrides(x.shape)
    const [row, column] = strides.slice(-2) as [number, number]
    const shape = [...x.shape.slice(0, -2), ...size, ...counts]
    // The windows overlap in memory: nothing is copied.
    const own = [dilation[0] * row, dilation[1] * column, stride[0] * row, stride[1] * column]
    return new Tensor(x.storage, shape, [...strides.slice(0, -2), ...own])
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => apply(overlapAddOperation, [g], { ...call.attributes, shape: call.inputShape(0) }),
    },
  ],
}

const scatterAddRows = new KernelFamily('scatterAddRows')

/** The adjoint of the windows: images to which every window is added in its place. */
const overlapAddOperation: Operation<Sliding & { readonly shape: Shape }> = {
  name: 'slidingWindowsBackward',
  forward: ([input], { shape, ...sliding }) => {
    const x = contiguous(input as Tensor)
    const out = empty(x.dtype, shape)
    const places = placesOf(shape[shape.length - 1] as number, sliding)
    const [outer, area] = [sizeOf(shape.slice(0, -2)), sizeOf(shape.slice(-2))]
    const addresses = [addressOf(x.storage), addressOf(places.storage), addressOf(out.storage)] as const
    scatterAddRows.get(suffixOf(x.dtype))(...addresses, outer, area, places.size, 1)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (h, call) => {
        const { shape: _, ...sliding } = call.attributes
        return apply(slidingOperation, [h], sliding)
      },
    },
  ],
}

/** Where in an image of this width every element of every window lies, in the order of the windows' axes. */
function placesOf(width: number, { size, stride, dilation, counts }: Sliding): Tensor {
  const places = new Int32Array(size[0] * size[1] * counts[0] * counts[1])
  let i = 0
  for (let y = 0; y < size[0]; y++) {
    for (let x = 0; x < size[1]; x++) {
      for (let row = 0; row < counts[0]; row++) {
        const line = (y * dilation[0] + row * stride[0]) * width + x * dilation[1]
        for (let column = 0; column < counts[1]; column++) places[i++] = line + column * stride[1]
      }
    }
  }
  return tensor(places)
}

/**
 * The windows of images (…, height, width) as (…, window height, window width, rows of windows, windows in a row).
 * Derivative: every window's cotangent added in its place.
 */
export function slidingWindows(op: string, x: Tensor, windows: Windows): Tensor {
  const counts = [countAlong(op, x.shape, 0, windows), countAlong(op, x.shape, 1, windows)] as const
  return apply(slidingOperation, [x], { ...windows, counts })
}
