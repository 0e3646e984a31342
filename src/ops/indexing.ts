// Taking elements by position.
import { contiguous, empty } from '../core/contiguous.js'
import { bytesOf, suffixOf } from '../core/dtype.js'
import { DTypeError, IndexError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { normalizeAxis, type Shape, showShape, sizeOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, readOne } from '../memory/arena.js'
import { KernelFamily, kernels } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'
import { detach } from './copy.js'

const scatterAddRows = new KernelFamily('scatterAddRows')

const indexSelectOperation: Operation<number> = {
  name: 'indexSelect',
  forward: ([input, positions], axis) => {
    const x = contiguous(input as Tensor)
    const indices = contiguous(positions as Tensor)
    const count = indices.storage.length
    const length = x.shape[axis] as number
    const out = empty(x.dtype, [...x.shape.slice(0, axis), count, ...x.shape.slice(axis + 1)])
    const inner = sizeOf(x.shape.slice(axis + 1)) * bytesOf(x.dtype)
    const outer = sizeOf(x.shape.slice(0, axis))
    const to = addressOf(out.storage)
    const wrong = kernels().gatherRows(
      addressOf(x.storage),
      addressOf(indices.storage),
      to,
      outer,
      length,
      count,
      inner,
    )
    if (wrong >= 0) {
      throw new IndexError(
        `indexSelect: index ${readOne(indices.storage, wrong)} (at place ${wrong}) is out of range; axis ${axis} of ${showShape(x.shape)} takes ${-length} to ${length - 1}`,
      )
    }
    return out
  },
  derivatives: [
    {
      saves: [1],
      rule: (g, call) =>
        apply(scatterAddOperation, [g, call.input(1)], { axis: call.attributes, shape: call.inputShape(0) }),
    },
    null,
  ],
}

/** The adjoint of indexSelect: zeros, to which each given slice is added at its index. */
const scatterAddOperation: Operation<{ readonly axis: number; readonly shape: Shape }> = {
  name: 'indexSelectBackward',
  forward: ([input, positions], { axis, shape }) => {
    const indices = contiguous(positions as Tensor)
    if (input?.dtype === 'float32' && repeats(indices, shape[axis] as number)) {
      const wide = apply(scatterAddOperation, [to(detach(input), 'float64'), indices], { axis, shape })
      return to(wide, 'float32')
    }
    const x = contiguous(input as Tensor)
    const out = empty(x.dtype, shape)
    const outer = sizeOf(shape.slice(0, axis))
    const inner = sizeOf(shape.slice(axis + 1))
    const addresses = [addressOf(x.storage), addressOf(indices.storage), addressOf(out.storage)] as const
    scatterAddRows.get(suffixOf(x.dtype))(...addresses, outer, shape[axis] as number, indices.storage.length, inner)
    return out
  },
  derivatives: [
    { saves: [1], rule: (h, call) => apply(indexSelectOperation, [h, call.input(1)], call.attributes.axis) },
    null,
  ],
}

/** As many summands in one place leave float32 three digits, if they are added one by one. */
const MANY = 2 ** 12

/** Whether an index comes that often. */
function repeats({ data, size }: Tensor, length: number): boolean {
  if (size < MANY) return false
  const counts = new Int32Array(length)
  return data.some((index) => {
    const place = index < 0 ? index + length : index
    counts[place] = (counts[place] as number) + 1
    return (counts[place] as number) >= MANY
  })
}

/**
 * The slices of `x` at the given positions along an axis, in their order, repetitions included; negative positions
 * count from the end. Derivative: each slice's cotangent added back at its position.
 *
 * @param indices int32, one axis
 * @throws IndexError for a position out of range, DTypeError unless indices are int32
 */
export function indexSelect(x: Tensor, axis: number, indices: Tensor): Tensor {
  checkTensor('indexSelect', x)
  checkTensor('indexSelect', indices, 'the indices')
  const place = normalizeAxis('indexSelect', axis, x.ndim)
  if (indices.dtype !== 'int32') {
    throw new DTypeError(`indexSelect: indices must be int32, got ${indices.dtype}; convert with .to('int32')`)
  }
  if (indices.ndim !== 1)
    throw new ShapeError(`indexSelect: indices must have one axis, got ${showShape(indices.shape)}`)
  return apply(indexSelectOperation, [x, indices], place)
}
