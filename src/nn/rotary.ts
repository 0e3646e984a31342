// Where rows stand, told by rotating queries and keys, so that their products depend on the distance alone.
import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, DTypeError, ShapeError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions, requireOptions } from '../core/options.js'
import { checkInteger, sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import { checkTensor } from '../ops/arguments.js'
import { add, mul, sub } from '../ops/arithmetic.js'
import { to } from '../ops/convert.js'
import { detach } from '../ops/copy.js'
import { arange, tensor } from '../ops/creation.js'
import { concat, stack, unstack } from '../ops/joining.js'
import { cos, sin } from '../ops/trigonometric.js'
import { reshape } from '../ops/views.js'
import { checkBase, checkDivisible } from './positions.js'

/** Options of `rotary`. */
export interface RotaryOptions {
  /** (N,): where each row stands; by default 0, 1, …. Not differentiated. */
  readonly positions?: Tensor
  /** β: wavelengths go from 2π to about 2πβ; default 10,000. */
  readonly base?: number
}

/** Options of `rotary2d`. */
export interface Rotary2dOptions {
  /** Height and width of the grid whose places the rows of x are, row by row. */
  readonly rows: number
  readonly columns: number
  /** β: wavelengths go from 2π to about 2πβ; default 10,000. */
  readonly base?: number
}

/** What the queries and keys of a layer are turned by: nothing, `rotary`, or with a grid's height and width `rotary2d`. */
export type AttentionRotary = boolean | Omit<RotaryOptions, 'positions'> | Rotary2dOptions

/**
 * Rotary position embedding of queries or keys x (…, N, d): the pair (x₂ᵢ, x₂ᵢ₊₁) of the row at position n is turned by
 * the angle a = n β^(−2i/d),
 *
 *     (x₂ᵢ cos a − x₂ᵢ₊₁ sin a,  x₂ᵢ sin a + x₂ᵢ₊₁ cos a)
 *
 * A rotation keeps lengths, and the product of a query at m and a key at n depends on m and n through m − n alone.
 * Angles are computed in float64. Derivative: the rotation back.
 *
 * Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv 2104.09864.
 *
 * @throws ShapeError unless x has rows, and positions one number for each; ArgumentError for an odd d; DTypeError unless
 *   x is floating
 */
export function rotary(x: Tensor, options: RotaryOptions = {}): Tensor {
  checkOptions('rotary', options, ['positions', 'base'])
  const { positions, base = 10_000 } = options
  checkRows('rotary', x, 2)
  checkBase('rotary', base)
  const count = x.shape[x.ndim - 2] as number
  if (positions !== undefined) {
    checkTensor('rotary', positions, 'positions')
    if (positions.dtype === 'bool') throw new DTypeError('rotary: positions must be numbers, got bool')
    if (!sameShape(positions.shape, [count])) {
      throw new ShapeError(`rotary: positions must be (${count},), one for each row, got ${showShape(positions.shape)}`)
    }
  }
  const dim = x.shape[x.ndim - 1] as number
  return composite(() => turn(x, turnsOf(anglesAt(positions ?? arange(count), dim, base), x.dtype)))
}

/**
 * Rotary position embedding in a grid, x (…, rows · columns, d) row by row: the first half of the features is turned by
 * `rotary` according to the row, the second half according to the column, so that the product of a query and a key
 * depends on where they stand through the distances in rows and in columns alone.
 *
 * Source: Heo et al., "Rotary Position Embedding for Vision Transformer", arXiv 2403.13298 (axial frequencies).
 *
 * @throws ShapeError unless the rows of x fill the grid; ArgumentError unless d is divisible by 4; DTypeError unless x is
 *   floating
 */
export function rotary2d(x: Tensor, options: Rotary2dOptions): Tensor {
  const op = 'rotary2d'
  requireOptions(op, options, 'rows: 8, columns: 8')
  const { rows, columns, base } = checkGrid(op, options)
  checkRows(op, x, 4)
  const count = rows * columns
  if (x.shape[x.ndim - 2] !== count) {
    throw new ShapeError(
      `${op}: a grid of ${rows} × ${columns} has ${count} places, but x ${showShape(x.shape)} has ${x.shape[x.ndim - 2]} rows`,
    )
  }
  const dim = x.shape[x.ndim - 1] as number
  return composite(() => turn(x, turnsOf(anglesInGrid(rows, columns, dim, base), x.dtype)))
}

/** The rotation that a layer gives its queries and keys, both (…, N, keyDim). */
export class Rotation {
  /** Those of the last call, which mostly are those of the next. */
  #turns: Turns | null = null

  constructor(
    /** The height and width that N must fill; null where N may be any. */
    readonly grid: readonly [number, number] | null,
    readonly keyDim: number,
    readonly base: number,
  ) {}

  turn(x: Tensor): Tensor {
    const turns = this.#turnsFor(x.shape[x.ndim - 2] as number, x.dtype)
    return composite(() => turn(x, turns))
  }

  #turnsFor(count: number, dtype: DType): Turns {
    const { grid, keyDim, base } = this
    if (this.#turns?.cosines.shape[0] === count && this.#turns.cosines.dtype === dtype) return this.#turns
    // They outlive the layer's call.
    this.#turns = publicly(() => {
      const angles = grid === null ? anglesAt(arange(count), keyDim, base) : anglesInGrid(...grid, keyDim, base)
      return turnsOf(angles, dtype)
    })
    return this.#turns
  }
}

