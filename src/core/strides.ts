// Walking several operands over one shape, each with strides of its own (0 where it is broadcast), as few loops as
// possible: axes of size 1 vanish, neighbours that lie in memory as one become one, the innermost is left to the
// kernel's row loop and the others go into the layout block.
import { layoutEnd } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { contiguousStrides, type Shape } from './shape.js'

/** How numbers lie in memory: sizes, and element strides, null for those of a row-major array without gaps. */
export interface Strided {
  readonly shape: Shape
  readonly strides: readonly number[] | null
}

/** Element strides of an operand seen as broadcast to `shape`. */
export function stridesOver(operand: Strided, shape: Shape): number[] {
  const own = operand.strides ?? contiguousStrides(operand.shape)
  const result = new Array<number>(shape.length).fill(0)
  const lead = shape.length - own.length
  for (let axis = 0; axis < own.length; axis++) {
    if (operand.shape[axis] !== 1 || shape[axis + lead] === 1) result[axis + lead] = own[axis] as number
  }
  return result
}

/** The innermost loop of a walk over up to three operands, and where the others are described. */
export interface Walk {
  /** How many loops there are, this one included; 0 where there is only one position. */
  readonly loops: number
  /** Steps of the innermost loop. */
  readonly length: number
  /** Elements between its steps, for each operand. */
  readonly strideA: number
  readonly strideB: number
  readonly strideC: number
  /** Address of the layout block of the outer loops; 0 where there are none. */
  readonly layout: number
}

/** Plans a walk over `shape`, which has no axes of size 0; the operands broadcast to it. */
export function planRows(shape: Shape, a: Strided, b: Strided, c: Strided | null): Walk {
  return plan(shape, a, b, c, 0, 1)
}

/**
 * Plans a walk over all axes but the last two, which may differ among the operands. Its layout block describes every
 * loop, the innermost too.
 */
export function planMatrices(shape: Shape, a: Strided, b: Strided, c: Strided): Walk {
  return plan(shape, a, b, c, 2, 0)
}

// The words of a layout block; see the kernels' layout.ts.
export const HEADER_WORDS = 5
export const LOOP_WORDS = 5

/** Plans over all but the last `skipped` axes and leaves `apart` loops, the innermost, out of the layout block. */
function plan(shape: Shape, a: Strided, b: Strided, c: Strided | null, skipped: number, apart: number): Walk {
  const words = heap.int32
  // The block is written from its end, as the loops are found from the inside.
  let at = layoutEnd >>> 2
  let loops = 0
  let steps = 1
  let length = 1
  let strideA = 0
  let strideB = 0
  let strideC = 0
  let lastA = 0
  let lastB = 0
  let lastC = 0
  let plainA = 1
  let plainB = 1
  let plainC = 1
  for (let back = 1; back <= shape.length; back++) {
    const size = shape[shape.length - back] as number
    const nextA = strideAt(a, back, plainA)
    const nextB = strideAt(b, back, plainB)
    const nextC = c === null ? 0 : strideAt(c, back, plainC)
    plainA *= sizeAt(a, back)
    plainB *= sizeAt(b, back)
    if (c !== null) plainC *= sizeAt(c, back)
    if (size === 1 || back <= skipped) continue
    const last = loops === 0 ? 0 : (words[at + 1] as number)
    if (loops > 0 && nextA === lastA * last && nextB === lastB * last && nextC === lastC * last) {
      words[at + 1] = last * size
    } else {
      at -= LOOP_WORDS
      loops++
      lastA = nextA
      lastB = nextB
      lastC = nextC
      words[at] = 0
      words[at + 1] = size
      words[at + 2] = nextA
      words[at + 3] = nextB
      words[at + 4] = nextC
    }
    if (loops > apart) steps *= size
    if (loops === 1) {
      length *= size
      strideA = lastA
      strideB = lastB
      strideC = lastC
    }
  }
  if (loops <= apart) return { loops, length, strideA, strideB, strideC, layout: 0 }
  at -= HEADER_WORDS
  words[at] = loops - apart
  words[at + 1] = steps
  words[at + 2] = 0
  words[at + 3] = 0
  words[at + 4] = 0
  return { loops, length, strideA, strideB, strideC, layout: at << 2 }
}

/** Stride of an operand along the axis that is `back` from the end, `plain` where it is row-major. */
function strideAt(operand: Strided, back: number, plain: number): number {
  const axis = operand.shape.length - back
  if (axis < 0 || operand.shape[axis] === 1) return 0
  return operand.strides === null ? plain : (operand.strides[axis] as number)
}

function sizeAt(operand: Strided, back: number): number {
  const axis = operand.shape.length - back
  return axis < 0 ? 1 : (operand.shape[axis] as number)
}
