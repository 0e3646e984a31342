// Walking several operands over one shape, each with strides of its own (0 where it is broadcast), as few loops as
// possible: axes of size 1 vanish, neighbours that lie in memory as one become one, the innermost is left to the
// kernel's row loop and the others go into the layout block.
import { layoutAddress } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
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

/** Writes the layout block for the first `count` axes; see the kernels' layout.ts. */
export function writeLayout(sizes: readonly number[], strides: readonly (readonly number[])[], count: number): number {
  const words = heap.int32
  let at = layoutAddress >>> 2
  let steps = 1
  for (let axis = 0; axis < count; axis++) steps *= sizes[axis] as number
  words[at] = count
  words[at + 1] = steps
  words.fill(0, at + 2, at + HEADER_WORDS)
  at += HEADER_WORDS
  for (let axis = 0; axis < count; axis++, at += AXIS_WORDS) {
    words[at] = 0
    words[at + 1] = sizes[axis] as number
    for (let operand = 0; operand < 3; operand++) {
      words[at + 2 + operand] = strides[operand]?.[axis] ?? 0
    }
  }
  return layoutAddress
}
