import { addressOf } from '../memory/arena.js'
import { newStorage } from '../memory/scope.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { bytesOf, type DType } from './dtype.js'
import { contiguousStrides, type Shape, sizeOf } from './shape.js'
import { planRows, walkInPieces } from './strides.js'
import { Tensor } from './tensor.js'

const copy = new KernelFamily('copy')

/** Copies values of one dtype between two strided places in linear memory. */
export function copyStrided(
  dtype: DType,
  shape: Shape,
  from: number,
  fromStrides: readonly number[],
  to: number,
  toStrides: readonly number[],
): void {
  const size = sizeOf(shape)
  if (size === 0) return
  const bytes = bytesOf(dtype)
  if (isShared(copy.nanosecondsPerByte * bytes * size)) {
    const operands = [
      { address: from, bytes, strides: fromStrides },
      { address: to, bytes, strides: toStrides },
    ]
    walkInPieces(copy, String(bytes), shape, operands, null)
    return
  }
  const { length, strides, layout } = planRows(shape, [fromStrides, toStrides])
  copy.get(String(bytes))(from, to, length, strides[0] as number, strides[1] as number, layout)
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
  copyStrided(x.dtype, x.shape, from, x.strides, addressOf(result.storage), contiguousStrides(x.shape))
  return result
}
