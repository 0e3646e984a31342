// Matrices in memory, and large products of them in pieces that threads share.
import { bytesOf, type DType, suffixOf } from '../core/dtype.js'
import { type Shape, sizeOf } from '../core/shape.js'
import { type MergedAxes, offsetAt, stridesOver, writeLayout } from '../core/strides.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, allocate, free, workspaceBytes } from '../memory/arena.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { getThreads, inPieces } from '../runtime/threads.js'

/** Element strides of the matrices in the last two axes of a tensor. */
export interface Matrices {
  /** Strides over the batch axes. */
  readonly batch: number[]
  row: number
  readonly column: number
}

/** The matrices of a tensor seen as broadcast to a batch. */
export function matrices(x: Tensor, batch: Shape): Matrices {
  const strides = stridesOver(x, [...batch, ...x.shape.slice(-2)])
  const [row, column] = strides.slice(-2) as [number, number]
  return { batch: strides.slice(0, -2), row, column }
}

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

/**
 * Computes `out = a · b` with a kernel of the family `matmul` for `rows` rows at every position of a batch (of no axes
 * for a single product), in pieces.
 */
export function multiplyInPieces(
  family: KernelFamily,
  operands: readonly [a: Tensor, b: Tensor, out: Tensor],
  views: readonly [a: Matrices, b: Matrices, out: Matrices],
  rows: number,
  { sizes, strides }: MergedAxes,
): void {
  const [a, b, out] = operands
  const bytes = bytesOf(out.dtype)
  const columns = out.shape[out.ndim - 1] as number
  const inner = a.shape[a.ndim - 1] as number
  const addresses = operands.map((operand) => addressOf(operand.storage)) as [number, number, number]
  const scratch = allocate('bool', getThreads() * workspaceBytes)
  const count = sizeOf(sizes)
  const [left, right, target] = views

  /** The kernel's arguments for a range of rows and one of columns, at a range of the batch's positions. */
  const call = (
    [fromRow, toRow]: Range,
    [fromColumn, toColumn]: Range,
    [from, to]: Range,
    layout: number,
  ): readonly number[] => {
    const offset = (operand: number) => offsetAt(sizes, strides[operand] ?? [], sizes.length, from)
    return [
      addresses[0] + bytes * (offset(0) + fromRow * left.row),
      addresses[1] + bytes * (offset(1) + fromColumn * right.column),
      addresses[2] + bytes * (offset(2) + fromRow * target.row + fromColumn),
      toRow - fromRow,
      toColumn - fromColumn,
      inner,
      ...[left.row, left.column, right.row, right.column, target.row],
      count === 1 ? 0 : writeLayout(sizes, strides, sizes.length, layout, [from, to]),
      0,
    ]
  }
  const work = {
    nanoseconds: costOf(out.dtype, count * rows * columns, inner),
    scratch: { argument: 12, address: scratch.address, bytes: workspaceBytes },
  }
  const all = { rows: [0, rows], columns: [0, columns], batch: [0, count] } as const
  const suffix = suffixOf(b.dtype)
  try {
    if (count >= 2 * getThreads()) {
      const piece = (from: number, to: number, layout: number) => call(all.rows, all.columns, [from, to], layout)
      inPieces(family, suffix, { ...work, units: count, piece })
    } else if (columns >= rows) {
      // Pieces of columns pack A again at most as often as the kernel does by itself, pieces of rows would pack B again.
      const piece = (from: number, to: number, layout: number) => call(all.rows, [from, to], all.batch, layout)
      inPieces(family, suffix, { ...work, units: columns, multiple: COLUMNS, piece })
    } else {
      const piece = (from: number, to: number, layout: number) => call([from, to], all.columns, all.batch, layout)
      inPieces(family, suffix, { ...work, units: rows, multiple: ROWS, piece })
    }
  } finally {
    free(scratch)
  }
}

type Range = readonly [from: number, to: number]
