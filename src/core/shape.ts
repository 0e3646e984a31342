import { ArgumentError, ShapeError, showValue } from './errors.js'

/** Sizes of the axes, outermost first; `[]` is a scalar. */
export type Shape = readonly number[]

/** The layout block that kernels read has room for this many axes. */
export const MAXIMUM_RANK = 200

/** `(2, 3)`, as messages show shapes. */
export function showShape(shape: Shape): string {
  return `(${shape.map(showValue).join(', ')}${shape.length === 1 ? ',' : ''})`
}

/** Number of elements: the product of the sizes, 1 for a scalar. */
export function sizeOf(shape: Shape): number {
  let size = 1
  for (let axis = 0; axis < shape.length; axis++) size *= shape[axis] as number
  // The product of huge sizes and a 0 is ∞ · 0.
  return Number.isNaN(size) ? 0 : size
}

/** Kernels count with 32-bit whole numbers. */
export const LARGEST_COUNT = 2 ** 31 - 1

/** Throws where a kernel could not count the elements: only a broadcast view, which repeats numbers, is ever so large. */
export function checkCount(op: string, shape: Shape): void {
  const size = sizeOf(shape)
  if (size > LARGEST_COUNT) {
    throw new ShapeError(`${op}: ${showShape(shape)} has ${size} elements; at most ${LARGEST_COUNT} can be walked`)
  }
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false
  return true
}

/** Element strides of a row-major array without gaps. */
export function contiguousStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length)
  let stride = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride
    stride *= shape[axis] as number
  }
  return strides
}

/** Throws unless every size is a whole number ≥ 0. */
export function checkShape(op: string, shape: Shape): void {
  if (!Array.isArray(shape)) {
    throw new ShapeError(`${op}: a shape is an array of sizes, got ${showValue(shape)}`)
  }
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) {
      throw new ShapeError(
        `${op}: sizes are whole numbers of at least 0, got ${showValue(size)} in ${showShape(shape)}`,
      )
    }
  }
  if (shape.length > MAXIMUM_RANK) {
    throw new ShapeError(`${op}: at most ${MAXIMUM_RANK} axes are supported, got ${shape.length}`)
  }
}

/** Throws unless `value` is a whole number (of at least `minimum`). */
export function checkInteger(op: string, name: string, value: unknown, minimum = Number.MIN_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(value) || (value as number) < minimum) {
    const bound = minimum === Number.MIN_SAFE_INTEGER ? '' : ` of at least ${minimum}`
    throw new ArgumentError(`${op}: ${name} must be a whole number${bound}, got ${showValue(value)}`)
  }
}

/** Throws unless `value` is an array. */
export function checkList(op: string, name: string, value: unknown): void {
  if (!Array.isArray(value)) {
    throw new ShapeError(`${op}: ${name} must be a whole number or an array of them, got ${showValue(value)}`)
  }
}

/** The axis counted from 0; negative ones count from the end. */
export function normalizeAxis(op: string, axis: number, rank: number): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    const range = rank === 0 ? 'a scalar has no axes' : `a tensor of rank ${rank} has axes ${-rank} to ${rank - 1}`
    throw new ShapeError(`${op}: axis ${showValue(axis)} is out of range; ${range}`)
  }
  return axis < 0 ? axis + rank : axis
}

/** The axes counted from 0, ascending; all of them for undefined. Duplicates throw. */
export function normalizeAxes(op: string, axes: number | readonly number[] | undefined, rank: number): number[] {
  if (axes === undefined) {
    const all = new Array<number>(rank)
    for (let axis = 0; axis < rank; axis++) all[axis] = axis
    return all
  }
  if (typeof axes === 'number') return [normalizeAxis(op, axes, rank)]
  checkList(op, 'axis', axes)
  const result = axes.map((axis) => normalizeAxis(op, axis, rank)).sort((a, b) => a - b)
  for (let i = 1; i < result.length; i++) {
    if (result[i] === result[i - 1])
      throw new ShapeError(`${op}: axis ${result[i]} is named twice in [${axes.join(', ')}]`)
  }
  return result
}

/** The shape that both broadcast to: aligned at the end, sizes equal or 1. */
export function broadcastShapes(op: string, a: Shape, b: Shape): Shape {
  if (sameShape(a, b)) return a
  const rank = Math.max(a.length, b.length)
  const shape = new Array<number>(rank)
  for (let back = 1; back <= rank; back++) {
    const sizeA = back <= a.length ? (a[a.length - back] as number) : 1
    const sizeB = back <= b.length ? (b[b.length - back] as number) : 1
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) {
      throw new ShapeError(
        `${op}: shapes ${showShape(a)} and ${showShape(b)} do not broadcast: sizes ${sizeA} and ${sizeB} differ and neither is 1 (axes are aligned at the end)`,
      )
    }
    shape[rank - back] = sizeA === 1 ? sizeB : sizeA
  }
  return shape
}

/** Whether two shapes broadcast against each other. */
export function broadcastTogether(a: Shape, b: Shape): boolean {
  for (let back = 1; back <= Math.min(a.length, b.length); back++) {
    const [sizeA, sizeB] = [a[a.length - back], b[b.length - back]]
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) return false
  }
  return true
}

/** Whether `shape` broadcasts to `target` without changing `target`. */
export function broadcastsTo(shape: Shape, target: Shape): boolean {
  if (shape.length > target.length) return false
  for (let back = 1; back <= shape.length; back++) {
    const size = shape[shape.length - back]
    if (size !== 1 && size !== target[target.length - back]) return false
  }
  return true
}
