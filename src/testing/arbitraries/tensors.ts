import fc, { type Arbitrary } from 'fast-check'
import { arrayOf, checkDType, type DType, type TypedArray } from '../../core/dtype.js'
import { ArgumentError } from '../../core/errors.js'
import { checkOptions } from '../../core/options.js'
import { checkInteger, checkShape, type Shape, sizeOf } from '../../core/shape.js'
import type { Tensor } from '../../core/tensor.js'
import { tensor } from '../../ops/creation.js'
import { type Block, Blocks, type Bounds, boundsFrom, type ShapeOptions, shapeOptionNames } from './blocks.js'
import { type AdversarialKind, kindsMeant, mixed, ordinary } from './numbers.js'

/** Options of `tensors` and `broadcastableTensors`. */
export interface TensorArbitraryOptions extends ShapeOptions {
  /** The shape of all; it does not shrink. By default each has a random one within the bounds. */
  readonly shape?: Shape | undefined
  /** Default `'float64'`, in which gradients are checked. */
  readonly dtype?: DType | undefined
  /** Whether the tensors are leaves whose gradient is wanted; default false. */
  readonly requiresGrad?: boolean | undefined
  /** Where the numbers come from; default: well-scaled ones (see `wellScaled`), whole ones from −9 to 9 for int32. */
  readonly values?: Arbitrary<number> | undefined
  /** Mixes numbers of these kinds in, or with `true` of all kinds that the dtype has; default: none. */
  readonly adversarial?: boolean | readonly AdversarialKind[] | undefined
  /**
   * Least difference between the magnitudes of any two numbers, also of different tensors: no ties, and kinks at ties
   * (of `max`, `sort`, `maximum` …) are that far. Default 0: independent numbers.
   */
  readonly separation?: number | undefined
}

const optionNames = [
  ...shapeOptionNames,
  'shape',
  'dtype',
  'requiresGrad',
  'values',
  'adversarial',
  'separation',
] as const

/**
 * Tensors of a given shape, or of any within the given bounds. Shrinks to the smallest shape, leaving parts out and
 * keeping the numbers in the rest, and then to the simplest numbers. Every run of a property gets tensors of its own,
 * and a counterexample is shown as the code that makes it.
 *
 *     fc.assert(fc.property(tensors({ requiresGrad: true }), (x) => gradcheck((x) => x.tanh(), [x]).ok))
 *
 * @throws ArgumentError or ShapeError where the options make no sense
 */
export function tensors(options: TensorArbitraryOptions = {}): Arbitrary<Tensor> {
  const { blocks, make } = planned('tensors', 1, options)
  return blocks.map((list) => make(list[0] as Block))
}

/**
 * `count` tensors whose shapes broadcast together, to one within the given bounds: some have fewer axes, or sizes of 1.
 * They shrink together, as those of `tensors` do.
 *
 * @throws ArgumentError or ShapeError where the options make no sense
 */
export function broadcastableTensors(
  count: number,
  options: TensorArbitraryOptions = {},
): Arbitrary<readonly Tensor[]> {
  const { blocks, make } = planned('broadcastableTensors', count, options)
  return blocks.map((list) => list.map(make))
}

/**
 * Masks: `bool` tensors of a given shape, or of any within the given bounds; among them such that are true, or false,
 * everywhere. Shrinks as `tensors`, and to false.
 *
 * @throws ArgumentError or ShapeError where the options make no sense
 */
export function masks(options: ShapeOptions & { readonly shape?: Shape | undefined } = {}): Arbitrary<Tensor> {
  checkOptions('masks', options, [...shapeOptionNames, 'shape'])
  const shape = shapeMeant('masks', options)
  const blocks = new Blocks('masks', {
    count: 1,
    shape,
    values: fc.nat(1),
    ties: false,
    uniform: true,
    separation: 0,
  })
  return blocks.map((list) => tensorFrom(list[0] as Block, 'bool', false))
}

/** The one shape that was given, or the bounds. */
function shapeMeant(op: string, options: ShapeOptions & { readonly shape?: Shape | undefined }): Bounds | Shape {
  const { shape } = options
  if (shape === undefined) return boundsFrom(op, options)
  checkShape(op, shape)
  return [...shape]
}

function planned(op: string, count: number, options: TensorArbitraryOptions) {
  checkOptions(op, options, optionNames)
  checkInteger(op, 'count', count, 1)
  const { dtype = 'float64', requiresGrad = false, adversarial = false, separation = 0 } = options
  checkDType(op, dtype)
  if (!(separation >= 0)) throw new ArgumentError(`${op}: separation must be a number of at least 0, got ${separation}`)
  const kinds = kindsMeant(op, adversarial, dtype)
  if (kinds.includes('tie') && separation > 0) {
    throw new ArgumentError(`${op}: with a separation there are no ties; leave one of both out`)
  }
  const blocks = new Blocks(op, {
    count,
    shape: shapeMeant(op, options),
    values: mixed(options.values ?? ordinary(dtype), kinds, dtype),
    ties: kinds.includes('tie'),
    uniform: false,
    separation,
  })
  return { blocks, make: (block: Block) => tensorFrom(block, dtype, requiresGrad) }
}

function tensorFrom({ shape, numbers }: Block, dtype: DType, requiresGrad: boolean): Tensor {
  const data = new (arrayOf(dtype))(numbers.length)
  data.set(numbers)
  const made = tensor(data, { shape, dtype, requiresGrad })
  Object.defineProperty(made, fc.toStringMethod, { value: () => codeFor(data, shape, dtype, requiresGrad) })
  return made
}

/** The code that makes a tensor, with all digits. */
function codeFor(data: TypedArray, shape: Shape, dtype: DType, requiresGrad: boolean): string {
  // Nested arrays do not tell the sizes behind a size of 0.
  const [numbers, given] =
    data.length === 0 ? ['[]', `, shape: [${shape.join(', ')}]`] : [nested(data, shape, dtype), '']
  return `tensor(${numbers}, { dtype: '${dtype}'${given}${requiresGrad ? ', requiresGrad: true' : ''} })`
}

function nested(data: TypedArray, shape: Shape, dtype: DType): string {
  if (shape.length === 0) {
    const value = data[0] as number
    if (dtype === 'bool') return String(value !== 0)
    return Object.is(value, -0) ? '-0' : String(value)
  }
  const [count = 0, ...rest] = shape
  const length = sizeOf(rest)
  const parts = Array.from({ length: count }, (_, i) =>
    nested(data.subarray(i * length, (i + 1) * length), rest, dtype),
  )
  return `[${parts.join(', ')}]`
}
