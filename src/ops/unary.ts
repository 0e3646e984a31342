// Elementwise functions of one tensor. Each derivative stands beside its function: x is the input, y the output, and
// `annihilate(g, d)` is g · d with 0 where g is 0.

import { ArgumentError } from '../core/errors.js'
import { OUTPUT } from '../core/node.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { zerosView } from './arguments.js'
import { add, annihilate, annihilateBoth, mul, scale, sub } from './arithmetic.js'
import { backwardPass, type TableEntry, unary } from './elementwise.js'

type Function1 = (x: Tensor) => Tensor

/** `−x`. Derivative: −1. */
export const neg: Function1 = unary('neg', [[], (g) => neg(g)], true)

/** `|x|`. Derivative: the sign of x, 0 at 0. */
export const abs: Function1 = unary('abs', [[0], (g, call) => annihilate(g, sign(call.input(0)))], true)

/** −1, 0 or 1 as x is negative, zero or positive; NaN stays. Derivative: 0. */
export const sign: Function1 = unary('sign', [[], (g) => zerosView(g)], true)

/** `eˣ`. Derivative: y. */
export const exp: Function1 = unary('exp', [[OUTPUT], (g, call) => annihilate(g, call.output)])

/** `eˣ − 1`, exact to the last digits near 0. Derivative: eˣ = y + 1. */
export const expm1: Function1 = unary('expm1', [[0], (g, call) => annihilate(g, exp(call.input(0)))])

/** The natural logarithm; −∞ at 0, NaN below. Derivative: 1/x. */
export const log: Function1 = unary('log', [[0], (g, call) => annihilate(g, reciprocal(call.input(0)))])

/** `log(1 + x)`, exact to the last digits near 0; −∞ at −1, NaN below. Derivative: 1/(1 + x). */
export const log1p: Function1 = unary('log1p', [[0], (g, call) => annihilate(g, reciprocal(add(call.input(0), 1)))])

/** `√x`; NaN below 0. Derivative: 1/(2y), ∞ at 0. */
export const sqrt: Function1 = unary('sqrt', [
  [OUTPUT],
  (g, call) => annihilate(g, scale(reciprocal(call.output), 0.5)),
])

/** `1/√x`; ∞ at 0, NaN below. Derivative: −½y³, that is −1/(2x√x). */
export const rsqrt: Function1 = unary('rsqrt', [
  [OUTPUT],
  (g, call) => annihilate(g, scale(mul(square(call.output), call.output), -0.5)),
])

/** `x²`. Derivative: 2x. */
export const square: Function1 = unary('square', [[0], (g, call) => annihilate(g, scale(call.input(0), 2))])

/** `1/x`. Derivative: −y². */
export const reciprocal: Function1 = unary('reciprocal', [
  [OUTPUT],
  (g, call) => annihilate(g, neg(square(call.output))),
])

/** `g · (1 − y²)`. Derivative towards y: −2gy. */
const tanhBackward = backwardPass('tanhBackward', [
  [0, 1],
  (h, call) => annihilateBoth(h, scale(annihilate(call.input(0), call.input(1)), -2)),
])

/** The hyperbolic tangent. Derivative: 1 − y². */
export const tanh: Function1 = unary('tanh', [[OUTPUT], (g, call) => tanhBackward(g, call.output)])

/** `g · y · (1 − y)`. Derivative towards y: g(1 − 2y). */
const sigmoidBackward = backwardPass('sigmoidBackward', [
  [0, 1],
  (h, call) => annihilateBoth(h, annihilate(call.input(0), sub(1, scale(call.input(1), 2)))),
])

/** `1/(1 + e⁻ˣ)`. Derivative: y(1 − y). */
export const sigmoid: Function1 = unary('sigmoid', [[OUTPUT], (g, call) => sigmoidBackward(g, call.output)])

/** `g` where x > 0, else 0. Derivative towards x: 0. */
const reluBackward = backwardPass('reluBackward', [[], (h) => zerosView(h)])

/** `max(x, 0)`. Derivative: 1 where x > 0, else 0 (also at 0). */
export const relu: Function1 = unary('relu', [[0], (g, call) => reluBackward(g, call.input(0))])

/** A rule towards x of a backward pass `g · f′(x)`: `h · g · f″(x)`, where f″ vanishes faster than it is multiplied. */
export function throughCurvature(curvature: Function1): TableEntry {
  return [[0, 1], (h, call) => annihilate(annihilateBoth(h, call.input(0)), curvature(call.input(1)))]
}

/** `g · 2/√π e^(−x²)`. Derivative towards x: g · −4x/√π e^(−x²). */
const erfBackward = backwardPass(
  'erfBackward',
  throughCurvature((x) => annihilate(exp(neg(square(x))), scale(x, -4 / Math.sqrt(Math.PI)))),
)

/** The error function, 2/√π ∫₀ˣ e^(−t²) dt. Derivative: 2/√π e^(−x²). */
export const erf: Function1 = unary('erf', [[0], (g, call) => erfBackward(g, call.input(0))])

/** `g · (Φ(x) + x φ(x))`, Φ and φ as in gelu. Derivative towards x: g · (2 − x²)φ(x). */
const geluBackward = backwardPass(
  'geluBackward',
  throughCurvature((x) => {
    const squared = square(x)
    return annihilate(scale(exp(scale(squared, -0.5)), 1 / Math.sqrt(2 * Math.PI)), sub(2, squared))
  }),
)

const geluExact = unary('gelu', [[0], (g, call) => geluBackward(g, call.input(0))])

/**
 * `g · (σ(z) + x z′ σ′(z))` with z = 2√(2/π)(x + 0.044715x³). Derivative towards x:
 * g · σ′(z) (2z′ + x z″ + x z′² (1 − 2σ(z))).
 */
const geluTanhBackward = backwardPass(
  'geluTanhBackward',
  throughCurvature((x) => {
    const [linear, cubic] = [2 * Math.sqrt(2 / Math.PI), 0.044715]
    const squared = square(x)
    const inner = scale(add(scale(squared, cubic), 1), linear)
    const z = mul(x, inner)
    const value = sigmoid(z)
    const first = scale(add(scale(squared, 3 * cubic), 1), linear)
    const bent = mul(mul(x, square(first)), sub(1, scale(value, 2)))
    const factor = add(add(scale(first, 2), scale(squared, 6 * cubic * linear)), bent)
    return annihilate(mul(value, sigmoid(neg(z))), factor)
  }),
)

const geluTanh = unary('geluTanh', [[0], (g, call) => geluTanhBackward(g, call.input(0))])

/**
 * The Gaussian error linear unit `x · Φ(x)`, Φ the normal distribution function; with `approximate: 'tanh'`
 * ½x(1 + tanh(√(2/π)(x + 0.044715x³))). Derivative: Φ(x) + x φ(x), φ the density.
 *
 * In float32 the tail of negative x is less exact than the rest, for the sake of speed: relative to the value, the error
 * is that of 9 units in the last place at 0, 7e-6 at −4 and 2e-5 at −5.5; beyond, the error is below 1e-11. The form by
 * tanh has the error of its exponent, √(8/π)|x + 0.044715x³| roundings.
 *
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415.
 */
export function gelu(x: Tensor, options: { readonly approximate?: 'none' | 'tanh' } = {}): Tensor {
  checkOptions('gelu', options, ['approximate'])
  const { approximate = 'none' } = options
  if (approximate === 'none') return geluExact(x)
  if (approximate === 'tanh') return geluTanh(x)
  throw new ArgumentError(`gelu: approximate must be 'none' or 'tanh', got ${String(approximate)}`)
}
