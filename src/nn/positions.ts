// Where rows stand, told by vectors that are added to them.
import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, ShapeError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { add } from '../ops/arithmetic.js'
import { tensor } from '../ops/creation.js'
import { concat, slice } from '../ops/joining.js'
import { broadcastTo, reshape } from '../ops/views.js'
import { Buffer } from './buffer.js'
import { truncatedNormal } from './initialisation.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'
import { Parameter } from './parameter.js'

/** Options of the sinusoidal positions. */
export interface SinusoidalOptions {
  /** β: wavelengths go from 2π to about 2πβ; default 10,000. */
  readonly base?: number
  /** default float32 */
  readonly dtype?: DType
}

/** Options of the learned positions. */
export interface LearnedPositionsOptions {
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * A table (count, dim) of positions n = 0, 1, …: `[n, 2i] = sin(n β^(−2i/dim))`, `[n, 2i + 1] = cos(n β^(−2i/dim))`. The
 * row of n + k is the row of n times a rotation that depends on k alone.
 *
 * Source: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762.
 *
 * @throws ArgumentError unless dim is even
 */
export function sinusoidalPositions(count: number, dim: number, options: SinusoidalOptions = {}): Tensor {
  const op = 'sinusoidalPositions'
  checkInteger(op, 'count', count, 0)
  checkDivisible(op, dim, 2)
  checkOptions(op, options, ['base', 'dtype'])
  const { base = 10_000, dtype = 'float32' } = options
  checkBase(op, base)
  checkFloating(op, dtype)
  const values = Float64Array.from({ length: count * dim }, (_, place) => {
    const column = place % dim
    const angle = Math.floor(place / dim) * base ** (-(column - (column % 2)) / dim)
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle)
  })
  return tensor(values, { shape: [count, dim], dtype })
}

/**
 * A table (rows · columns, dim) of the positions in a grid, row by row: the first half of a vector is the sinusoidal
 * position of its row, the second half that of its column, each of length dim/2.
 *
 * Source: Wang and Liu, "Translating Math Formula Images to LaTeX Sequences", arXiv 1908.11415.
 *
 * @throws ArgumentError unless dim is divisible by 4
 */
export function sinusoidalPositions2d(
  rows: number,
  columns: number,
  dim: number,
  options: SinusoidalOptions = {},
): Tensor {
  const op = 'sinusoidalPositions2d'
  checkInteger(op, 'rows', rows, 0)
  checkInteger(op, 'columns', columns, 0)
  checkDivisible(op, dim, 4)
  return composite(() =>
    onGrid(sinusoidalPositions(rows, dim / 2, options), sinusoidalPositions(columns, dim / 2, options)),
  )
}

/** (rows, d) and (columns, e) as (rows · columns, d + e): each vector of a row beside each of a column, row by row. */
function onGrid(rows: Tensor, columns: Tensor): Tensor {
  const [height, d] = rows.shape as [number, number]
  const [width, e] = columns.shape as [number, number]
  const row = broadcastTo(reshape(rows, [height, 1, d]), [height, width, d])
  const column = broadcastTo(reshape(columns, [1, width, e]), [height, width, e])
  return reshape(concat([row, column], -1), [height * width, d + e])
}

/** x (…, N, dim) plus the first N rows of a table, which must be there. */
function addPositions(op: string, x: Tensor, table: Tensor): Tensor {
  checkTensor(op, x)
  const [count, dim] = table.shape as [number, number]
  const rows = x.shape[x.ndim - 2]
  if (rows === undefined || rows > count || x.shape[x.ndim - 1] !== dim) {
    throw new ShapeError(
      `${op}: the input must be (…, N, ${dim}) with N at most ${count}, the number of positions, got ${showShape(x.shape)}`,
    )
  }
  return add(x, rows === count ? table : slice(table, 0, rows))
}

/** The same for a grid, whose places x must fill. */
function addGrid(op: string, x: Tensor, table: Tensor): Tensor {
  checkTensor(op, x)
  const [count, dim] = table.shape as [number, number]
  if (x.ndim < 2 || x.shape[x.ndim - 2] !== count || x.shape[x.ndim - 1] !== dim) {
    throw new ShapeError(
      `${op}: the input must be (…, ${count}, ${dim}), one row for each place in the grid, got ${showShape(x.shape)}`,
    )
  }
  return add(x, table)
}

