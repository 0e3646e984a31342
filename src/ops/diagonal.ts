// Diagonals and triangles of matrices.

import { copyStrided, empty } from '../core/contiguous.js'
import { bytesOf } from '../core/dtype.js'
import { ShapeError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, contiguousStrides, normalizeAxis, type Shape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { checkTensor } from './arguments.js'
import { logicalAnd } from './comparison.js'
import { tensor } from './creation.js'
import { where } from './select.js'
import { sum } from './sum.js'

/** A diagonal of the matrices in the axes (first, second): the elements (i, i + offset). */
interface Diagonal {
  readonly first: number
  readonly second: number
  readonly offset: number
}

/** Where the diagonal of a strided whole lies: its shape, the start in elements, and the strides. */
function diagonalWithin(shape: Shape, strides: readonly number[], { first, second, offset }: Diagonal) {
  const rows = (shape[first] as number) + Math.min(0, offset)
  const columns = (shape[second] as number) - Math.max(0, offset)
  const [rowStride, columnStride] = [strides[first] as number, strides[second] as number]
  const others = shape.map((_, axis) => axis).filter((axis) => axis !== first && axis !== second)
  return {
    shape: [...others.map((axis) => shape[axis] as number), Math.max(0, Math.min(rows, columns))],
    start: Math.max(0, -offset) * rowStride + Math.max(0, offset) * columnStride,
    strides: [...others.map((axis) => strides[axis] as number), rowStride + columnStride],
  }
}

const diagonalOperation: Operation<Diagonal> = {
  name: 'diagonal',
  forward: ([input], attributes) => {
    const x = input as Tensor
    const line = diagonalWithin(x.shape, x.strides ?? contiguousStrides(x.shape), attributes)
    const out = empty(x.dtype, line.shape)
    const target = addressOf(out.storage)
    const source = addressOf(x.storage) + line.start * bytesOf(x.dtype)
    copyStrided(x.dtype, out.shape, source, line.strides, target, null)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => apply(onDiagonalOperation, [g], { ...call.attributes, shape: call.inputShape(0) }),
    },
  ],
}

/** The adjoint of diagonal: zeros, with the given values on the diagonal. */
const onDiagonalOperation: Operation<Diagonal & { readonly shape: Shape }> = {
  name: 'diagonalBackward',
  forward: ([input], { shape, ...attributes }) => {
    const x = input as Tensor
    const out = empty(x.dtype, shape)
    const target = addressOf(out.storage)
    heap.uint8.fill(0, target, target + out.storage.bytes)
    const line = diagonalWithin(shape, contiguousStrides(shape), attributes)
    copyStrided(x.dtype, x.shape, addressOf(x.storage), x.strides, target + line.start * bytesOf(x.dtype), line.strides)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (h, call) => {
        const { first, second, offset } = call.attributes
        return apply(diagonalOperation, [h], { first, second, offset })
      },
    },
  ],
}

/** Options of `diagonal`. */
export interface DiagonalOptions {
  /** Which diagonal: 0 the main one (the default), positive ones above it, negative ones below. */
  readonly offset?: number | undefined
  /** The matrices' axis of rows; the last but one by default. */
  readonly axis0?: number | undefined
  /** The matrices' axis of columns; the last by default. */
  readonly axis1?: number | undefined
}

/**
 * A diagonal of the matrices in two axes: the elements (i, i + offset), along a new last axis; the two axes are gone.
 * Derivative: the cotangent on that diagonal, zeros elsewhere.
 *
 * @throws ShapeError where an axis is out of range or both are the same
 */
export function diagonal(x: Tensor, options: DiagonalOptions = {}): Tensor {
  checkTensor('diagonal', x)
  checkOptions('diagonal', options, ['offset', 'axis0', 'axis1'])
  const { offset = 0, axis0 = -2, axis1 = -1 } = options
  checkInteger('diagonal', 'the offset', offset)
  const first = normalizeAxis('diagonal', axis0, x.ndim)
  const second = normalizeAxis('diagonal', axis1, x.ndim)
  if (first === second) throw new ShapeError(`diagonal: needs two axes, axis ${first} was given twice`)
  return apply(diagonalOperation, [x], { first, second, offset })
}

/** Options of `diag`, `tril` and `triu`. */
export interface TriangleOptions {
  /** Which diagonal: 0 the main one (the default), positive ones above it, negative ones below. */
  readonly diagonal?: number | undefined
}

/**
 * Of a vector the square matrix with it on a diagonal, zeros elsewhere; of a matrix the vector on that diagonal.
 * Derivative: each is the other's.
 *
 * @throws ShapeError unless x has one or two axes
 */
export function diag(x: Tensor, options: TriangleOptions = {}): Tensor {
  checkTensor('diag', x)
  checkOptions('diag', options, ['diagonal'])
  const { diagonal: offset = 0 } = options
  checkInteger('diag', 'the diagonal', offset)
  const attributes = { first: 0, second: 1, offset }
  if (x.ndim === 2) return apply(diagonalOperation, [x], attributes)
  if (x.ndim !== 1) {
    throw new ShapeError(`diag: needs a vector or a matrix, got ${showShape(x.shape)}; see diagonal for batches`)
  }
  const size = (x.shape[0] as number) + Math.abs(offset)
  return apply(onDiagonalOperation, [x], { ...attributes, shape: [size, size] })
}

/**
 * The sum of the main diagonal of the matrices in the last two axes, which are gone. Derivative: the cotangent on the
 * diagonal.
 *
 * @throws ShapeError where there are fewer than two axes
 */
export function trace(x: Tensor): Tensor {
  checkTensor('trace', x)
  checkMatrices('trace', x)
  return composite(() => sum(diagonal(x), { axis: -1 }))
}

function checkMatrices(op: string, x: Tensor): void {
  if (x.ndim < 2) throw new ShapeError(`${op}: needs at least two axes, got ${showShape(x.shape)}`)
}

function triangle(op: 'tril' | 'triu', x: Tensor, { diagonal: offset = 0 }: TriangleOptions): Tensor {
  checkTensor(op, x)
  checkMatrices(op, x)
  checkInteger(op, 'the diagonal', offset)
  const [rows, columns] = x.shape.slice(-2) as [number, number]
  const kept = new Uint8Array(rows * columns)
  for (let row = 0; row < rows; row++) {
    // Columns up to row + offset stay in the lower triangle, from there on in the upper one.
    const border = Math.min(columns, Math.max(0, row + offset + (op === 'tril' ? 1 : 0)))
    if (op === 'tril') kept.fill(1, row * columns, row * columns + border)
    else kept.fill(1, row * columns + border, (row + 1) * columns)
  }
  return composite(() => {
    const mask = tensor(kept, { shape: [rows, columns], dtype: 'bool' })
    return x.dtype === 'bool' ? logicalAnd(x, mask) : where(mask, x, 0)
  })
}

/**
 * The lower triangle of the matrices in the last two axes: columns ≤ row + diagonal stay, the others become exactly 0.
 * The cotangent passes where x does.
 *
 * @throws ShapeError where there are fewer than two axes
 */
export function tril(x: Tensor, options: TriangleOptions = {}): Tensor {
  return triangle('tril', x, options)
}

/**
 * The upper triangle of the matrices in the last two axes: columns ≥ row + diagonal stay, the others become exactly 0.
 * The cotangent passes where x does.
 *
 * @throws ShapeError where there are fewer than two axes
 */
export function triu(x: Tensor, options: TriangleOptions = {}): Tensor {
  return triangle('triu', x, options)
}
