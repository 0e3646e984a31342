// Walking several operands over one shape, each with strides of its own (0 where it is broadcast), as few loops as
// possible: axes of size 1 vanish, neighbours that lie in memory as one become one, the innermost is left to the
// kernel's row loop and the others go into the layout block.
import { layoutAddress } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { LAYOUT_BYTES } from '../runtime/job.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces } from '../runtime/threads.js'
import { contiguousStrides, type Shape } from './shape.js'
import type { Tensor } from './tensor.js'

/** Element strides of a tensor seen as broadcast to `shape`. */
export function stridesOver(tensor: Tensor, shape: Shape): number[] {
  const own = tensor.strides ?? contiguousStrides(tensor.shape)
  const result = new Array<number>(shape.length).fill(0)
  const lead = shape.length - own.length
  for (let axis = 0; axis < own.length; axis++) {
    if (tensor.shape[axis] !== 1 || shape[axis + lead] === 1) result[axis + lead] = own[axis] as number
  }
  return result
}

/** Axes merged as far as all operands allow. */
export interface MergedAxes {
  readonly sizes: number[]
  /** For each operand its strides over the merged axes. */
  readonly strides: number[][]
}

/** Drops axes of size 1 and merges neighbours that every operand walks as one. */
export function mergeAxes(shape: Shape, strides: readonly (readonly number[])[]): MergedAxes {
  const sizes: number[] = []
  const merged: number[][] = strides.map(() => [])
  for (let axis = 0; axis < shape.length; axis++) {
    const size = shape[axis] as number
    if (size === 1) continue
    const last = sizes.length - 1
    const joins = last >= 0 && strides.every((own, k) => (merged[k] as number[])[last] === (own[axis] as number) * size)
    for (let k = 0; k < strides.length; k++) {
      const own = (strides[k] as number[])[axis] as number
      if (joins) (merged[k] as number[])[last] = own
      else (merged[k] as number[]).push(own)
    }
    if (joins) sizes[last] = (sizes[last] as number) * size
    else sizes.push(size)
  }
  return { sizes, strides: merged }
}

const HEADER_WORDS = 5
const AXIS_WORDS = 5

/** The innermost row of a walk. */
export interface Row {
  readonly length: number
  /** Stride of each operand along the row. */
  readonly strides: readonly number[]
  /** Address of the layout block of the outer axes; 0 where there are none. */
  readonly layout: number
}

/** Plans a walk of up to three operands over a shape without axes of size 0, and writes the layout block. */
export function planRows(shape: Shape, operands: readonly (readonly number[])[]): Row {
  const { sizes, strides } = mergeAxes(shape, operands)
  const outer = sizes.length - 1
  if (outer < 0) return { length: 1, strides: operands.map(() => 0), layout: 0 }
  return {
    length: sizes[outer] as number,
    strides: strides.map((own) => own[outer] as number),
    layout: outer === 0 ? 0 : writeLayout(sizes, strides, outer),
  }
}

/**
 * Writes the layout block (see the kernels' layout.ts) for the first `count` axes, or for those of their positions, in
 * row-major order, that `range` spans.
 */
export function writeLayout(
  sizes: readonly number[],
  strides: readonly (readonly number[])[],
  count: number,
  address = layoutAddress,
  range: readonly [from: number, to: number] | null = null,
): number {
  const words = heap.int32
  const start = address >>> 2
  let before = range === null ? 0 : range[0]
  let steps = 1
  for (let axis = count - 1; axis >= 0; axis--) {
    const size = sizes[axis] as number
    const at = start + HEADER_WORDS + axis * AXIS_WORDS
    const rest = Math.floor(before / size)
    words[at] = before - rest * size
    words[at + 1] = size
    for (let operand = 0; operand < 3; operand++) words[at + 2 + operand] = strides[operand]?.[axis] ?? 0
    before = rest
    steps *= size
  }
  words[start] = count
  words[start + 1] = range === null ? steps : range[1] - range[0]
  // The offsets: they count from where the walk begins.
  words[start + 2] = 0
  words[start + 3] = 0
  words[start + 4] = 0
  return address
}

/** Whether a layout block of so many axes has room beside a piece of work. */
export function layoutFits(axes: number): boolean {
  return 4 * (HEADER_WORDS + axes * AXIS_WORDS) <= LAYOUT_BYTES
}

/** How far a position of the first `count` axes, counted in row-major order, lies from the first, in elements. */
export function offsetAt(
  sizes: readonly number[],
  strides: readonly number[],
  count: number,
  position: number,
): number {
  let offset = 0
  let before = position
  for (let axis = count - 1; axis >= 0; axis--) {
    const rest = Math.floor(before / (sizes[axis] as number))
    offset += (before - rest * (sizes[axis] as number)) * (strides[axis] as number)
    before = rest
  }
  return offset
}

/** An operand of a walk. */
export interface Walked {
  readonly address: number
  readonly bytes: number
  /** Element strides over the shape. */
  readonly strides: readonly number[]
}

/**
 * Runs a kernel `(...operands, out, length, ...strides, layout)` over the rows of a shape, in pieces that threads share.
 *
 * @param out the contiguous output; none where it is among the operands
 */
export function walkInPieces(
  family: KernelFamily,
  suffix: string,
  shape: Shape,
  operands: readonly Walked[],
  out: Omit<Walked, 'strides'> | null,
): void {
  const { sizes, strides } = mergeAxes(
    shape,
    operands.map((operand) => operand.strides),
  )
  const outer = Math.max(0, sizes.length - 1)
  const length = sizes[outer] ?? 1
  const along = strides.map((own) => own[outer] ?? 0)
  const positions = sizes.slice(0, outer).reduce((product, size) => product * size, 1)
  const widest = Math.max(...operands.map((operand) => operand.bytes))
  const nanoseconds = family.nanosecondsPerByte * widest * length * positions
  const at = (offsets: (own: readonly number[], operand: number) => number, outOffset: number) => [
    ...operands.map(({ address, bytes }, k) => address + bytes * offsets(strides[k] as number[], k)),
    ...(out === null ? [] : [out.address + out.bytes * outOffset]),
  ]
  if (outer === 0) {
    inPieces(family, suffix, {
      units: length,
      multiple: ELEMENTS,
      nanoseconds,
      piece: (from, to) => [...at((_, k) => from * (along[k] as number), from), to - from, ...along, 0],
    })
    return
  }
  const rows = (from: number, to: number, layout: number) => [
    ...at((own) => offsetAt(sizes, own, outer, from), from * length),
    length,
    ...along,
    writeLayout(sizes, strides, outer, layout, [from, to]),
  ]
  if (layoutFits(outer)) inPieces(family, suffix, { units: positions, nanoseconds, piece: rows })
  else family.get(suffix)(...rows(0, positions, layoutAddress))
}
