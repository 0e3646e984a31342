// Running sums and products along an axis, and the product as a reduction.
import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, suffixOf } from '../core/dtype.js'
import { OUTPUT } from '../core/node.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { normalizeAxis, type Shape, sizeOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { annihilate, mul } from './arithmetic.js'
import { to } from './convert.js'
import { ones, zeros } from './creation.js'
import { flip } from './flip.js'
import { concat, slice } from './joining.js'
import { type ReducedAxes, type ReductionOptions, reducedAxes, reducedCount, reduceWith } from './reduce.js'
import { spread } from './sum.js'
import { permute, reshape } from './views.js'

/** Sizes in front of the axis, along it, and behind it. */
function around(shape: Shape, axis: number): [outer: number, count: number, inner: number] {
  return [sizeOf(shape.slice(0, axis)), shape[axis] as number, sizeOf(shape.slice(axis + 1))]
}

interface Direction {
  readonly axis: number
  /** Whether to begin at the end of the axis. */
  readonly reverse: boolean
}

const cumulativeSum = new KernelFamily('cumulativeSum')

const cumsumOperation: Operation<Direction> = {
  name: 'cumsum',
  forward: ([input], { axis, reverse }) => {
    const x = contiguous(input as Tensor)
    const out = empty(x.dtype, x.shape)
    if (out.storage.length === 0) return out
    const kernel = cumulativeSum.get(suffixOf(x.dtype))
    kernel(addressOf(x.storage), addressOf(out.storage), ...around(x.shape, axis), Number(reverse))
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => apply(cumsumOperation, [g], { ...call.attributes, reverse: !call.attributes.reverse }),
    },
  ],
}

/**
 * Running sums along an axis: `yₖ = x₀ + … + xₖ`, with compensated rounding. `bool` is counted, as int32.
 *
 * Derivative: the running sums of the cotangent from the end, `gₖ + gₖ₊₁ + …`.
 *
 * @throws ShapeError where the axis is out of range
 */
export function cumsum(x: Tensor, axis: number): Tensor {
  checkTensor('cumsum', x)
  const place = normalizeAxis('cumsum', axis, x.ndim)
  return apply(cumsumOperation, [x.dtype === 'bool' ? to(x, 'int32') : x], { axis: place, reverse: false })
}

interface Recurrence extends Direction {
  /** Whether products with a value of exactly 0 are 0, as for cotangents. */
  readonly annihilating: boolean
}

const recurrence = new KernelFamily('linearScan')

/**
 * The linear recurrence `rₖ = bₖ + aₖ rₖ₋₁` (a₀ unused), or in reverse its adjoint `rₖ = bₖ + aₖ₊₁ rₖ₊₁`. Cotangents
 * follow the same recurrence in the other direction, so that derivatives of any order stay within this operation.
 */
const linearScanOperation: Operation<Recurrence> = {
  name: 'linearScan',
  forward: (inputs, { axis, reverse, annihilating }) => {
    const [a, b] = inputs.map(contiguous) as [Tensor, Tensor]
    const out = empty(b.dtype, b.shape)
    if (out.storage.length === 0) return out
    const addresses = [addressOf(a.storage), addressOf(b.storage), addressOf(out.storage)] as const
    const kernel = recurrence.get(suffixOf(b.dtype))
    kernel(...addresses, ...around(b.shape, axis), Number(reverse), Number(annihilating))
    return out
  },
  derivatives: [
    {
      // aₖ links the values at k − 1 and k of both recurrences.
      saves: [0, OUTPUT],
      rule: (g, call) => {
        const { axis, reverse } = call.attributes
        const other = opposite(g, call.input(0), call.attributes)
        return reverse
          ? annihilate(shifted(other, axis, 0), call.output)
          : annihilate(other, shifted(call.output, axis, 0))
      },
    },
    { saves: [0], rule: (g, call) => opposite(g, call.input(0), call.attributes) },
  ],
}

function opposite(g: Tensor, a: Tensor, { axis, reverse }: Recurrence): Tensor {
  return apply(linearScanOperation, [a, g], { axis, reverse: !reverse, annihilating: true })
}

/** x moved on by one place along an axis, with `first` in front. */
function shifted(x: Tensor, axis: number, first: 0 | 1): Tensor {
  const shape = x.shape.map((size, a) => (a === axis ? Math.min(1, size) : size))
  const head = (first === 0 ? zeros : ones)(shape, { dtype: x.dtype })
  return concat([head, withoutLast(x, axis)], axis)
}

function withoutLast(x: Tensor, axis: number): Tensor {
  const end = x.shape.map((size, a) => (a === axis ? Math.max(0, size - 1) : size))
  return slice(x, [], end)
}

/** Running products along an axis counted from 0. */
function products(x: Tensor, axis: number): Tensor {
  const head = slice(
    x,
    [],
    x.shape.map((size, a) => (a === axis ? Math.min(1, size) : size)),
  )
  const rest = zeros(withoutLast(x, axis).shape, { dtype: x.dtype })
  return apply(linearScanOperation, [x, concat([head, rest], axis)], { axis, reverse: false, annihilating: false })
}

/**
 * Running products along an axis: `yₖ = x₀ · … · xₖ`.
 *
 * Derivative: `(x₀ ⋯ xₖ₋₁) · (gₖ + xₖ₊₁ (gₖ₊₁ + xₖ₊₂ (…)))`: no division, so zeros are no exception.
 *
 * @throws ShapeError where the axis is out of range, DTypeError unless floating
 */
export function cumprod(x: Tensor, axis: number): Tensor {
  checkTensor('cumprod', x)
  checkFloating('cumprod', x.dtype)
  const place = normalizeAxis('cumprod', axis, x.ndim)
  return composite(() => products(x, place))
}

const prodKernel = new KernelFamily('prod')

const prodOperation: Operation<ReducedAxes> = {
  name: 'prod',
  forward: ([x], reduced) => reduceWith(prodKernel, x as Tensor, reduced, (x as Tensor).dtype),
  derivatives: [
    {
      saves: [0],
      rule: (g, call) => {
        const x = call.input(0)
        return annihilate(spread(g, x.shape, call.attributes.axes), productsOfOthers(x, call.attributes.axes))
      },
    },
  ],
}

/** For each element the product of all the others along the axes: of those before it and those behind it. */
function productsOfOthers(x: Tensor, axes: readonly number[]): Tensor {
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis))
  const order = [...kept, ...axes]
  const moved = permute(x, order)
  const rows = reshape(moved, [sizeOf(x.shape) / Math.max(1, reducedCount(x.shape, axes)), reducedCount(x.shape, axes)])
  const before = products(shifted(rows, 1, 1), 1)
  const behind = flip(products(shifted(flip(rows, 1), 1, 1), 1), 1)
  const inverse = order.map((_, axis) => order.indexOf(axis))
  return permute(reshape(mul(before, behind), moved.shape), inverse)
}

/**
 * Π over the given axes. `bool` counts as int32. The product of nothing is 1.
 *
 * Derivative: the product of all the others, formed without division, so that zeros are no exception.
 */
export function prod(x: Tensor, options?: ReductionOptions): Tensor {
  checkTensor('prod', x)
  return apply(prodOperation, [x.dtype === 'bool' ? to(x, 'int32') : x], reducedAxes('prod', x, options))
}
