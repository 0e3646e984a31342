// First values of weights. Of a weight's shape (out, in, …window), fan-in is in · window, fan-out out · window.
import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, ShapeError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkShape, type Shape, showShape, sizeOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { scale, sub } from '../ops/arithmetic.js'
import { tensor } from '../ops/creation.js'
import { rand, randn } from '../ops/random.js'
import { Parameter } from './parameter.js'

/** Options of the initialisers. */
export interface InitOptions {
  /** Scales the numbers, to make up for the activation behind the weight: see `calculateGain`. */
  readonly gain?: number
  /** default float32 */
  readonly dtype?: DType
}

/** Options of `kaimingUniform` and `kaimingNormal`. */
export interface KaimingOptions extends InitOptions {
  /** Whether values (the default) or cotangents keep their variance. */
  readonly mode?: 'fanIn' | 'fanOut'
}

/** Options of `truncatedNormal`. */
export interface TruncatedNormalOptions {
  /** Mean and standard deviation before the cut; default 0 and 1. */
  readonly mean?: number
  readonly std?: number
  /** Where it is cut, in standard deviations from the mean, at least 0.5; default 2. */
  readonly bound?: number
  /** default float32 */
  readonly dtype?: DType
}

/** Activations whose gain is known. */
export type Nonlinearity = 'linear' | 'sigmoid' | 'tanh' | 'relu' | 'leakyRelu' | 'selu'

/**
 * PyTorch's gains: 1 for linear and sigmoid, 5/3 for tanh, √2 for relu, √(2/(1 + slope²)) for leakyRelu (slope 0.01 by
 * default), 3/4 for selu.
 *
 * @throws ArgumentError for another activation, or a slope that is no finite number
 */
export function calculateGain(nonlinearity: Nonlinearity, negativeSlope = 0.01): number {
  if (!Number.isFinite(negativeSlope)) {
    throw new ArgumentError(`calculateGain: the slope must be a finite number, got ${showValue(negativeSlope)}`)
  }
  switch (nonlinearity) {
    case 'linear':
    case 'sigmoid':
      return 1
    case 'tanh':
      return 5 / 3
    case 'relu':
      return Math.SQRT2
    case 'leakyRelu':
      return Math.sqrt(2 / (1 + negativeSlope ** 2))
    case 'selu':
      return 3 / 4
    default:
      throw new ArgumentError(`calculateGain: there is no gain for ${showValue(nonlinearity)}`)
  }
}

/**
 * Uniform on ±gain · √(6/(fan-in + fan-out)), so that values and cotangents keep their variance; gain 1 by default. Also
 * called Glorot's.
 *
 * Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
 */
export function xavierUniform(shape: Shape, options: InitOptions = {}): Tensor {
  const { gain, dtype } = settingsOf('xavierUniform', options, 1)
  const { fanIn, fanOut } = fansOf('xavierUniform', shape)
  return uniform(shape, gain * Math.sqrt(6 / Math.max(1, fanIn + fanOut)), dtype)
}

/** Normal with standard deviation gain · √(2/(fan-in + fan-out)), gain 1 by default. Source: see `xavierUniform`. */
export function xavierNormal(shape: Shape, options: InitOptions = {}): Tensor {
  const { gain, dtype } = settingsOf('xavierNormal', options, 1)
  const { fanIn, fanOut } = fansOf('xavierNormal', shape)
  return normal(shape, gain * Math.sqrt(2 / Math.max(1, fanIn + fanOut)), dtype)
}

/**
 * Uniform on ±gain · √(3/fan), gain √2 by default, for a relu behind it. Also called He's.
 *
 * Source: He et al., "Delving Deep into Rectifiers", arXiv 1502.01852.
 */
export function kaimingUniform(shape: Shape, options: KaimingOptions = {}): Tensor {
  const { gain, dtype } = settingsOf('kaimingUniform', options, Math.SQRT2, ['mode'])
  return uniform(shape, gain * Math.sqrt(3 / Math.max(1, fanOf('kaimingUniform', shape, options))), dtype)
}

/** Normal with standard deviation gain/√fan, gain √2 by default. Source: see `kaimingUniform`. */
export function kaimingNormal(shape: Shape, options: KaimingOptions = {}): Tensor {
  const { gain, dtype } = settingsOf('kaimingNormal', options, Math.SQRT2, ['mode'])
  return normal(shape, gain / Math.sqrt(Math.max(1, fanOf('kaimingNormal', shape, options))), dtype)
}

/**
 * Normal, drawn again where it lies further than `bound` standard deviations from the mean. With the default bound of 2
 * the standard deviation of what is left is 0.8796 · std.
 *
 * Source of the habit (std 0.02): Devlin et al., "BERT", arXiv 1810.04805; Dosovitskiy et al., arXiv 2010.11929.
 */
