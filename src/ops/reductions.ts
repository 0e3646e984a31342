// Reductions over axes; each derivative stands beside its function. `sum` has a file of its own.

import { checkFloating } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { OUTPUT } from '../core/node.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { normalizeAxis, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { annihilate, div, isAttained, scale, sub } from './arithmetic.js'
import { to } from './convert.js'
import { keptShape, type ReducedAxes, type ReductionOptions, reducedAxes, reducedCount, reduceWith } from './reduce.js'
import { spread, sum, sumOver } from './sum.js'
import { reshape } from './views.js'

/**
 * The arithmetic mean over the given axes; NaN where there is nothing to average. Derivative: 1/count.
 *
 * @throws DTypeError unless floating
 */
export function mean(x: Tensor, options?: ReductionOptions): Tensor {
  checkTensor('mean', x)
  checkFloating('mean', x.dtype)
  const reduced = reducedAxes('mean', x, options)
  return composite(() => scale(sumOver(x, reduced), 1 / reducedCount(x.shape, reduced.axes)))
}

function extreme(name: 'max' | 'min'): (x: Tensor, options?: ReductionOptions) => Tensor {
  const family = new KernelFamily(name)
  const operation: Operation<ReducedAxes> = {
    name,
    forward: ([x], reduced) => reduceWith(family, x as Tensor, reduced, (x as Tensor).dtype),
    derivatives: [
      {
        saves: [0, OUTPUT],
        rule: (g, call) => {
          const { axes } = call.attributes
          const x = call.input(0)
          const attained = to(isAttained(x, reshape(call.output, keptShape(x.shape, axes))), x.dtype)
          const share = div(attained, sum(attained, { axis: axes, keepDims: true }))
          return annihilate(spread(g, x.shape, axes), share)
        },
      },
    ],
  }
  return (x, options) => {
    checkTensor(name, x)
    const reduced = reducedAxes(name, x, options)
    checkNotEmpty(name, x, reduced)
    const numbers = x.dtype === 'bool' ? to(x, 'int32') : x
    const result = apply(operation, [numbers], reduced)
    return x.dtype === 'bool' ? to(result, 'bool') : result
  }
}

function checkNotEmpty(op: string, x: Tensor, { axes }: ReducedAxes): void {
  if (reducedCount(x.shape, axes) === 0) {
    throw new ShapeError(
      `${op}: ${showShape(x.shape)} has no elements along [${axes.join(', ')}], so there is no ${op}`,
    )
  }
}

/** The largest element over the given axes; NaN where one is. Derivative: 1, shared equally among ties (or NaN). */
export const max: (x: Tensor, options?: ReductionOptions) => Tensor = extreme('max')

/** The smallest element over the given axes; NaN where one is. Derivative: 1, shared equally among ties (or NaN). */
export const min: (x: Tensor, options?: ReductionOptions) => Tensor = extreme('min')

/** One axis, or the whole tensor read in row-major order. */
export interface PositionOptions {
  readonly axis?: number | undefined
  readonly keepDims?: boolean | undefined
}

function position(name: 'argmax' | 'argmin'): (x: Tensor, options?: PositionOptions) => Tensor {
  const family = new KernelFamily(name)
  const operation: Operation<ReducedAxes> = {
    name,
    forward: ([x], reduced) => reduceWith(family, x as Tensor, reduced, 'int32'),
    derivatives: null,
  }
  return (x, options = {}) => {
    checkTensor(name, x)
    checkOptions(name, options, ['axis', 'keepDims'])
    const { axis, keepDims = false } = options
    const numbers = x.dtype === 'bool' ? to(x, 'int32') : x
    const line = axis === undefined ? reshape(numbers, [x.size]) : numbers
    const reduced = { axes: [normalizeAxis(name, axis ?? 0, line.ndim)], keepDims: axis !== undefined && keepDims }
    checkNotEmpty(name, line, reduced)
    const result = apply(operation, [line], reduced)
    return axis === undefined && keepDims
      ? reshape(
          result,
          x.shape.map(() => 1),
        )
      : result
  }
}

/** Where the largest element stands along an axis, or in the whole tensor read row by row; int32; the first of ties. */
export const argmax: (x: Tensor, options?: PositionOptions) => Tensor = position('argmax')

/** Where the smallest element stands along an axis, or in the whole tensor read row by row; int32; the first of ties. */
export const argmin: (x: Tensor, options?: PositionOptions) => Tensor = position('argmin')

interface VarianceAttributes extends ReducedAxes {
  readonly correction: number
}

const varianceKernel = new KernelFamily('variance')

const varianceOperation: Operation<VarianceAttributes> = {
  name: 'variance',
  forward: ([x], attributes) =>
    reduceWith(varianceKernel, x as Tensor, attributes, (x as Tensor).dtype, attributes.correction),
  derivatives: [
    {
      saves: [0],
      rule: (g, call) => {
        const { axes, correction } = call.attributes
        const x = call.input(0)
        const centred = sub(x, mean(x, { axis: axes, keepDims: true }))
        return annihilate(
          spread(g, x.shape, axes),
          scale(centred, 2 / Math.max(0, reducedCount(x.shape, axes) - correction)),
        )
      },
    },
  ],
}

/** Options of `variance` and `std`. */
export interface VarianceOptions extends ReductionOptions {
  /** Subtracted from the count in the divisor: 1 (the default) for the unbiased estimate, 0 for the population's. */
  readonly correction?: number | undefined
}

/**
 * `Σ(x − mean)² / (count − correction)` over the given axes, in two passes; NaN or ∞ where the divisor is 0.
 * Derivative: `2(x − mean)/(count − correction)`.
 *
 * @throws DTypeError unless floating
 */
export function variance(x: Tensor, options: VarianceOptions = {}): Tensor {
  checkTensor('variance', x)
  checkFloating('variance', x.dtype)
  const { axes, keepDims } = reducedAxes('variance', x, options, ['axis', 'keepDims', 'correction'])
  const { correction = 1 } = options
  checkCorrection('variance', correction)
  return apply(varianceOperation, [x], { axes, keepDims, correction })
}

export function checkCorrection(op: string, correction: unknown): void {
  if (typeof correction !== 'number' || Number.isNaN(correction)) {
    throw new ArgumentError(`${op}: correction must be a number, got ${String(correction)}`)
  }
}
