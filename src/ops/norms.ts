// Lengths of vectors, spreads of samples, and angles between vectors.

import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { OUTPUT } from '../core/node.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { broadcastShapes, normalizeAxis } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { annihilate, div, mul, scale, sub } from './arithmetic.js'
import { eq, gt, logicalAnd, lt } from './comparison.js'
import { detach } from './copy.js'
import { operands } from './elementwise.js'
import { keptShape, type ReducedAxes, type ReductionOptions, reducedAxes, reducedCount } from './reduce.js'
import { checkCorrection, max, mean, type VarianceOptions, variance } from './reductions.js'
import { clamp } from './rounding.js'
import { where } from './select.js'
import { spread, sum } from './sum.js'
import { abs, sqrt, square } from './unary.js'
import { broadcastTo, reshape } from './views.js'

/** Lengths to divide by: 0, where the function has a tip, as ∞, so that the quotient is 0. */
function orInfinity(y: Tensor): Tensor {
  return where(eq(y, 0), Number.POSITIVE_INFINITY, y)
}

const stdOperation: Operation<ReducedAxes & { readonly correction: number }> = {
  name: 'std',
  forward: ([x], { axes, keepDims, correction }) =>
    sqrt(variance(detach(x as Tensor), { axis: axes, keepDims, correction })),
  derivatives: [
    {
      saves: [0, OUTPUT],
      rule: (g, call) => {
        const { axes, correction } = call.attributes
        const x = call.input(0)
        const y = reshape(call.output, keptShape(x.shape, axes))
        const centred = sub(x, mean(x, { axis: axes, keepDims: true }))
        const factor = 1 / (reducedCount(x.shape, axes) - correction)
        return annihilate(spread(g, x.shape, axes), scale(div(centred, orInfinity(y)), factor))
      },
    },
  ],
}

/**
 * The standard deviation over the given axes, `√variance(x, options)`; NaN or ∞ where the divisor is 0.
 *
 * Derivative: `(x − mean)/((count − correction) · y)`, 0 where y is 0.
 *
 * @throws DTypeError unless floating
 */
export function std(x: Tensor, options: VarianceOptions = {}): Tensor {
  checkTensor('std', x)
  checkFloating('std', x.dtype)
  const { axes, keepDims } = reducedAxes('std', x, options, ['axis', 'keepDims', 'correction'])
  const { correction = 1 } = options
  checkCorrection('std', correction)
  return apply(stdOperation, [x], { axes, keepDims, correction })
}

const normOperation: Operation<ReducedAxes> = {
  name: 'norm',
  forward: ([x], { axes, keepDims }) => length(detach(x as Tensor), { axis: axes, keepDims }),
  derivatives: [
    {
      saves: [0, OUTPUT],
      rule: (g, call) => {
        const { axes } = call.attributes
        const x = call.input(0)
        const y = reshape(call.output, keptShape(x.shape, axes))
        return annihilate(spread(g, x.shape, axes), div(x, orInfinity(y)))
      },
    },
  ],
}

/** Between these, no square has overflowed and none that matters has vanished. */
const safeNorms: Partial<Record<DType, readonly [number, number]>> = {
  float32: [1e-15, 1e18],
  float64: [1e-140, 1e150],
}

function length(x: Tensor, options: ReductionOptions): Tensor {
  const plain = sqrt(sum(square(x), options))
  const [low, high] = safeNorms[x.dtype] as readonly [number, number]
  if (x.size === 0 || plain.data.every((value) => value >= low && value <= high)) return plain
  const largest = max(abs(x), { ...options, keepDims: true })
  const unit = where(logicalAnd(gt(largest, 0), lt(largest, Number.POSITIVE_INFINITY)), largest, 1)
  return mul(sqrt(sum(square(div(x, unit)), options)), reshape(unit, plain.shape))
}

/**
 * The Euclidean length `√Σx²` over the given axes; no square overflows or vanishes. The norm of nothing is 0.
 *
 * Derivative: `x/y`, 0 where y is 0.
 *
 * @throws DTypeError unless floating
 */
export function norm(x: Tensor, options?: ReductionOptions): Tensor {
  checkTensor('norm', x)
  checkFloating('norm', x.dtype)
  return apply(normOperation, [x], reducedAxes('norm', x, options))
}

/** Options of `cosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** The axis of the vectors' coordinates; the last by default. */
  readonly axis?: number | undefined
  /** Norms below this count as this; 1e-8 by default. */
  readonly eps?: number | undefined
}

/**
 * The cosine of the angle between the vectors along an axis, `⟨a, b⟩ / (max(‖a‖, eps) · max(‖b‖, eps))`; that axis is
 * gone from the result. Broadcasts; promotes.
 *
 * Derivative towards a: `b/(‖a‖‖b‖) − y a/‖a‖²` where both norms exceed eps; likewise towards b.
 *
 * @throws DTypeError where neither is floating, ShapeError where shapes do not broadcast, ArgumentError for an eps ≤ 0
 */
export function cosineSimilarity(a: Tensor, b: Tensor, options: CosineSimilarityOptions = {}): Tensor {
  checkTensor('cosineSimilarity', a, 'the first operand')
  checkTensor('cosineSimilarity', b, 'the second operand')
  checkOptions('cosineSimilarity', options, ['axis', 'eps'])
  const { axis = -1, eps = 1e-8 } = options
  if (!(eps > 0)) throw new ArgumentError(`cosineSimilarity: eps must be a positive number, got ${String(eps)}`)
  const shape = broadcastShapes('cosineSimilarity', a.shape, b.shape)
  const place = normalizeAxis('cosineSimilarity', axis, shape.length)
  return composite(() => {
    const [x, y] = operands('cosineSimilarity', a, b, 'bool')
    checkFloating('cosineSimilarity', x.dtype)
    const unit = (v: Tensor) => {
      const whole = broadcastTo(v, shape)
      return div(whole, clamp(norm(whole, { axis: place, keepDims: true }), { min: eps }))
    }
    return sum(mul(unit(x), unit(y)), { axis: place })
  })
}