/** Adds `sinusoidalPositions` to the rows of x (…, N, dim), N at most `count`. */
export class SinusoidalPositions extends Module {
  /** (count, dim); not in the state dict, as it can be made again. */
  readonly table: Buffer

  /** @throws ArgumentError unless dim is even */
  constructor(count: number, dim: number, options: SinusoidalOptions = {}) {
    super()
    this.table = new Buffer(sinusoidalPositions(count, dim, options), { persistent: false })
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    const { table } = this
    return composite(() => addPositions('SinusoidalPositions', x, table))
  }
}
keepsNothing(SinusoidalPositions)

/** Adds `sinusoidalPositions2d` to the rows of x (…, rows · columns, dim). */
export class SinusoidalPositions2d extends Module {
  /** (rows · columns, dim); not in the state dict, as it can be made again. */
  readonly table: Buffer

  /** @throws ArgumentError unless dim is divisible by 4 */
  constructor(rows: number, columns: number, dim: number, options: SinusoidalOptions = {}) {
    super()
    this.table = new Buffer(sinusoidalPositions2d(rows, columns, dim, options), { persistent: false })
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    return addGrid('SinusoidalPositions2d', x, this.table)
  }
}
keepsNothing(SinusoidalPositions2d)

/**
 * Adds a learned vector for each position to the rows of x (…, N, dim), N at most `count`. The vectors start from the
 * normal distribution of standard deviation 0.02, cut at two of it.
 *
 * Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929.
 */
export class LearnedPositions extends Module {
  /** (count, dim) */
  readonly weight: Parameter

  /** @throws ArgumentError where a size is no whole number of at least 1 */
  constructor(count: number, dim: number, options: LearnedPositionsOptions = {}) {
    super()
    this.weight = learnedTable('LearnedPositions', count, dim, options)
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    const { weight } = this
    return composite(() => addPositions('LearnedPositions', x, weight))
  }
}
keepsNothing(LearnedPositions)

/**
 * Adds a learned vector for each place in a grid to the rows of x (…, rows · columns, dim): one for its row in the first
 * half, one for its column in the second. They start like those of `LearnedPositions`.
 *
 * Sources: Dosovitskiy et al., arXiv 2010.11929, appendix D.4; Carion et al., "End-to-End Object Detection with
 * Transformers", arXiv 2005.12872.
 */
export class LearnedPositions2d extends Module {
  /** (rows, dim / 2) */
  readonly rowWeight: Parameter
  /** (columns, dim / 2) */
  readonly columnWeight: Parameter

  /** @throws ArgumentError unless dim is even */
  constructor(rows: number, columns: number, dim: number, options: LearnedPositionsOptions = {}) {
    super()
    checkDivisible('LearnedPositions2d', dim, 2)
    this.rowWeight = learnedTable('LearnedPositions2d', rows, dim / 2, options)
    this.columnWeight = learnedTable('LearnedPositions2d', columns, dim / 2, options)
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    const { rowWeight, columnWeight } = this
    return composite(() => addGrid('LearnedPositions2d', x, onGrid(rowWeight, columnWeight)))
  }
}
keepsNothing(LearnedPositions2d)

function learnedTable(op: string, count: number, dim: number, options: LearnedPositionsOptions): Parameter {
  checkInteger(op, 'the number of positions', count, 1)
  checkInteger(op, 'dim', dim, 1)
  checkOptions(op, options, ['dtype'])
  const { dtype = 'float32' } = options
  checkFloating(op, dtype)
  return new Parameter(truncatedNormal([count, dim], { std: 0.02, dtype }))
}

/** Throws unless dim is a whole number of at least 1 that the halves and pairs of a scheme divide. */
export function checkDivisible(op: string, dim: unknown, divisor: number): void {
  checkInteger(op, 'dim', dim, 1)
  if ((dim as number) % divisor === 0) return
  throw new ArgumentError(`${op}: dim must be divisible by ${divisor}, got ${showValue(dim)}`)
}

/** Throws unless base is a number above 0. */
export function checkBase(op: string, base: unknown): void {
  if (typeof base === 'number' && base > 0 && base < Number.POSITIVE_INFINITY) return
  throw new ArgumentError(`${op}: base must be a finite number above 0, got ${showValue(base)}`)
}
