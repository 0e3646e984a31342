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

/** Fills `out` by a kernel `(g, x, out, count)`; all are contiguous and of one dtype. */
export function mapBoth(family: KernelFamily, g: Tensor, x: Tensor, out: Tensor): void {
  const { length } = out.storage
  const first = addressOf(g.storage)
  const second = addressOf(x.storage)
  const to = addressOf(out.storage)
  const suffix = suffixOf(x.dtype)
  const bytes = bytesOf(x.dtype)
  const nanoseconds = family.nanosecondsPerByte * bytes * length
  if (isShared(nanoseconds)) {
    inPieces(family, suffix, {
      units: length,
      multiple: ELEMENTS,
      nanoseconds,
      piece: (start, end) => [first + start * bytes, second + start * bytes, to + start * bytes, end - start],
    })
  } else family.get(suffix)(first, second, to, length)
}

/**
 * Fills `out` by a kernel of two operands, as `add`. All are contiguous; the second operand, given by its address, has as
 * many numbers as the others (stride 1) or only one (stride 0).
 */
export function mapPairs(family: KernelFamily, a: Tensor, second: number, out: Tensor, strideB: 0 | 1): void {
  const { length } = out.storage
  const first = addressOf(a.storage)
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

/** Rows of `count` values each, and what a kernel takes beside them. */
export interface Rows {
  readonly rows: number
  readonly count: number
  /** Addresses of operands that all rows share, or 0; they stand behind the inputs. */
  readonly shared?: readonly number[]
  /** What stands at the end. */
  readonly more?: readonly number[]
}

const NONE: readonly number[] = []

/**
 * Fills `out` by a kernel `(...inputs, ...shared, out, rows, count, ...more)` of the dtype that `suffix` names. Inputs and
 * output are contiguous, and have as much for each row.
 */
export function mapRows(
  family: KernelFamily,
  suffix: string,
  inputs: readonly Tensor[],
  out: Tensor,
  work: Rows,
): void {
  const { rows, count, shared = NONE, more = NONE } = work
  const addresses = inputs.map((input) => addressOf(input.storage))
  const to = addressOf(out.storage)
  const sizes = inputs.map(({ storage }) => storage.bytes / rows)
  const nanoseconds = family.nanosecondsPerByte * rows * Math.max(...sizes)
  if (isShared(nanoseconds)) {
    const outSize = out.storage.bytes / rows
    const piece = (start: number, end: number) => [
      ...addresses.map((address, k) => address + start * (sizes[k] as number)),
      ...shared,
      ...[to + start * outSize, end - start, count],
      ...more,
    ]
    inPieces(family, suffix, { units: rows, nanoseconds, piece })
  } else family.get(suffix)(...addresses, ...shared, to, rows, count, ...more)
}
