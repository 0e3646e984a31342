// The natural logarithm, after fdlibm (Sun Microsystems, e_log.c and s_log1p.c): x = 2^k (1 + f) with 1 + f between
// √½ and √2, and log(1 + f) = f - (f²/2 - s (f²/2 + R)) with s = f / (2 + f) and R a polynomial in s².
import { multiplyAdd } from "./simd";
import { addBits, entry, polynomial, shiftRight, signBit, significandBits, subtractBits } from "./vector";

const ONE = 0;
const HALF = 1;
const LN2_HIGH = 2; // so few bits that the product with k is exact
const LN2_LOW = 3;
const SQRT_HALF = 4;
const EXPONENT_MASK = 5; // has the bits of sign and exponent set
const INTEGER = 6; // 2^(significand bits), whose low bits count in ones
const BIASED_INTEGER = 7; // the same plus the exponent bias
const SMALLEST_NORMAL = 8;
const NEGATED_SMALLEST_NORMAL = 9;
const LARGEST_OFFSET = 10; // bits of the largest finite number minus those of NEGATED_SMALLEST_NORMAL
const SHIFT = 11; // makes subnormal numbers normal, as exponent
const POWER_OF_SHIFT = 12;

const SINGLE = memory.data<f32>([
  1, 0.5, 0.693145751953125, 1.428606765330187e-6, 0.7071067811865476, -Infinity, 8388608, 8388735,
  1.1754943508222875e-38, -1.1754943508222875e-38, -1.7014117331926443e38, 25, 33554432,
]);
const DOUBLE = memory.data<f64>([
  1, 0.5, 0.693147180559663, 2.8235290563031577e-13, 0.7071067811865476, -Infinity, 4503599627370496, 4503599627371519,
  2.2250738585072014e-308, -2.2250738585072014e-308, -8.988465674311579e307, 54, 18014398509481984,
]);

// R / s² in s², minimax (Remez). Error relative to the logarithm: 2^-30.1 and 2^-58.8.
const SERIES_SINGLE = memory.data<f32>([0.6666677594184875, 0.3997754454612732, 0.2987191081047058]);
const SERIES_DOUBLE = memory.data<f64>([
  0.6666666666666734, 0.39999999999413605, 0.2857142874271155, 0.22222198531602286, 0.18183566901897347,
  0.1531397448803848, 0.14796808385799406,
]);

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** Whether some lane is subnormal, zero, negative, infinite or NaN. */
@inline
function someSpecial<T>(x: v128): bool {
  // As integers the bits of the normal numbers are consecutive; this moves them to the lower end of the signed range.
  const offset = subtractBits<T>(x, scalar<T>(NEGATED_SMALLEST_NORMAL));
  const limit = scalar<T>(LARGEST_OFFSET);
  return v128.any_true(sizeof<T>() == 4 ? i32x4.gt_s(offset, limit) : i64x2.gt_s(offset, limit));
}

/** `bias` where x is positive and finite; elsewhere what makes the exponent, minus it, the logarithm: -∞, ∞ or NaN. */
function withLimits<T>(x: v128, bias: v128): v128 {
  const limit = v128.sub<T>(v128.div<T>(scalar<T>(ONE), v128.abs<T>(x)), v128.sqrt<T>(x));
  const infinity = v128.neg<T>(scalar<T>(EXPONENT_MASK));
  const ordinary = v128.and(v128.gt<T>(x, i64x2.splat(0)), v128.lt<T>(x, infinity));
  return v128.bitselect(bias, limit, ordinary);
}

/** log x + correction for normal x; the exponent k is what the bits say minus `bias`. */
@inline
function evaluate<T>(x: v128, bias: v128, correction: v128): v128 {
  const exponent = v128.and(subtractBits<T>(x, scalar<T>(SQRT_HALF)), scalar<T>(EXPONENT_MASK));
  const biased = shiftRight<T>(addBits<T>(exponent, scalar<T>(ONE)), significandBits<T>());
  const k = v128.sub<T>(v128.or(biased, scalar<T>(INTEGER)), bias);
  const f = v128.sub<T>(subtractBits<T>(x, exponent), scalar<T>(ONE));
  const s = v128.div<T>(f, v128.add<T>(f, v128.add<T>(scalar<T>(ONE), scalar<T>(ONE))));
  const z = v128.mul<T>(s, s);
  const degree = sizeof<T>() == 4 ? 2 : 6;
  const series = polynomial<T>(z, v128.mul<T>(z, z), SERIES_SINGLE, SERIES_DOUBLE, degree);
  const halfSquare = v128.mul<T>(v128.mul<T>(f, scalar<T>(HALF)), f);
  const low = multiplyAdd<T>(k, scalar<T>(LN2_LOW), correction);
  const inner = multiplyAdd<T>(s, multiplyAdd<T>(z, series, halfSquare), low);
  const fraction = v128.sub<T>(f, v128.sub<T>(halfSquare, inner));
  return multiplyAdd<T>(k, scalar<T>(LN2_HIGH), fraction);
}

/** log x in each lane: -∞ at 0, NaN below. */
@inline
export function logarithm<T>(x: v128): v128 {
  let bias = scalar<T>(BIASED_INTEGER);
  if (someSpecial<T>(x)) {
    const tiny = v128.lt<T>(x, scalar<T>(SMALLEST_NORMAL));
    bias = withLimits<T>(x, v128.add<T>(bias, v128.and(tiny, scalar<T>(SHIFT))));
    x = v128.bitselect(v128.mul<T>(x, scalar<T>(POWER_OF_SHIFT)), x, tiny);
  }
  return evaluate<T>(x, bias, i64x2.splat(0));
}

/** log(1 + x) in each lane, with full relative accuracy near 0. */
@inline
export function logarithmOnePlus<T>(x: v128): v128 {
  const one = scalar<T>(ONE);
  const sum = v128.add<T>(one, x);
  let bias = scalar<T>(BIASED_INTEGER);
  let correction = lostInSum<T>(x, sum);
  if (someSpecial<T>(sum)) {
    bias = withLimits<T>(sum, bias);
    correction = v128.and(correction, v128.eq<T>(bias, scalar<T>(BIASED_INTEGER)));
  }
  // The result has the sign of x; of zeros only the sign is left.
  return v128.or(evaluateCorrected<T>(sum, bias, correction), signBit<T>(x));
}

/** log(1 + x) for x between 0 and 1. */
@inline
export function logarithmOnePlusFraction<T>(x: v128): v128 {
  const sum = v128.add<T>(scalar<T>(ONE), x);
  return evaluateCorrected<T>(sum, scalar<T>(BIASED_INTEGER), lostInSum<T>(x, sum));
}

/** One function for those that need a correction, for the sake of size. */
function evaluateCorrected<T>(x: v128, bias: v128, correction: v128): v128 {
  return evaluate<T>(x, bias, correction);
}

/** What log(1 + x) loses by the rounding of sum = 1 + x, to first order. */
@inline
function lostInSum<T>(x: v128, sum: v128): v128 {
  return v128.div<T>(v128.sub<T>(x, v128.sub<T>(sum, scalar<T>(ONE))), sum);
}
