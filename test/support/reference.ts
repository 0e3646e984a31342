// Plain loops over ordinary arrays: what the engine's results are compared with. Written for being right at a glance.
import type { NestedArray, Shape, Tensor } from 'wengert'

/** Numbers in row-major order. */
export interface Dense {
  readonly shape: Shape
  readonly data: readonly number[]
}

/** The numbers of a tensor. */
export function denseOf(x: Tensor): Dense {
  return { shape: x.shape, data: [...x.data] }
}

export function sizeOf(shape: Shape): number {
  return shape.reduce((product, size) => product * size, 1)
}

/** All positions of a shape in row-major order. */
export function positionsOf(shape: Shape): number[][] {
  return shape.reduce<number[][]>(
    (positions, size) => positions.flatMap((position) => Array.from({ length: size }, (_, i) => [...position, i])),
    [[]],
  )
}

/** An array filled by a function of the position. */
export function generate(shape: Shape, value: (position: readonly number[]) => number): Dense {
  return { shape, data: positionsOf(shape).map(value) }
}

/** The element at a position of a shape that x broadcasts to. */
export function at(x: Dense, position: readonly number[]): number {
  const own = position.slice(position.length - x.shape.length)
  const offset = x.shape.reduce((total, size, axis) => total * size + (size === 1 ? 0 : (own[axis] as number)), 0)
  return x.data[offset] as number
}

/** The shape that all broadcast to; null where they do not. */
export function broadcastShape(...shapes: readonly Shape[]): number[] | null {
  const rank = Math.max(...shapes.map(({ length }) => length))
  const padded = shapes.map((shape) => [...Array<number>(rank - shape.length).fill(1), ...shape])
  const result: number[] = []
  for (let axis = 0; axis < rank; axis++) {
    const sizes = new Set(padded.map((shape) => shape[axis] as number).filter((size) => size !== 1))
    if (sizes.size > 1) return null
    result.push([...sizes][0] ?? 1)
  }
  return result
}

/** A function of the elements of several arrays, broadcast. */
export function elementwise(fn: (...values: number[]) => number, ...operands: readonly Dense[]): Dense {
  const shape = broadcastShape(...operands.map((operand) => operand.shape))
  if (shape === null) throw new Error('shapes do not broadcast')
  return generate(shape, (position) => fn(...operands.map((operand) => at(operand, position))))
}

/** A function of the values along some axes (all of them for undefined), in row-major order. */
export function reduce(
  x: Dense,
  axes: readonly number[] | undefined,
  keepDims: boolean,
  fn: (values: number[]) => number,
): Dense {
  const gone = new Set(
    (axes ?? x.shape.map((_, axis) => axis)).map((axis) => (axis < 0 ? axis + x.shape.length : axis)),
  )
  const kept = x.shape.map((size, axis) => (gone.has(axis) ? 1 : size))
  const groups = new Map<string, number[]>(positionsOf(kept).map((position) => [position.join(), []]))
  for (const position of positionsOf(x.shape)) {
    const group = position.map((i, axis) => (gone.has(axis) ? 0 : i)).join()
    groups.get(group)?.push(at(x, position))
  }
  const shape = keepDims ? kept : x.shape.filter((_, axis) => !gone.has(axis))
  return { shape, data: [...groups.values()].map(fn) }
}

export const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

/** The matrix product by PyTorch's rank rules. */
export function matmul(a: Dense, b: Dense): Dense {
  const left = a.shape.length === 1 ? reshape(a, [1, a.data.length]) : a
  const right = b.shape.length === 1 ? reshape(b, [b.data.length, 1]) : b
  const batch = broadcastShape(left.shape.slice(0, -2), right.shape.slice(0, -2))
  if (batch === null) throw new Error('batches do not broadcast')
  const [rows, inner] = left.shape.slice(-2) as [number, number]
  const columns = right.shape.at(-1) as number
  const product = generate([...batch, rows, columns], (position) => {
    const at2 = (x: Dense, i: number, j: number) => at(x, [...position.slice(0, -2), i, j])
    const [row, column] = position.slice(-2) as [number, number]
    return total(Array.from({ length: inner }, (_, k) => at2(left, row, k) * at2(right, k, column)))
  })
  const shape = product.shape.filter(
    (_, axis) =>
      !(a.shape.length === 1 && axis === product.shape.length - 2) &&
      !(b.shape.length === 1 && axis === product.shape.length - 1),
  )
  return reshape(product, shape)
}

export function reshape(x: Dense, shape: Shape): Dense {
  return { shape, data: x.data }
}

export function permute(x: Dense, axes: readonly number[]): Dense {
  const shape = axes.map((axis) => x.shape[axis] as number)
  return generate(shape, (position) => {
    const source: number[] = []
    axes.forEach((axis, i) => {
      source[axis] = position[i] as number
    })
    return at(x, source)
  })
}

export function broadcastTo(x: Dense, shape: Shape): Dense {
  return generate(shape, (position) => at(x, position))
}

/** The numbers as nested arrays. */
export function nested(x: Dense): NestedArray {
  const nest = (axis: number, position: readonly number[]): NestedArray =>
    axis === x.shape.length
      ? at(x, position)
      : Array.from({ length: x.shape[axis] as number }, (_, i) => nest(axis + 1, [...position, i]))
  return nest(0, [])
}

/** The sum over the places that broadcasting from `shape` repeats. */
export function sumTo(x: Dense, shape: Shape): Dense {
  const lead = x.shape.length - shape.length
  const repeated = [...x.shape.keys()].filter(
    (axis) => axis < lead || (shape[axis - lead] === 1 && x.shape[axis] !== 1),
  )
  return reshape(reduce(x, repeated, true, total), shape)
}
