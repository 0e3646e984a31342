// Angles, in radians.
import { checkFloating } from '../core/dtype.js'
import { composite } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor, type Operand } from './arguments.js'
import { add, annihilate, div, maximum, mul } from './arithmetic.js'
import { eq } from './comparison.js'
import { detach } from './copy.js'
import { binary, unary } from './elementwise.js'
import { where } from './select.js'
import { abs, neg, square } from './unary.js'

/** The sine. Derivative: cos x. Floating dtypes. */
export const sin: (x: Tensor) => Tensor = unary('sin', [[0], (g, call) => annihilate(g, cos(call.input(0)))])

/** The cosine. Derivative: −sin x. Floating dtypes. */
export const cos: (x: Tensor) => Tensor = unary('cos', [[0], (g, call) => annihilate(g, neg(sin(call.input(0))))])

/** The tangent, `sin x / cos x`. Derivative: 1/cos² x. Floating dtypes. */
export function tan(x: Tensor): Tensor {
  checkTensor('tan', x)
  checkFloating('tan', x.dtype)
  return composite(() => div(sin(x), cos(x)))
}

/**
 * The angle of the point (x, y), from −π to π. Derivatives: x/(x² + y²) towards y and −y/(x² + y²) towards x, 0 at the
 * origin. Broadcasts; promotes; whole numbers count as float32.
 */
export const atan2: (y: Operand, x: Operand) => Tensor = binary(
  'atan2',
  'atan2',
  [
    [[0, 1], (g, call) => annihilate(g, overSquaredRadius(call.input(1), call.input(0), call.input(1)))],
    [[0, 1], (g, call) => annihilate(g, neg(overSquaredRadius(call.input(0), call.input(0), call.input(1))))],
  ],
  { atLeast: 'float32' },
)

/** `a / (x² + y²)`, 0 at the origin. Scaled by the larger coordinate, so that no square overflows or vanishes. */
function overSquaredRadius(a: Tensor, y: Tensor, x: Tensor): Tensor {
  const larger = detach(maximum(abs(x), abs(y)))
  const origin = eq(larger, 0)
  const unit = where(origin, 1, larger)
  const squared = add(square(div(x, unit)), square(div(y, unit)))
  return where(origin, 0, div(div(a, unit), mul(squared, unit)))
}
