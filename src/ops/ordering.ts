// The order of elements along an axis.

import { contiguous, empty } from '../core/contiguous.js'
import { suffixOf } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, normalizeAxis, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'
import { gather } from './gather.js'
import { slice } from './joining.js'
import { transpose } from './views.js'

const kernel = new KernelFamily('argsort')

/** Positions in order, along the last axis. */
const argsortOperation: Operation<{ readonly descending: boolean }> = {
  name: 'argsort',
  forward: ([input], { descending }) => {
    const x = contiguous(input as Tensor)
    const out = empty('int32', x.shape)
    if (out.storage.length === 0) return out
    const count = x.shape[x.ndim - 1] as number
    const scratch = empty('int32', [count])
    const addresses = [addressOf(x.storage), addressOf(out.storage), addressOf(scratch.storage)] as const
    kernel.get(suffixOf(x.dtype))(...addresses, out.storage.length / count, count, Number(descending))
    return out
  },
  derivatives: null,
}

/** Options of `sort` and `argsort`. */
export interface SortOptions {
  /** The axis along which to sort; the last by default. */
  readonly axis?: number | undefined
  /** Whether the largest comes first; false by default. */
  readonly descending?: boolean | undefined
}

/** Elements and where they were. */
export interface Ordered {
  readonly values: Tensor
  /** int32 positions along the axis. */
  readonly indices: Tensor
}

function order(op: string, x: Tensor, options: SortOptions): [Tensor, number] {
  checkTensor(op, x)
  checkOptions(op, options, ['axis', 'descending'])
  const { axis = -1, descending = false } = options
  const place = normalizeAxis(op, axis, x.ndim)
  const indices = composite(() => {
    const numbers = x.dtype === 'bool' ? to(x, 'int32') : x
    return transpose(apply(argsortOperation, [transpose(numbers, place, -1)], { descending }), place, -1)
  })
  return [indices, place]
}

/**
 * Where the elements stand, in their order along an axis (by default the last), as int32. Equal elements keep their
 * order; NaN counts as larger than every number.
 *
 * @throws ShapeError where the axis is out of range
 */
export function argsort(x: Tensor, options: SortOptions = {}): Tensor {
  return order('argsort', x, options)[0]
}

/**
 * The elements in their order along an axis (by default the last), and where they stood. Equal elements keep their
 * order; NaN counts as larger than every number. Derivative of the values: each cotangent goes back to where its
 * element stood.
 *
 * @throws ShapeError where the axis is out of range
 */
export function sort(x: Tensor, options: SortOptions = {}): Ordered {
  const [indices, axis] = order('sort', x, options)
  return { values: gather(x, axis, indices), indices }
}

/** Options of `topk`. */
export interface TopkOptions {
  /** The axis along which to choose; the last by default. */
  readonly axis?: number | undefined
  /** Whether to take the largest (the default) or the smallest. */
  readonly largest?: boolean | undefined
}

/**
 * The k largest (or smallest) elements along an axis (by default the last), the most extreme first, and where they
 * stood; of equal elements the first. Derivative of the values: each cotangent goes back to where its element stood.
 *
 * @throws ArgumentError unless k is a whole number from 0 to the length of the axis; ShapeError for an axis out of range
 */
export function topk(x: Tensor, k: number, options: TopkOptions = {}): Ordered {
  checkTensor('topk', x)
  checkInteger('topk', 'k', k, 0)
  checkOptions('topk', options, ['axis', 'largest'])
  const { axis = -1, largest = true } = options
  const place = normalizeAxis('topk', axis, x.ndim)
  if (k > (x.shape[place] as number)) {
    throw new ArgumentError(`topk: k is ${k}, axis ${place} of ${showShape(x.shape)} has ${x.shape[place]} elements`)
  }
  const indices = composite(() => {
    const end = x.shape.map((size, a) => (a === place ? k : size))
    return slice(order('topk', x, { axis: place, descending: largest })[0], [], end)
  })
  return { values: gather(x, place, indices), indices }
}
