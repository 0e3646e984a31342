// Checks of functions that know nothing of tensors.
import { ArgumentError, ShapeError } from '../core/errors.js'
import { check } from './check.js'
import type { Checkable, Pullback } from './checkable.js'
import { Layout, type Names, type Vector } from './layout.js'
import { type GradcheckOptions, settingsFrom } from './options.js'
import { GradcheckError, type GradcheckReport } from './report.js'

/** A scalar function of a vector. */
export type PlainFunction = (x: Float64Array) => number
/** Its gradient, written by hand: one number for each entry of x. */
export type PlainGradient = (x: Float64Array) => ArrayLike<number>
/** A vector function of a vector. */
export type PlainVectorFunction = (x: Float64Array) => ArrayLike<number>
/** Its vector-Jacobian product `cotangentᵀ · ∂f/∂x`, written by hand: one number for each entry of x. */
export type PlainPullback = (x: Float64Array, cotangent: Float64Array) => ArrayLike<number>

type AnyFunction = PlainFunction | PlainVectorFunction
type AnyDerivative = PlainGradient | PlainPullback

const OP = 'gradcheckPlain'

const names: Names = { input: () => 'x', output: () => 'f' }

/**
 * Like `gradcheck`, for a function of plain numbers and its derivative written by hand: a gradient where the function
 * gives a number, a vector-Jacobian product where it gives an array of them.
 *
 * ```ts
 * gradcheckPlain((x) => x[0] ** 2 * x[1], (x) => [2 * x[0] * x[1], x[0] ** 2], [3, -1]).ok
 * ```
 *
 * Both are called with copies of x, which they may change.
 *
 * @param x the point, of finite numbers
 * @returns a report in which the input is called x and the output f
 * @throws ArgumentError where x is not finite, f gives no numbers, or an option makes no sense; ShapeError where the
 *   derivative has not as many numbers as x, or f not always the same number of them
 */
export function gradcheckPlain(
  fn: PlainFunction,
  gradient: PlainGradient,
  x: ArrayLike<number>,
  options?: GradcheckOptions,
): GradcheckReport
export function gradcheckPlain(
  fn: PlainVectorFunction,
  pullback: PlainPullback,
  x: ArrayLike<number>,
  options?: GradcheckOptions,
): GradcheckReport
export function gradcheckPlain(
  fn: AnyFunction,
  derivative: AnyDerivative,
  x: ArrayLike<number>,
  options: GradcheckOptions = {},
): GradcheckReport {
  return checkPlain(fn, derivative, x, options)
}

/**
 * Like {@link gradcheckPlain}, for tests: does nothing where all is right.
 *
 * @throws GradcheckError with the report, and its text as the message, where the report is not ok
 */
export function assertGradcheckPlain(
  fn: PlainFunction,
  gradient: PlainGradient,
  x: ArrayLike<number>,
  options?: GradcheckOptions,
): void
export function assertGradcheckPlain(
  fn: PlainVectorFunction,
  pullback: PlainPullback,
  x: ArrayLike<number>,
  options?: GradcheckOptions,
): void
export function assertGradcheckPlain(
  fn: AnyFunction,
  derivative: AnyDerivative,
  x: ArrayLike<number>,
  options: GradcheckOptions = {},
): void {
  const report = checkPlain(fn, derivative, x, options)
  if (!report.ok) throw new GradcheckError(report)
}

function checkPlain(
  fn: AnyFunction,
  derivative: AnyDerivative,
  x: ArrayLike<number>,
  options: GradcheckOptions,
): GradcheckReport {
  const settings = settingsFrom(OP, options)
  return check(OP, OP, new PlainCheckable(fn, derivative, x), names, settings)
}

class PlainCheckable implements Checkable {
  readonly inputs: Layout
  readonly point: Vector
  private outputLayout: Layout | null = null
  private isScalar = false

  constructor(
    private readonly fn: AnyFunction,
    private readonly given: AnyDerivative,
    x: ArrayLike<number>,
  ) {
    for (const [name, value] of Object.entries({ function: fn, derivative: given })) {
      if (typeof value !== 'function')
        throw new ArgumentError(`${OP}: the ${name} must be a function, got ${typeof value}`)
    }
    this.point = numbersOf(x, 'the point x')
    this.inputs = new Layout([{ position: 0, name: names.input(0), shape: [this.point.length] }])
  }

  get outputs(): Layout {
    if (this.outputLayout === null) throw new Error('internal: outputs were asked for before the first evaluation')
    return this.outputLayout
  }

  values(at: Vector): Vector {
    const result: unknown = this.fn(at.slice())
    const isScalar = typeof result === 'number'
    const values = isScalar ? Float64Array.of(result) : numbersOf(result, 'what the function returns')
    if (this.outputLayout === null) {
      this.isScalar = isScalar
      this.outputLayout = new Layout([{ position: 0, name: names.output(0), shape: isScalar ? [] : [values.length] }])
    } else if (values.length !== this.outputs.size || isScalar !== this.isScalar) {
      throw new ShapeError(
        `${OP}: the function returned ${this.outputs.size} numbers at first and ${values.length} at a point close by`,
      )
    }
    return values
  }

  derivative(): Pullback {
    const values = this.values(this.point)
    return {
      mode: 'reverse',
      values,
      cut: [],
      pull: (cotangent) => ({ values: this.pull(cotangent), reached: [true], faults: [] }),
    }
  }

  /** A gradient is pulled back by multiplication. */
  private pull(cotangent: Vector): Vector {
    const what = this.isScalar ? 'the gradient' : 'the vector-Jacobian product'
    const result: unknown = this.isScalar
      ? (this.given as PlainGradient)(this.point.slice())
      : this.given(this.point.slice(), cotangent.slice())
    const product = numbersOf(result, what)
    if (product.length !== this.point.length) {
      throw new ShapeError(
        `${OP}: ${what} has ${product.length} numbers, x has ${this.point.length}; they must be equal`,
      )
    }
    return this.isScalar ? product.map((slope) => slope * (cotangent[0] as number)) : product
  }
}

/** A copy of an array of numbers. */
function numbersOf(value: unknown, what: string): Vector {
  if (typeof value === 'object' && value !== null && 'length' in value) {
    const numbers: readonly unknown[] = Array.from(value as ArrayLike<unknown>)
    if (numbers.every((x) => typeof x === 'number')) return Float64Array.from(numbers as readonly number[])
  }
  const got = value instanceof Promise ? 'a Promise' : typeof value === 'object' ? 'something else' : typeof value
  throw new ArgumentError(`${OP}: ${what} must be an array of numbers, got ${got}`)
}
