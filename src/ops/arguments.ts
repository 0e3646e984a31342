import { empty } from '../core/contiguous.js'
import { type DType, isFloating } from '../core/dtype.js'
import { ArgumentError, DTypeError } from '../core/errors.js'
import { isTensor, Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { viewOf } from '../memory/heap.js'
import { publicly } from '../memory/scope.js'

/** What elementwise functions take: a tensor, or a number that adopts the dtype of the tensor beside it. */
export type Operand = Tensor | number

/** Throws unless `value` is a tensor. */
export function checkTensor(op: string, value: unknown, name = 'the argument'): asserts value is Tensor {
  if (isTensor(value)) return
  const shown = value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value
  const foreign = typeof value === 'object' && value !== null && 'storage' in value && 'strides' in value
  throw new ArgumentError(
    foreign
      ? `${op}: ${name} is a tensor of another copy of wengert; load the library once (import and require give two copies)`
      : `${op}: ${name} must be a tensor, got ${shown}; wrap numbers with tensor(...)`,
  )
}

const CONSTANTS_KEPT = 256
const constants = new Map<DType, Map<number, Tensor>>()

/** A scalar tensor without gradient. Common values are made once. */
export function constant(value: number, dtype: DType): Tensor {
  let known = constants.get(dtype)
  if (known === undefined) {
    known = new Map()
    constants.set(dtype, known)
  }
  // A Map takes 0 and -0 for the same key.
  const negativeZero = Object.is(value, -0)
  const found = negativeZero ? undefined : known.get(value)
  if (found !== undefined) return found
  const made = publicly(() => empty(dtype, []))
  const view = viewOf(dtype)
  view[addressOf(made.storage) / view.BYTES_PER_ELEMENT] = value
  if (known.size >= CONSTANTS_KEPT) known.clear()
  if (!negativeZero) known.set(value, made)
  return made
}

/** A number beside a tensor of `dtype`: it adopts that dtype, unless its value cannot be one of it. */
export function weakScalar(op: string, value: number, dtype: DType): Tensor {
  if (isFloating(dtype)) return constant(value, dtype)
  if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 31) {
    throw new DTypeError(
      `${op}: ${value} is no 32-bit whole number and numbers do not promote ${dtype}; convert the tensor first, for example x.to('float32')`,
    )
  }
  return constant(value, 'int32')
}

/** Zeros like x, as a view of one number. Never recorded. */
export function zerosView(x: Tensor): Tensor {
  return new Tensor(constant(0, x.dtype).storage, x.shape, x.size === 1 ? null : new Array<number>(x.ndim).fill(0))
}
