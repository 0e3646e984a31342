import { showShape } from './shape.js'
import type { Tensor } from './tensor.js'

const WHOLE_LIMIT = 1000
const EDGE = 3
const DIGITS = 4

/** A tensor as text, in the manner of NumPy: aligned columns, nested brackets, shape and dtype. */
export function formatTensor(x: Tensor): string {
  const { data, shape } = x
  const edge = data.length > WHOLE_LIMIT ? EDGE : Number.POSITIVE_INFINITY
  const shown: number[] = []
  visit(shape, edge, (offset) => shown.push(data[offset] as number))
  const format = formatterFor(shown, x.dtype)
  const width = Math.max(0, ...shown.map((value) => format(value).length))
  const body = nested(shape, 0, 0, data.length, edge, (offset) => format(data[offset] as number).padStart(width), 8)
  const gradient = x.requiresGrad ? ', requiresGrad' : ''
  return `Tensor(${body}, shape ${showShape(shape)}, ${x.dtype}${gradient})`
}

function indices(size: number, edge: number): (number | null)[] {
  if (size <= 2 * edge) return Array.from({ length: size }, (_, index) => index)
  const head = Array.from({ length: edge }, (_, index) => index)
  return [...head, null, ...head.map((index) => size - edge + index)]
}

function visit(shape: readonly number[], edge: number, see: (offset: number) => void): void {
  const walk = (axis: number, offset: number, block: number): void => {
    if (axis === shape.length) {
      see(offset)
      return
    }
    const size = shape[axis] as number
    for (const index of indices(size, edge)) {
      if (index !== null) walk(axis + 1, offset + index * (block / size), block / size)
    }
  }
  walk(
    0,
    0,
    shape.reduce((product, size) => product * size, 1),
  )
}

function nested(
  shape: readonly number[],
  axis: number,
  offset: number,
  block: number,
  edge: number,
  show: (offset: number) => string,
  indent: number,
): string {
  if (axis === shape.length) return show(offset)
  const size = shape[axis] as number
  const parts = indices(size, edge).map((index) =>
    index === null
      ? '…'
      : nested(shape, axis + 1, offset + index * (block / size), block / size, edge, show, indent + 1),
  )
  const separator = axis === shape.length - 1 ? ', ' : `,${'\n'.repeat(shape.length - 1 - axis)}${' '.repeat(indent)}`
  return `[${parts.join(separator)}]`
}

/** One way of writing for all numbers: whole, fixed with up to four decimals, or scientific where they span decades. */
function formatterFor(values: readonly number[], dtype: string): (value: number) => string {
  if (dtype === 'bool') return (value) => (value === 0 ? 'false' : 'true')
  if (dtype === 'int32') return String
  const finite = values.filter(Number.isFinite)
  const special = (write: (value: number) => string) => (value: number) =>
    Number.isFinite(value) ? write(value) : String(value)
  const sizes = finite.filter((value) => value !== 0).map(Math.abs)
  const largest = Math.max(0, ...sizes)
  const smallest = Math.min(Number.POSITIVE_INFINITY, ...sizes)
  if (largest >= 1e8 || (sizes.length > 0 && smallest < 1e-4) || largest / smallest > 1e3 * 10 ** DIGITS) {
    return special((value) => value.toExponential(DIGITS))
  }
  if (finite.every(Number.isInteger)) return special((value) => (Object.is(value, -0) ? '-0' : String(value)))
  const decimals = Math.max(
    ...finite.map((value) => value.toFixed(DIGITS).replace(/0+$/, '').split('.')[1]?.length ?? 0),
    1,
  )
  return special((value) => value.toFixed(decimals))
}
