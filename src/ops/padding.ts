// Tensors with a margin, and tensors repeated.

import { copyStrided, empty } from '../core/contiguous.js'
import { bytesOf } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, contiguousStrides, normalizeAxis, showShape } from '../core/shape.js'
import { stridesOver } from '../core/strides.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { checkTensor, constant, weakScalar } from './arguments.js'
import { tensor } from './creation.js'
import { indexSelect } from './indexing.js'
import { slice } from './joining.js'
import { broadcastTo, reshape, unsqueeze } from './views.js'

interface Margins {
  /** How many elements come before the tensor along each axis, and how many behind it. */
  readonly before: readonly number[]
  readonly after: readonly number[]
}

const padOperation: Operation<Margins> = {
  name: 'pad',
  forward: ([input, fill], { before, after }) => {
    const x = input as Tensor
    const value = fill as Tensor
    const shape = x.shape.map((size, axis) => size + (before[axis] as number) + (after[axis] as number))
    const out = empty(x.dtype, shape)
    const target = addressOf(out.storage)
    const bytes = bytesOf(x.dtype)
    const strides = contiguousStrides(shape)
    copyStrided(x.dtype, shape, addressOf(value.storage), stridesOver(value, shape), target, strides)
    const start = before.reduce((total, count, axis) => total + count * (strides[axis] as number), 0)
    copyStrided(x.dtype, x.shape, addressOf(x.storage), x.strides, target + start * bytes, strides)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => {
        const { before } = call.attributes
        return slice(
          g,
          before,
          before.map((start, axis) => start + (call.inputShape(0)[axis] as number)),
        )
      },
    },
    null,
  ],
}

/**
 * x with `padding[axis] = [before, after]` elements of one value (0 by default) around it along each axis. Fewer pairs
 * than axes speak of the last axes. Derivative: the cotangent without the margin.
 *
 * @throws ShapeError for more pairs than axes, ArgumentError unless they are pairs of whole numbers of at least 0,
 *   DTypeError for a value that an int32 tensor cannot hold
 */
export function pad(
  x: Tensor,
  padding: readonly (readonly [before: number, after: number])[],
  options: { readonly value?: number } = {},
): Tensor {
  checkTensor('pad', x)
  checkOptions('pad', options, ['value'])
  const { value = 0 } = options
  if (!Array.isArray(padding)) {
    throw new ArgumentError(`pad: the padding is a list of pairs [before, after], got ${String(padding)}`)
  }
  if (padding.length > x.ndim) {
    throw new ShapeError(`pad: ${padding.length} pairs for ${x.ndim} axes of ${showShape(x.shape)}`)
  }
  for (const pair of padding as readonly unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new ArgumentError(`pad: every entry of the padding must be a pair [before, after], got ${String(pair)}`)
    }
    for (const count of pair) checkInteger('pad', 'a margin', count, 0)
  }
  if (typeof value !== 'number') throw new ArgumentError(`pad: the value must be a number, got ${typeof value}`)
  const fill = x.dtype === 'bool' ? constant(Number(value !== 0), 'bool') : weakScalar('pad', value, x.dtype)
  const rest = new Array<number>(x.ndim - padding.length).fill(0)
  const before = [...rest, ...padding.map(([count]) => count)]
  const after = [...rest, ...padding.map(([, count]) => count)]
  return apply(padOperation, [x, fill], { before, after })
}

/**
 * x laid side by side, `repeats[axis]` times along each axis; fewer numbers than axes speak of the last axes, more add
 * axes in front. Derivative: the sum of the cotangents of all copies.
 *
 * @throws ArgumentError unless the numbers are whole and at least 0
 */
export function tile(x: Tensor, repeats: number | readonly number[]): Tensor {
  checkTensor('tile', x)
  const given = typeof repeats === 'number' ? [repeats] : repeats
  for (const count of given) checkInteger('tile', 'a number of repeats', count, 0)
  const rank = Math.max(x.ndim, given.length)
  const counts = [...new Array<number>(rank - given.length).fill(1), ...given]
  const sizes = [...new Array<number>(rank - x.ndim).fill(1), ...x.shape]
  return composite(() => {
    const apart = reshape(
      x,
      sizes.flatMap((size) => [1, size]),
    )
    const repeated = broadcastTo(
      apart,
      sizes.flatMap((size, axis) => [counts[axis] as number, size]),
    )
    return reshape(
      repeated,
      sizes.map((size, axis) => size * (counts[axis] as number)),
    )
  })
}

/**
 * Every slice along an axis (default 0) repeated: [a, a, b, b, …] for a number, or each as often as a list says.
 * Derivative: the sum of the cotangents of all copies.
 *
 * @throws ArgumentError unless the numbers are whole and at least 0; ShapeError where a list does not fit the axis
 */
export function repeatInterleave(x: Tensor, repeats: number | readonly number[], axis = 0): Tensor {
  checkTensor('repeatInterleave', x)
  const place = normalizeAxis('repeatInterleave', axis, x.ndim)
  const size = x.shape[place] as number
  for (const count of typeof repeats === 'number' ? [repeats] : repeats) {
    checkInteger('repeatInterleave', 'a number of repeats', count, 0)
  }
  if (typeof repeats !== 'number') {
    if (repeats.length !== size) {
      throw new ShapeError(
        `repeatInterleave: ${repeats.length} numbers of repeats for axis ${place} of ${showShape(x.shape)}`,
      )
    }
    const source = repeats.flatMap((count, index) => new Array<number>(count).fill(index))
    return composite(() => indexSelect(x, place, tensor(Int32Array.from(source))))
  }
  const [front, back] = [x.shape.slice(0, place), x.shape.slice(place + 1)]
  return composite(() =>
    reshape(broadcastTo(unsqueeze(x, place + 1), [...front, size, repeats, ...back]), [
      ...front,
      size * repeats,
      ...back,
    ]),
  )
}