export function truncatedNormal(shape: Shape, options: TruncatedNormalOptions = {}): Tensor {
  const op = 'truncatedNormal'
  checkShape(op, shape)
  checkOptions(op, options, ['mean', 'std', 'bound', 'dtype'])
  const { mean = 0, std = 1, bound = 2, dtype = 'float32' } = options
  checkFloating(op, dtype)
  if (!Number.isFinite(mean)) throw new ArgumentError(`${op}: mean must be a finite number, got ${showValue(mean)}`)
  if (!(Number.isFinite(std) && std >= 0)) {
    throw new ArgumentError(`${op}: std must be a finite number of at least 0, got ${showValue(std)}`)
  }
  if (!(typeof bound === 'number' && bound >= 0.5)) {
    throw new ArgumentError(`${op}: bound must be a number of at least 0.5, got ${showValue(bound)}`)
  }
  const values = new Float64Array(sizeOf(shape))
  for (let filled = 0; filled < values.length; ) {
    for (const value of randn([values.length - filled], { dtype: 'float64' }).data) {
      if (Math.abs(value) <= bound) values[filled++] = mean + std * value
    }
  }
  return tensor(values, { shape, dtype })
}

/**
 * gain times a random matrix with orthonormal rows, or columns where it is higher than wide, uniform among all of them;
 * of more axes than two, the ones behind the first count as one. gain 1 by default.
 *
 * Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", arXiv
 * 1312.6120. A normal matrix is orthogonalised by Gram and Schmidt's process, run twice, which is as exact as
 * reflections (Giraud et al., "Rounding error analysis of the classical Gram-Schmidt orthogonalization process", 2005).
 */
export function orthogonal(shape: Shape, options: InitOptions = {}): Tensor {
  const { gain, dtype } = settingsOf('orthogonal', options, 1)
  checkFansOf('orthogonal', shape)
  const height = shape[0] as number
  const width = sizeOf(shape.slice(1))
  const upright = height > width
  const [count, length] = upright ? [width, height] : [height, width]
  const rows = randn([count, length], { dtype: 'float64' }).data
  for (let i = 0; i < count; i++) {
    const row = rows.subarray(i * length, (i + 1) * length)
    for (let pass = 0; pass < 2; pass++) {
      for (let j = 0; j < i; j++) {
        const other = rows.subarray(j * length, (j + 1) * length)
        const shared = product(row, other)
        for (let k = 0; k < length; k++) row[k] = (row[k] as number) - shared * (other[k] as number)
      }
      const size = Math.sqrt(product(row, row))
      for (let k = 0; k < length; k++) row[k] = (row[k] as number) / size
    }
  }
  const values = Float64Array.from({ length: count * length }, (_, place) => {
    const [i, k] = upright ? [place % count, Math.floor(place / count)] : [Math.floor(place / length), place % length]
    return gain * (rows[i * length + k] as number)
  })
  return tensor(values, { shape, dtype })
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let k = 0; k < a.length; k++) sum += (a[k] as number) * (b[k] as number)
  return sum
}

/** A parameter by `xavierUniform`. */
export function glorotUniform(out: number, inputs: number, dtype: DType): Parameter {
  return new Parameter(xavierUniform([out, inputs], { dtype }))
}

/**
 * A parameter uniform on ±1/√fanIn: what PyTorch gives the weights and biases of linear layers.
 *
 * Source: LeCun et al., "Efficient BackProp", 1998, with a third of its variance.
 */
export function linearUniform(shape: Shape, fanIn: number, dtype: DType): Parameter {
  return new Parameter(uniform(shape, 1 / Math.sqrt(Math.max(1, fanIn)), dtype))
}

function uniform(shape: Shape, bound: number, dtype: DType): Tensor {
  return composite(() => sub(scale(rand(shape, { dtype }), 2 * bound), bound))
}

function normal(shape: Shape, std: number, dtype: DType): Tensor {
  return composite(() => scale(randn(shape, { dtype }), std))
}

function settingsOf(
  op: string,
  options: InitOptions,
  defaultGain: number,
  more: readonly string[] = [],
): Required<InitOptions> {
  checkOptions(op, options, ['gain', 'dtype', ...more])
  const { gain = defaultGain, dtype = 'float32' } = options
  if (!Number.isFinite(gain)) throw new ArgumentError(`${op}: gain must be a finite number, got ${showValue(gain)}`)
  checkFloating(op, dtype)
  return { gain, dtype }
}

function checkFansOf(op: string, shape: Shape): void {
  checkShape(op, shape)
  if (shape.length < 2) {
    throw new ShapeError(`${op}: a weight has at least the axes (out, in), got ${showShape(shape)}`)
  }
}

function fansOf(op: string, shape: Shape): { readonly fanIn: number; readonly fanOut: number } {
  checkFansOf(op, shape)
  const [out, inputs, ...window] = shape as [number, number, ...number[]]
  return { fanIn: inputs * sizeOf(window), fanOut: out * sizeOf(window) }
}

function fanOf(op: string, shape: Shape, { mode = 'fanIn' }: KaimingOptions): number {
  if (mode !== 'fanIn' && mode !== 'fanOut') {
    throw new ArgumentError(`${op}: mode must be 'fanIn' or 'fanOut', got ${showValue(mode)}`)
  }
  return fansOf(op, shape)[mode]
}
