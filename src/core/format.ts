import { read } from '../memory/arena.js'
import { contiguousStrides, type Shape, showShape } from './shape.js'
import type { Tensor } from './tensor.js'

const WHOLE_LIMIT = 1000
const EDGE = 3
const DIGITS = 4
const INDENT = 'Tensor('.length + 1

/** A tensor as text, in the manner of NumPy: aligned columns, nested brackets, shape and dtype. */
export function formatTensor(x: Tensor): string {
  const { shape } = x
  // Read through the strides: a broadcast view has far more elements than numbers.
  const numbers = read(x.storage)
  const strides = x.strides ?? contiguousStrides(shape)
  const positions = positionsShown(shape)
  const shown: number[] = []
  visit(positions, strides, 0, 0, (offset) => shown.push(numbers[offset] as number))
  const format = formatterFor(shown, x.dtype)
  const width = largest(shown.map((value) => format(value).length))
  const write = (offset: number) => format(numbers[offset] as number).padStart(width)
  const gradient = x.requiresGrad ? ', requiresGrad' : ''
  return `Tensor(${nested(positions, strides, 0, 0, write)}, shape ${showShape(shape)}, ${x.dtype}${gradient})`
}

/** The positions shown along each axis, null for what is left out between them. */
type Positions = readonly (readonly (number | null)[])[]

/** All of them up to 1,000 numbers, else three at either end of each axis, or as many as keep to about 1,000. */
function positionsShown(shape: Shape): Positions {
  let ends = shape.map(() => [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as [number, number])
  const count = () =>
    shape.reduce((total, size, axis) => {
      const [head, tail] = ends[axis] as [number, number]
      return total * Math.max(1, Math.min(size, head + tail))
    }, 1)
  for (let edge = EDGE; count() > WHOLE_LIMIT && edge > 0; edge--) ends = shape.map(() => [edge, edge])
  for (let axis = 0; count() > WHOLE_LIMIT && axis < shape.length; axis++) ends[axis] = [1, 0]
  return shape.map((size, axis) => {
    const [head, tail] = ends[axis] as [number, number]
    if (size <= head + tail) return Array.from({ length: size }, (_, index) => index)
    const last = Array.from({ length: tail }, (_, index) => size - tail + index)
    return [...Array.from({ length: head }, (_, index) => index), null, ...last]
  })
}

function visit(
  positions: Positions,
  strides: readonly number[],
  axis: number,
  offset: number,
  see: (offset: number) => void,
): void {
  if (axis === positions.length) see(offset)
  else {
    for (const index of positions[axis] ?? []) {
      if (index !== null) visit(positions, strides, axis + 1, offset + index * (strides[axis] as number), see)
    }
  }
}

function nested(
  positions: Positions,
  strides: readonly number[],
  axis: number,
  offset: number,
  write: (offset: number) => string,
): string {
  const own = positions[axis]
  if (own === undefined) return write(offset)
  const parts = own.map((index) =>
    index === null ? '…' : nested(positions, strides, axis + 1, offset + index * (strides[axis] as number), write),
  )
  const inner = positions.length - 1 - axis
  const separator = inner === 0 ? ', ' : `,${'\n'.repeat(inner)}${' '.repeat(INDENT + axis)}`
  return `[${parts.join(separator)}]`
}

function largest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0)
}

/** One way of writing for all numbers: whole, fixed with up to four decimals, or scientific where they span decades. */
function formatterFor(values: readonly number[], dtype: string): (value: number) => string {
  if (dtype === 'bool') return (value) => (value === 0 ? 'false' : 'true')
  if (dtype === 'int32') return String
  const finite = values.filter(Number.isFinite)
  const special = (write: (value: number) => string) => (value: number) =>
    Number.isFinite(value) ? write(value) : String(value)
  const sizes = finite.filter((value) => value !== 0).map(Math.abs)
  const most = largest(sizes)
  const least = sizes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  if (most >= 1e8 || least < 1e-4 || most / least > 1e3 * 10 ** DIGITS) {
    return special((value) => value.toExponential(DIGITS))
  }
  if (finite.every(Number.isInteger)) return special((value) => (Object.is(value, -0) ? '-0' : String(value)))
  const decimals = Math.max(1, largest(finite.map(decimalsOf)))
  return special((value) => (Object.is(value, -0) ? `-${(0).toFixed(decimals)}` : value.toFixed(decimals)))
}

function decimalsOf(value: number): number {
  return value.toFixed(DIGITS).replace(/0+$/, '').split('.')[1]?.length ?? 0
}