/** The rotation that an option asks for; null for none. */
export function rotationOf(op: string, rotation: AttentionRotary, keyDim: number): Rotation | null {
  if (rotation === false) return null
  if (rotation !== true && (typeof rotation !== 'object' || rotation === null)) {
    throw new ArgumentError(
      `${op}: rotary must be true, false, or { rows, columns } for positions in a grid, got ${showValue(rotation)}`,
    )
  }
  const options: Partial<Rotary2dOptions> = rotation === true ? {} : rotation
  const inGrid = 'rows' in options || 'columns' in options
  if (keyDim % (inGrid ? 4 : 2) !== 0) {
    const kind = inGrid ? 'rotary positions in a grid need' : 'rotary positions need'
    throw new ArgumentError(`${op}: ${kind} a keyDim divisible by ${inGrid ? 4 : 2}, got ${keyDim}`)
  }
  if (inGrid) {
    const { rows, columns, base } = checkGrid(op, options)
    return new Rotation([rows, columns], keyDim, base)
  }
  checkOptions(op, options, ['base', 'rows', 'columns'])
  const { base = 10_000 } = options
  checkBase(op, base)
  return new Rotation(null, keyDim, base)
}

function checkGrid(op: string, options: Partial<Rotary2dOptions>): Required<Rotary2dOptions> {
  checkOptions(op, options, ['rows', 'columns', 'base'])
  const { rows, columns, base = 10_000 } = options
  checkInteger(op, 'rows', rows, 0)
  checkInteger(op, 'columns', columns, 0)
  checkBase(op, base)
  return { rows: rows as number, columns: columns as number, base }
}

/** How far the pairs of each row are turned: (N, d / 2) each. */
interface Turns {
  readonly cosines: Tensor
  readonly sines: Tensor
}

function turnsOf(angles: Tensor, dtype: DType): Turns {
  return { cosines: to(cos(angles), dtype), sines: to(sin(angles), dtype) }
}

/** (N, dim / 2), float64 */
function anglesAt(positions: Tensor, dim: number, base: number): Tensor {
  const frequencies = Float64Array.from({ length: dim / 2 }, (_, i) => base ** ((-2 * i) / dim))
  return mul(reshape(to(detach(positions), 'float64'), [positions.size, 1]), tensor(frequencies))
}

/** (rows · columns, dim / 2), float64: the first half by the row, the second by the column. */
function anglesInGrid(rows: number, columns: number, dim: number, base: number): Tensor {
  const count = rows * columns
  const row = tensor(Int32Array.from({ length: count }, (_, n) => Math.floor(n / columns)))
  const column = tensor(Int32Array.from({ length: count }, (_, n) => n % columns))
  return concat([anglesAt(row, dim / 2, base), anglesAt(column, dim / 2, base)], -1)
}

function turn(x: Tensor, { cosines, sines }: Turns): Tensor {
  const pairs = reshape(x, [...x.shape.slice(0, -1), (x.shape[x.ndim - 1] as number) / 2, 2])
  const [a, b] = unstack(pairs, -1) as [Tensor, Tensor]
  const turned = [sub(mul(a, cosines), mul(b, sines)), add(mul(a, sines), mul(b, cosines))]
  return reshape(stack(turned, -1), x.shape)
}

function checkRows(op: string, x: Tensor, divisor: number): void {
  checkTensor(op, x)
  checkFloating(op, x.dtype)
  if (x.ndim < 2) throw new ShapeError(`${op}: x must be (…, N, d), got ${showShape(x.shape)}`)
  checkDivisible(op, x.shape[x.ndim - 1], divisor)
}
