import { addressOf } from '../memory/arena.js'
import { newStorage } from '../memory/scope.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { bytesOf, type DType } from './dtype.js'
import { type Shape, sizeOf } from './shape.js'
import { planRows } from './strides.js'
import { Tensor } from './tensor.js'
import { walkInPieces } from './walk-pieces.js'

const copy = new KernelFamily('copy')

/**
 * Copies values of one dtype between two strided places in linear memory; strides may be null for those of a row-major
 * array.
 */
export function copyStrided(
  dtype: DType,
  shape: Shape,
  from: number,
  fromStrides: readonly number[] | null,
  to: number,
  toStrides: readonly number[] | null,
): void {
  const size = sizeOf(shape)
  if (size === 0) return
  const bytes = bytesOf(dtype)
  const kernel = copy.get(String(bytes))
  const inThreads = isShared(copy.nanosecondsPerByte * bytes * size)
  if (fromStrides === null && toStrides === null && !inThreads) {
    kernel(from, to, size, 1, 1, 0)
    return
  }
  const walk = planRows(shape, { shape, strides: fromStrides }, { shape, strides: toStrides }, null)
  if (inThreads) {
    const operands = [
      { address: from, bytes },
      { address: to, bytes },
    ]
    walkInPieces(copy, String(bytes), walk, operands, null)
  } else kernel(from, to, walk.length, walk.strideA, walk.strideB, walk.layout)
}

/** A new tensor over undefined values. */
export function empty(dtype: DType, shape: Shape): Tensor {
  return new Tensor(newStorage(dtype, sizeOf(shape)), shape, null)
}

/** The same values without gaps, in row-major order: the tensor itself where it is so already. Not recorded. */
export function contiguous(x: Tensor): Tensor {
  if (x.strides === null) return x
  const result = empty(x.dtype, x.shape)
  const from = addressOf(x.storage)
  copyStrided(x.dtype, x.shape, from, x.strides, addressOf(result.storage), null)
  return result
}
