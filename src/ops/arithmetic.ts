// Elementwise functions of two operands. Each derivative stands beside its function.

import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, isFloating } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { OUTPUT } from '../core/node.js'
import { apply, type Operation } from '../core/operation.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { placeNumber } from '../memory/number.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor, type Operand } from './arguments.js'
import { eq, ge, logicalAnd, logicalOr, ne } from './comparison.js'
import { binary } from './elementwise.js'
import { mapPairs } from './pieces.js'
import { where } from './select.js'
import { log, neg, reciprocal, sqrt, square } from './unary.js'

/** `a + b`. Derivatives: 1 and 1. Broadcasts; promotes; `bool` operands count as int32. */
export const add: (a: Operand, b: Operand) => Tensor = binary(
  'add',
  'add',
  [
    [[], (g) => g],
    [[], (g) => g],
  ],
  { atLeast: 'int32' },
)

/** `a − b`. Derivatives: 1 and −1. Broadcasts; promotes; `bool` operands count as int32. */
export const sub: (a: Operand, b: Operand) => Tensor = binary(
  'sub',
  'sub',
  [
    [[], (g) => g],
    [[], (g) => neg(g)],
  ],
  { atLeast: 'int32' },
)

/** `a · b`. Derivatives: b and a. Broadcasts; promotes; `bool` operands count as int32. */
export const mul: (a: Operand, b: Operand) => Tensor = binary(
  'mul',
  'mul',
  [
    [[1], (g, call) => annihilate(g, call.input(1))],
    [[0], (g, call) => annihilate(g, call.input(0))],
  ],
  { atLeast: 'int32' },
)

/** `a / b`, true division: whole numbers divide as float32. Derivatives: 1/b and −a/b². Broadcasts; promotes. */
export const div: (a: Operand, b: Operand) => Tensor = binary(
  'div',
  'div',
  [
    [[1], (g, call) => annihilate(g, reciprocal(call.input(1)))],
    [[1, OUTPUT], (g, call) => annihilate(g, neg(div(call.output, call.input(1))))],
  ],
  { atLeast: 'float32' },
)

/**
 * The annihilating product `g ⊗ d`: 0 where g is exactly 0, whatever d (∞ and NaN included), else g · d. Elementwise
 * rules use it in place of `mul`, so that an output that nothing depends on passes nothing back. Its own derivative
 * towards g is `ḡ ⊗ d`, not masked by g, so that higher orders through a zero cotangent stay exact.
 */
export const annihilate: (g: Operand, d: Operand) => Tensor = binary(
  'annihilate',
  'annihilate',
  [
    [[1], (h, call) => annihilate(h, call.input(1))],
    [[0], (h, call) => annihilateBoth(h, call.input(0))],
  ],
  { floating: true },
)

/** The product of two cotangents, 0 where either is exactly 0: the derivative of `g ⊗ d` towards d is g, even beside ∞ or NaN. */
export const annihilateBoth: (h: Operand, g: Operand) => Tensor = binary(
  'annihilateBoth',
  'annihilateBoth',
  [
    [[1], (h, call) => annihilateBoth(h, call.input(1))],
    [[0], (h, call) => annihilateBoth(h, call.input(0))],
  ],
  { floating: true },
)

/**
 * The larger of a and b; NaN where either is. The cotangent goes to the operand that is the result, also where that is
 * NaN; where both are, each gets half of it. Broadcasts; promotes.
 */
export const maximum: (a: Operand, b: Operand) => Tensor = binary('maximum', 'maximum', [
  [[0, 1, OUTPUT], (g, call) => share(g, call.input(0), call.input(1), call.output)],
  [[0, 1, OUTPUT], (g, call) => share(g, call.input(1), call.input(0), call.output)],
])

/**
 * The smaller of a and b; NaN where either is. The cotangent goes to the operand that is the result, also where that is
 * NaN; where both are, each gets half of it. Broadcasts; promotes.
 */
export const minimum: (a: Operand, b: Operand) => Tensor = binary('minimum', 'minimum', [
  [[0, 1, OUTPUT], (g, call) => share(g, call.input(0), call.input(1), call.output)],
  [[0, 1, OUTPUT], (g, call) => share(g, call.input(1), call.input(0), call.output)],
])

/** The part of the cotangent of `y`, the larger or the smaller of both, that is due to `own`. */
function share(g: Tensor, own: Tensor, other: Tensor, y: Tensor): Tensor {
  return where(isAttained(own, y), where(isAttained(other, y), scale(g, 0.5), g), 0)
}

/** Whether an extreme is this value; NaN, where it is there, is the extreme. */
export function isAttained(x: Tensor, extreme: Tensor): Tensor {
  return logicalOr(eq(x, extreme), ne(x, x))
}

const power = binary(
  'pow',
  'pow',
  [
    // b · a^(b−1), and 0 for b = 0 whatever a.
    [
      [0, 1],
      (g, call) => {
        const [base, exponent] = [call.input(0), call.input(1)]
        return annihilate(g, where(eq(exponent, 0), 0, mul(exponent, power(base, sub(exponent, 1)))))
      },
    ],
    // a^b · log a, and 0 for a = 0, b ≥ 0, where a^b is constant (0, or 1 at b = 0).
    [
      [0, 1, OUTPUT],
      (g, call) => {
        const [base, exponent] = [call.input(0), call.input(1)]
        const constantThere = logicalAnd(eq(base, 0), ge(exponent, 0))
        return annihilate(g, where(constantThere, 0, mul(call.output, log(where(constantThere, 1, base)))))
      },
    ],
  ],
  { atLeast: 'float32', floating: true },
)

/**
 * `a` to the power `b`; 0⁰ = 1, a negative base takes whole exponents (else NaN); whole numbers count as float32.
 * Derivatives: b · a^(b−1) (0 at b = 0) and a^b · log a (0 at a = 0, b ≥ 0). Broadcasts; promotes.
 */
export function pow(a: Operand, b: Operand): Tensor {
  if (isTensor(a) && isFloating(a.dtype)) {
    if (b === 2) return square(a)
    if (b === 0.5) return sqrt(a)
    if (b === 1) return a
  }
  return power(a, b)
}

const mulKernel = new KernelFamily('mul')

const scaleOperation: Operation<number> = {
  name: 'scale',
  forward: (inputs, factor) => {
    const x = contiguous(inputs[0] as Tensor)
    const out = empty(x.dtype, x.shape)
    mapPairs(mulKernel, x, placeNumber(factor, x.dtype), out, 0)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (g, { attributes: factor }) => (Number.isFinite(factor) ? scale(g, factor) : annihilate(g, factor)),
    },
  ],
}

/**
 * `factor · x` for a fixed number. Derivative: factor.
 *
 * @throws ArgumentError unless factor is a number; DTypeError unless x is floating
 */
export function scale(x: Tensor, factor: number): Tensor {
  checkTensor('scale', x)
  if (typeof factor !== 'number')
    throw new ArgumentError(`scale: the factor must be a number, got ${typeof factor}; use mul for tensors`)
  checkFloating('scale', x.dtype)
  return apply(scaleOperation, [x], factor)
}
