// Wrong derivatives of elementwise functions.
import type { Tensor } from '../../../src/index.js'
import * as w from '../../../src/index.js'
import { at, type Mistakes, operand, other, slope, square, summedTo, swapped, towards, x, y } from './kit.js'

type Pair = (...inputs: Tensor[]) => Tensor

export const elementwise: Mistakes = {
  abs: [['the sign of x forgotten', ({ g }) => g]],
  exp: [['x saved instead of y', slope(x)]],
  expm1: [['y instead of y + 1', slope(y)]],
  log: [['y saved instead of x', slope((call) => w.reciprocal(y(call)))]],
  log1p: [['1/x instead of 1/(1 + x)', slope((call) => w.reciprocal(x(call)))]],
  sqrt: [
    ['1/y instead of 1/(2y)', slope((call) => w.reciprocal(y(call)))],
    ['1/(2x) instead of 1/(2y)', slope((call) => w.scale(w.reciprocal(x(call)), 0.5))],
  ],
  rsqrt: [['y² instead of y³', slope((call) => w.scale(w.square(y(call)), -0.5))]],
  square: [['x instead of 2x', slope(x)]],
  reciprocal: [
    ['y² instead of −y²', slope((call) => w.square(y(call)))],
    ['−y instead of −y²', slope((call) => w.neg(y(call)))],
  ],
  sin: [['sin instead of cos', slope(y)]],
  cos: [['sin instead of −sin', slope((call) => w.sin(x(call)))]],
  tanh: [
    ['1 − y instead of 1 − y²', slope((call) => w.sub(1, y(call)))],
    ['x saved instead of y', slope((call) => w.sub(1, w.square(x(call))))],
  ],
  sigmoid: [
    ['y instead of y(1 − y)', slope(y)],
    ['y(1 + y) instead of y(1 − y)', slope((call) => w.mul(y(call), w.add(1, y(call))))],
  ],
  relu: [
    ['no mask', ({ g }) => g],
    ['the mask inverted', slope((call) => w.le(x(call), 0).to('float64'))],
  ],
  gelu: [['x φ(x) dropped', slope((call) => w.scale(w.add(1, w.erf(w.scale(x(call), Math.SQRT1_2))), 0.5))]],
  silu: [['σ(x) alone', slope((call) => w.sigmoid(x(call)))]],
  softplus: [['σ(−x) instead of σ(x)', slope((call) => w.sigmoid(w.neg(x(call))))]],
  erf: [
    ['2/√π forgotten', slope((call) => w.exp(w.neg(w.square(x(call)))))],
    [
      'exp(−x²/2) instead of exp(−x²)',
      slope((call) => w.scale(w.exp(w.scale(w.square(x(call)), -0.5)), 2 / Math.sqrt(Math.PI))),
    ],
  ],
  clamp: [['no mask', ({ g }) => g]],
  scale: [['the factor forgotten', ({ g }) => g]],
  sub: [['b added', towards(1, ({ g, inputShape }) => summedTo(g, inputShape))]],
  mul: [['its own operand', slope(operand), at(w.mul as Pair, square, square)]],
  div: [
    ['a product instead of a quotient', towards(0, slope(other))],
    [
      'a/b instead of a/b²',
      towards(
        1,
        slope((call) => w.neg(y(call))),
      ),
    ],
    ['operands swapped', swapped, at(w.div as Pair, square, square)],
  ],
  pow: [
    [
      'the exponent forgotten',
      towards(
        0,
        slope(({ inputs: [a, b] }) => w.pow(a as Tensor, w.sub(b as Tensor, 1))),
      ),
    ],
    [
      'a^b instead of a^(b−1)',
      towards(
        0,
        slope((call) => w.mul(other(call), y(call))),
      ),
    ],
    ['the logarithm forgotten', towards(1, slope(y))],
    [
      'log b instead of log a',
      towards(
        1,
        slope((call) => w.mul(y(call), w.log(operand(call)))),
      ),
    ],
  ],
  atan2: [
    ['operands swapped', swapped, at(w.atan2 as Pair, square, square)],
    ['not divided by the squared radius', towards(0, slope(other))],
  ],
  maximum: [['to the smaller', slope((call) => w.lt(operand(call), other(call)).to('float64'))]],
  minimum: [['to both', ({ g, inputShape }) => summedTo(g, inputShape)]],
  logaddexp: [['operands swapped', swapped, at(w.logaddexp as Pair, square, square)]],
  where: [
    ['branches swapped', (call) => w.sub(summedTo(call.g, call.inputShape), call.right())],
    ['no mask', ({ g, inputShape }) => summedTo(g, inputShape)],
  ],
  maskedFill: [['passes through the mask', ({ g }) => g, { operation: 'where' }]],
}
