// Other shapes of the same numbers: nothing is copied where strides can express the result.
import { contiguous, empty } from '../core/contiguous.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import {
  broadcastsTo,
  checkList,
  checkShape,
  contiguousStrides,
  normalizeAxes,
  normalizeAxis,
  type Shape,
  sameShape,
  showShape,
  sizeOf,
} from '../core/shape.js'
import { stridesOver } from '../core/strides.js'
import { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { sumTo } from './sum.js'

/** Strides in the form that tensors keep: null where they are the row-major ones. */
export function simplify(shape: Shape, strides: readonly number[]): readonly number[] | null {
  let plain = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== plain) return sizeOf(shape) === 0 ? null : strides
    plain *= shape[axis] as number
  }
  return null
}

const reshapeOperation: Operation<Shape> = {
  name: 'reshape',
  forward: (inputs, shape) => new Tensor(contiguous(inputs[0] as Tensor).storage, shape, null),
  derivatives: [{ saves: [], rule: (g, call) => reshapeTo(g, call.inputShape(0)) }],
}

/**
 * The same numbers in row-major order under another shape of the same size. One size may be −1: it is computed.
 * Shares the numbers where `x` has no gaps.
 *
 * @throws ShapeError where the sizes do not multiply to `x.size`
 */
export function reshape(x: Tensor, shape: Shape): Tensor {
  checkTensor('reshape', x)
  return reshapeTo(x, inferSize(x, shape))
}

/** `reshape` to a shape that is known to fit, and that nobody else will change. */
export function reshapeTo(x: Tensor, shape: Shape): Tensor {
  return sameShape(shape, x.shape) ? x : apply(reshapeOperation, [x], shape)
}

function inferSize(x: Tensor, shape: Shape): Shape {
  let holes = 0
  if (Array.isArray(shape)) for (let axis = 0; axis < shape.length; axis++) if (shape[axis] === -1) holes++
  if (holes > 1) throw new ShapeError(`reshape: only one size may be -1, got ${showShape(shape)}`)
  checkShape('reshape', holes === 0 ? shape : shape.map((size) => (size === -1 ? 1 : size)))
  const { size } = x
  const known = sizeOf(shape) * (holes === 0 ? 1 : -1)
  if (holes === 1 && known !== 0 && size % known === 0)
    return shape.map((length) => (length === -1 ? size / known : length))
  if (holes === 0 && known === size) return shape.slice()
  throw new ShapeError(
    `reshape: ${showShape(x.shape)} has ${size} elements, which do not fill ${showShape(shape)}${known === 0 && holes === 1 ? ': the size for -1 is not determined beside a size of 0' : ''}`,
  )
}

const permuteOperation: Operation<readonly number[]> = {
  name: 'permute',
  forward: (inputs, axes) => {
    const x = inputs[0] as Tensor
    const own = x.strides ?? contiguousStrides(x.shape)
    const rank = axes.length
    const shape = new Array<number>(rank)
    const strides = new Array<number>(rank)
    for (let i = 0; i < rank; i++) {
      const axis = axes[i] as number
      shape[i] = x.shape[axis] as number
      strides[i] = own[axis] as number
    }
    return new Tensor(x.storage, shape, simplify(shape, strides))
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => {
        const axes = call.attributes
        const inverse = new Array<number>(axes.length)
        for (let i = 0; i < axes.length; i++) inverse[axes[i] as number] = i
        return apply(permuteOperation, [g], inverse)
      },
    },
  ],
}

/**
 * The axes in another order: axis `i` of the result is axis `axes[i]` of `x`. A view: nothing is copied.
 *
 * @throws ShapeError unless `axes` names every axis once
 */
export function permute(x: Tensor, axes: readonly number[]): Tensor {
  checkTensor('permute', x)
  checkList('permute', 'axes', axes)
  const order = axes.map((axis) => normalizeAxis('permute', axis, x.ndim))
  if (order.length !== x.ndim || new Set(order).size !== x.ndim) {
    throw new ShapeError(
      `permute: [${axes.join(', ')}] must name each of the ${x.ndim} axes of ${showShape(x.shape)} once`,
    )
  }
  return apply(permuteOperation, [x], order)
}

