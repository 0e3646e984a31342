// Activation functions of neural networks beside relu, gelu, sigmoid and tanh (in unary.ts).

import { checkFloating } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { add, annihilate, mul, scale, sub } from './arithmetic.js'
import { gt } from './comparison.js'
import { backwardPass, unary } from './elementwise.js'
import { type ClampOptions, clamp } from './rounding.js'
import { where } from './select.js'
import { expm1, neg, sigmoid, throughCurvature } from './unary.js'

/** σ(x)σ(−x), the derivative of the sigmoid, with all digits where it is small. */
function sigmoidSlope(x: Tensor): Tensor {
  return mul(sigmoid(x), sigmoid(neg(x)))
}

/** `g · (σ(x) + xσ(x)σ(−x))`. Derivative towards x: g · σ(x)σ(−x) (2 + x(1 − 2σ(x))). */
const siluBackward = backwardPass(
  'siluBackward',
  throughCurvature((x) => annihilate(sigmoidSlope(x), add(mul(x, sub(1, scale(sigmoid(x), 2))), 2))),
)

/**
 * `x · σ(x)`, also called swish, σ the sigmoid. Derivative: σ(x)(1 + x σ(−x)).
 *
 * Source: Elfwing et al., "Sigmoid-Weighted Linear Units", arXiv 1702.03118.
 */
export const silu: (x: Tensor) => Tensor = unary('silu', [[0], (g, call) => siluBackward(g, call.input(0))])

/** `g · σ(x)`. Derivative towards x: g · σ(x)σ(−x). */
const softplusBackward = backwardPass('softplusBackward', throughCurvature(sigmoidSlope))

/** `log(1 + eˣ)`, without overflow and with all digits where eˣ is small. Derivative: σ(x), the sigmoid. */
export const softplus: (x: Tensor) => Tensor = unary('softplus', [[0], (g, call) => softplusBackward(g, call.input(0))])

/** `log σ(x) = −softplus(−x)`, σ the sigmoid. Derivative: σ(−x). Floating dtypes. */
export function logSigmoid(x: Tensor): Tensor {
  checkTensor('logSigmoid', x)
  checkFloating('logSigmoid', x.dtype)
  return composite(() => neg(softplus(neg(x))))
}

/**
 * x where it is positive, else `negativeSlope · x` (0.01 by default). Derivative: 1 where x > 0, else the slope.
 *
 * @throws ArgumentError unless the slope is a number; DTypeError unless x is floating
 */
export function leakyRelu(x: Tensor, options: { readonly negativeSlope?: number } = {}): Tensor {
  checkOptions('leakyRelu', options, ['negativeSlope'])
  const { negativeSlope = 0.01 } = options
  checkActivation('leakyRelu', x, 'negativeSlope', negativeSlope)
  return composite(() => where(gt(x, 0), x, scale(x, negativeSlope)))
}

/**
 * x where it is positive, else `alpha · (eˣ − 1)` (alpha 1 by default). Derivative: 1 where x > 0, else alpha · eˣ.
 *
 * Source: Clevert et al., "Exponential Linear Units", arXiv 1511.07289.
 *
 * @throws ArgumentError unless alpha is a number; DTypeError unless x is floating
 */
export function elu(x: Tensor, options: { readonly alpha?: number } = {}): Tensor {
  checkOptions('elu', options, ['alpha'])
  const { alpha = 1 } = options
  checkActivation('elu', x, 'alpha', alpha)
  return composite(() => {
    const positive = gt(x, 0)
    // expm1 of a large x would overflow, though nobody reads it.
    return where(positive, x, scale(expm1(where(positive, 0, x)), alpha))
  })
}

/** `clamp(x, { min, max })`, by default between −1 and 1. Derivative: 1 within the bounds and at them, else 0. */
export function hardtanh(x: Tensor, options: ClampOptions = {}): Tensor {
  checkOptions('hardtanh', options, ['min', 'max'])
  const { min = -1, max = 1 } = options
  checkActivation('hardtanh', x, 'min', min)
  checkActivation('hardtanh', x, 'max', max)
  return clamp(x, { min, max })
}

function checkActivation(op: string, x: Tensor, name: string, value: unknown): void {
  checkTensor(op, x)
  checkFloating(op, x.dtype)
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new ArgumentError(`${op}: ${name} must be a number, got ${String(value)}`)
  }
}
