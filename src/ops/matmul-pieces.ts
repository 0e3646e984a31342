// Large matrix products in pieces that threads share.
import { bytesOf, type DType, suffixOf } from '../core/dtype.js'
import { offsetAt, partOfLayout, positionsOf } from '../core/walk-pieces.js'
import { allocate, free, workspaceBytes } from '../memory/arena.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { getThreads, inPieces } from '../runtime/threads.js'

/** Nanoseconds for one product of two numbers with an addition, for each byte of a number. */
const NANOSECONDS = 0.01

/** How long one thread takes for so many sums of `inner` products, in nanoseconds, roughly. */
export function costOf(dtype: DType, sums: number, inner: number): number {
  return NANOSECONDS * bytesOf(dtype) * sums * inner
}

// Results do not depend on where pieces end if none is narrower than 3 rows or 5 columns (see kernels/matmul.ts).
// Twelve rows are whole tiles in either build; sixteen columns also are whole cache lines.
const ROWS = 12
const COLUMNS = 16

/** Addresses, sizes and element strides of matrices `out = a · b`, and the layout block of a batch of them (or 0). */
export interface Product {
  readonly a: number
  readonly b: number
  readonly out: number
  readonly rows: number
  readonly columns: number
  readonly inner: number
  readonly rowA: number
  readonly columnA: number
  readonly rowB: number
  readonly columnB: number
  readonly rowOut: number
  readonly layout: number
}

/** Computes a product with a kernel of the family `matmul`, in pieces. */
export function multiplyInPieces(family: KernelFamily, dtype: DType, product: Product): void {
  const { rows, columns, inner, rowA, columnA, rowB, columnB, rowOut, layout } = product
  const bytes = bytesOf(dtype)
  const count = positionsOf(layout)
  const scratch = allocate('bool', getThreads() * workspaceBytes)

  /** The kernel's arguments for a range of rows and one of columns, at a range of the batch's positions. */
  const call = (
    [fromRow, toRow]: Range,
    [fromColumn, toColumn]: Range,
    [from, to]: Range,
    target: number,
  ): readonly number[] => [
    product.a + bytes * (offsetAt(layout, 0, from) + fromRow * rowA),
    product.b + bytes * (offsetAt(layout, 1, from) + fromColumn * columnB),
    product.out + bytes * (offsetAt(layout, 2, from) + fromRow * rowOut + fromColumn),
    ...[toRow - fromRow, toColumn - fromColumn, inner, rowA, columnA, rowB, columnB, rowOut],
    partOfLayout(layout, target, from, to),
    0,
  ]
  const nanoseconds = costOf(dtype, count * rows * columns, inner)
  const workspace = { argument: 12, address: scratch.address, bytes: workspaceBytes }
  const all = { rows: [0, rows], columns: [0, columns], batch: [0, count] } as const
  const suffix = suffixOf(dtype)
  try {
    if (count >= 2 * getThreads()) {
      const piece = (from: number, to: number, target: number) => call(all.rows, all.columns, [from, to], target)
      inPieces(family, suffix, { units: count, nanoseconds, piece, scratch: workspace })
    } else if (columns >= rows) {
      // Pieces of columns pack A again at most as often as the kernel does by itself, pieces of rows would pack B again.
      const piece = (from: number, to: number, target: number) => call(all.rows, [from, to], all.batch, target)
      inPieces(family, suffix, { units: columns, multiple: COLUMNS, nanoseconds, piece, scratch: workspace })
    } else {
      const piece = (from: number, to: number, target: number) => call([from, to], all.columns, all.batch, target)
      inPieces(family, suffix, { units: rows, multiple: ROWS, nanoseconds, piece, scratch: workspace })
    }
  } finally {
    free(scratch)
  }
}

type Range = readonly [from: number, to: number]