/**
 * Two axes exchanged, by default the last two (the transposes of matrices in a batch). A view: nothing is copied.
 *
 * @throws ShapeError where an axis is out of range, or by default where there are fewer than two
 */
export function transpose(x: Tensor, axis0 = -2, axis1 = -1): Tensor {
  checkTensor('transpose', x)
  const first = normalizeAxis('transpose', axis0, x.ndim)
  const second = normalizeAxis('transpose', axis1, x.ndim)
  const order = new Array<number>(x.ndim)
  for (let axis = 0; axis < order.length; axis++) order[axis] = axis
  order[first] = second
  order[second] = first
  return apply(permuteOperation, [x], order)
}

const broadcastOperation: Operation<Shape> = {
  name: 'broadcastTo',
  forward: (inputs, shape) => {
    const x = inputs[0] as Tensor
    // Nothing of x is left in an empty result.
    if (sizeOf(shape) === 0) return empty(x.dtype, shape)
    return new Tensor(x.storage, shape, simplify(shape, stridesOver(x, shape)))
  },
  derivatives: [{ saves: [], rule: (g, call) => sumTo(g, call.inputShape(0)) }],
}

/**
 * `x` repeated along axes of size 1 and along new leading axes, up to `shape`. A view: nothing is copied.
 *
 * @throws ShapeError where the shapes do not broadcast
 */
export function broadcastTo(x: Tensor, shape: Shape): Tensor {
  checkTensor('broadcastTo', x)
  checkShape('broadcastTo', shape)
  if (!broadcastsTo(x.shape, shape)) {
    throw new ShapeError(
      `broadcastTo: ${showShape(x.shape)} does not broadcast to ${showShape(shape)}: aligned at the end, each size must be equal or 1`,
    )
  }
  return broadcastView(x, shape.slice())
}

/** `broadcastTo` a shape that is known to fit, and that nobody else will change. */
export function broadcastView(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : apply(broadcastOperation, [x], shape)
}

/**
 * Without the axes of size 1, or without the given ones.
 *
 * @throws ShapeError where a given axis is not of size 1
 */
export function squeeze(x: Tensor, axis?: number | readonly number[]): Tensor {
  checkTensor('squeeze', x)
  const given = normalizeAxes('squeeze', axis, x.ndim)
  const wrong = axis === undefined ? undefined : given.find((position) => x.shape[position] !== 1)
  if (wrong !== undefined) {
    throw new ShapeError(`squeeze: axis ${wrong} of ${showShape(x.shape)} has size ${x.shape[wrong]}, not 1`)
  }
  return reshapeTo(
    x,
    x.shape.filter((size, position) => size !== 1 || !given.includes(position)),
  )
}

/** With a new axis of size 1 at place `axis` of the result (−1 appends one). */
export function unsqueeze(x: Tensor, axis: number): Tensor {
  checkTensor('unsqueeze', x)
  const place = normalizeAxis('unsqueeze', axis, x.ndim + 1)
  return reshapeTo(x, [...x.shape.slice(0, place), 1, ...x.shape.slice(place)])
}

/** Axes `startAxis` to `endAxis` joined into one. */
export function flatten(x: Tensor, startAxis = 0, endAxis = -1): Tensor {
  checkTensor('flatten', x)
  if (x.ndim === 0) return reshape(x, [1])
  const start = normalizeAxis('flatten', startAxis, x.ndim)
  const end = normalizeAxis('flatten', endAxis, x.ndim)
  if (start > end) throw new ArgumentError(`flatten: startAxis ${startAxis} lies behind endAxis ${endAxis}`)
  return reshape(x, [...x.shape.slice(0, start), sizeOf(x.shape.slice(start, end + 1)), ...x.shape.slice(end + 1)])
}
