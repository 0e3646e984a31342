// Walks (see strides.ts) in pieces that threads share.
import { heap } from '../memory/heap.js'
import { LAYOUT_BYTES } from '../runtime/job.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces } from '../runtime/threads.js'
import { HEADER_WORDS, LOOP_WORDS, type Walk } from './strides.js'

/** How many positions the loops of a layout block have; 1 where there is no block. */
export function positionsOf(layout: number): number {
  return layout === 0 ? 1 : (heap.int32[(layout >>> 2) + 1] as number)
}

/** Whether a piece of work has room for a layout block of its own. */
export function layoutFits(layout: number): boolean {
  return layout === 0 || 4 * (HEADER_WORDS + (heap.int32[layout >>> 2] as number) * LOOP_WORDS) <= LAYOUT_BYTES
}

/** How far a position of the block's loops lies from the first one, in elements of an operand (0, 1 or 2). */
export function offsetAt(layout: number, operand: number, position: number): number {
  if (layout === 0) return 0
  const words = heap.int32
  const start = layout >>> 2
  let offset = 0
  let before = position
  for (let loop = (words[start] as number) - 1; loop >= 0; loop--) {
    const at = start + HEADER_WORDS + loop * LOOP_WORDS
    const size = words[at + 1] as number
    const rest = Math.floor(before / size)
    offset += (before - rest * size) * (words[at + 2 + operand] as number)
    before = rest
  }
  return offset
}

/** Writes to `target` the block for the positions from … to − 1; offsets count from the first of them. */
export function partOfLayout(layout: number, target: number, from: number, to: number): number {
  if (layout === 0) return 0
  const words = heap.int32
  const start = target >>> 2
  const loops = words[layout >>> 2] as number
  const source = layout >>> 2
  words.copyWithin(start, source, source + HEADER_WORDS + loops * LOOP_WORDS)
  words[start + 1] = to - from
  let before = from
  for (let loop = loops - 1; loop >= 0; loop--) {
    const at = start + HEADER_WORDS + loop * LOOP_WORDS
    const rest = Math.floor(before / (words[at + 1] as number))
    words[at] = before - rest * (words[at + 1] as number)
    before = rest
  }
  return target
}

/** Where the numbers of an operand begin, and the bytes of one. */
export interface Place {
  readonly address: number
  readonly bytes: number
}

/**
 * Runs a kernel `(...operands, out, length, ...strides, layout)` over the rows of a walk, in pieces.
 *
 * @param operands those of the walk, in its order
 * @param out the contiguous output; null where it is among the operands
 */
export function walkInPieces(
  family: KernelFamily,
  suffix: string,
  walk: Walk,
  operands: readonly Place[],
  out: Place | null,
): void {
  const { length, layout } = walk
  const strides = [walk.strideA, walk.strideB, walk.strideC].slice(0, operands.length)
  const positions = positionsOf(layout)
  const widest = Math.max(...operands.map(({ bytes }) => bytes))
  const nanoseconds = family.nanosecondsPerByte * widest * length * positions
  const places = (offset: (operand: number) => number, outOffset: number) => [
    ...operands.map(({ address, bytes }, k) => address + bytes * offset(k)),
    ...(out === null ? [] : [out.address + out.bytes * outOffset]),
  ]
  const partOfRow = (from: number, to: number) => [
    ...places((k) => from * (strides[k] as number), from),
    ...[to - from, ...strides, 0],
  ]
  const rows = (from: number, to: number, target: number) => [
    ...places((k) => offsetAt(layout, k, from), from * length),
    ...[length, ...strides, partOfLayout(layout, target, from, to)],
  ]
  if (layout === 0) inPieces(family, suffix, { units: length, multiple: ELEMENTS, nanoseconds, piece: partOfRow })
  else if (layoutFits(layout)) inPieces(family, suffix, { units: positions, nanoseconds, piece: rows })
  else family.get(suffix)(...places(() => 0, 0), length, ...strides, layout)
}
