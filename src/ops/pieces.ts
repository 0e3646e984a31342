// Calling kernels over elements or rows, in pieces that threads share where there is much to do.
import { bytesOf, suffixOf } from '../core/dtype.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces, isShared } from '../runtime/threads.js'

/** Fills `out` by a kernel `(x, out, count)`; both are contiguous. */
export function mapElements(family: KernelFamily, suffix: string, x: Tensor, out: Tensor): void {
  const { length } = out.storage
  const from = addressOf(x.storage)
  const to = addressOf(out.storage)
  const bytes = bytesOf(x.dtype)
  const nanoseconds = family.nanosecondsPerByte * bytes * length
  if (isShared(nanoseconds)) {
    const outBytes = bytesOf(out.dtype)
    inPieces(family, suffix, {
      units: length,
      multiple: ELEMENTS,
      nanoseconds,
      piece: (start, end) => [from + start * bytes, to + start * outBytes, end - start],
    })
  } else family.get(suffix)(from, to, length)
}

/**
 * Fills `out` by a kernel of two operands, as `add`. All are contiguous; `b` has as many numbers as the others (stride
 * 1) or only one (stride 0).
 */
export function mapPairs(family: KernelFamily, a: Tensor, b: Tensor, out: Tensor, strideB: 0 | 1): void {
  const { length } = out.storage
  const first = addressOf(a.storage)
  const second = addressOf(b.storage)
  const to = addressOf(out.storage)
  const suffix = suffixOf(a.dtype)
  const bytes = bytesOf(a.dtype)
  const nanoseconds = family.nanosecondsPerByte * bytes * length
  if (isShared(nanoseconds)) {
    inPieces(family, suffix, {
      units: length,
      multiple: ELEMENTS,
      nanoseconds,
      piece: (start, end) => {
        const offset = start * bytes
        return [first + offset, second + strideB * offset, to + offset, end - start, 1, strideB, 0]
      },
    })
  } else family.get(suffix)(first, second, to, length, 1, strideB, 0)
}

/** Fills `out` by a kernel `(...inputs, out, rows, count)` over the rows of the inputs; all are contiguous. */
export function mapRows(family: KernelFamily, inputs: readonly Tensor[], out: Tensor, rows: number): void {
  const [first] = inputs as [Tensor]
  const count = first.shape[first.ndim - 1] as number
  const addresses = inputs.map((input) => addressOf(input.storage))
  const to = addressOf(out.storage)
  const suffix = suffixOf(first.dtype)
  const row = count * bytesOf(first.dtype)
  const nanoseconds = family.nanosecondsPerByte * row * rows
  if (isShared(nanoseconds)) {
    const outRow = (out.storage.length / rows) * bytesOf(out.dtype)
    inPieces(family, suffix, {
      units: rows,
      nanoseconds,
      piece: (start, end) => [
        ...addresses.map((address) => address + start * row),
        to + start * outRow,
        end - start,
        count,
      ],
    })
  } else family.get(suffix)(...addresses, to, rows, count)
}
