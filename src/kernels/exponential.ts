// The exponential function and its kin, from e^x = 2^n · e^r with n an integer and |r| <= ln 2 / 2.
import { multiplyAdd } from "./simd";
import { addBits, entry, polynomial, shiftLeft, shiftRight, signBit, significandBits, subtractBits } from "./vector";

const LOG2E = 0;
const LN2_HIGH = 1; // -ln 2 with so few bits that its product with n is exact
const LN2_LOW = 2;
const ONE = 3;
const HALF = 4;
const LARGEST = 5; // e^x is infinite here already
const SMALLEST = 6; // e^x rounds to 0
const SMALLEST_MINUS_ONE = 7; // e^x - 1 rounds to -1
const FROM_PLUS_100 = 8; // 2^-100
const REFLECTED_EXPONENT = 9; // 2^bias: subtracting the bits of 2^m from its bits gives those of 2^-m
// Adding 1.5 · 2^(significand bits) rounds to an integer, which then stands in the low bits of the sum. What these have
// besides turns n into a biased exponent: of 2^(n-1), of 2^n, and of 2^(n+100).
const ROUND_LESS_ONE = 10;
const ROUND = 11;
const ROUND_PLUS_100 = 12;
const ORDINARY = 13; // e^x is a normal number for |x| up to this, just below -ln of the smallest one
const LEAST_ORDINARY = 14;

const SINGLE = memory.data<f32>([
  1.4426950408889634, -0.693145751953125, -1.428606765330187e-6, 1, 0.5, 89, -104, -18, 7.888609052210118e-31,
  1.7014118346046923e38, 12583038, 12583039, 12583139, 87.33654022216797,
  -87.33654022216797,
]);
const DOUBLE = memory.data<f64>([
  1.4426950408889634, -0.693147180559663, -2.8235290563031577e-13, 1, 0.5, 710, -746, -40, 7.888609052210118e-31,
  8.98846567431158e307, 6755399441056766, 6755399441056767, 6755399441056867, 708.396418532264,
  -708.396418532264,
]);

const MAGNITUDE = memory.data<i32>([i32.MAX_VALUE]); // all bits but the sign

// (e^r - 1 - r) / r² for |r| <= ln 2 / 2, minimax (Remez). Error relative to e^r: 2^-27.8 and 2^-56.5.
const REMAINDER_SINGLE = memory.data<f32>([
  0.4999999403953552, 0.1666651964187622, 0.04166839271783829, 0.008368780836462975, 0.0013814467238262296,
]);
const REMAINDER_DOUBLE = memory.data<f64>([
  0.5000000000000011, 0.1666666666666641, 0.04166666666652919, 0.008333333333495629, 0.0013888888943922705,
  0.00019841269504755537, 2.4801492762718987e-5, 2.7557587351369977e-6, 2.7630378649616514e-7, 2.499996234535356e-8,
]);

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** x / ln 2 rounded to an integer, in the low bits; `how` is one of the ROUND constants. */
@inline
function round<T>(x: v128, how: i32): v128 {
  return multiplyAdd<T>(x, scalar<T>(LOG2E), scalar<T>(how));
}

/** The remainder r = x - n ln 2 of a rounding. */
@inline
function reduce<T>(x: v128, rounded: v128, how: i32): v128 {
  const n = v128.sub<T>(rounded, scalar<T>(how));
  return multiplyAdd<T>(n, scalar<T>(LN2_LOW), multiplyAdd<T>(n, scalar<T>(LN2_HIGH), x));
}

/** e^r - 1 for |r| <= ln 2 / 2. */
@inline
function reducedMinusOne<T>(r: v128): v128 {
  const r2 = v128.mul<T>(r, r);
  const degree = sizeof<T>() == 4 ? 4 : 9;
  return multiplyAdd<T>(r2, polynomial<T>(r, r2, REMAINDER_SINGLE, REMAINDER_DOUBLE, degree), r);
}

/** The power of two whose biased exponent stands in the low bits. */
@inline
function powerOfTwo<T>(exponent: v128): v128 {
  return shiftLeft<T>(exponent, significandBits<T>());
}

/** e^x in each lane: exactly 0 at -∞, subnormal results rounded once, NaN for NaN. Error up to 1.04 ulp. */
@inline
export function exponential<T>(x: v128): v128 {
  // pmin and pmax return their first argument if it is NaN.
  x = v128.pmax<T>(v128.pmin<T>(x, scalar<T>(LARGEST)), scalar<T>(SMALLEST));
  const rounded = round<T>(x, ROUND);
  const significand = v128.add<T>(reducedMinusOne<T>(reduce<T>(x, rounded, ROUND)), scalar<T>(ONE));
  // A single factor 2^n could neither reach the subnormal numbers nor 2^(bias + 1), so there are two halves.
  const twiceBiased = addBits<T>(rounded, sizeof<T>() == 4 ? i32x4.splat(127) : i64x2.splat(1023));
  const half = shiftRight<T>(twiceBiased, 1);
  const scaled = v128.mul<T>(significand, powerOfTwo<T>(half));
  return v128.mul<T>(scaled, powerOfTwo<T>(subtractBits<T>(twiceBiased, half)));
}

/** Whether e^x is a normal number for each of sixteen floats and for each of their negatives: not so for NaN. */
@inline
export function areOrdinary(a: v128, b: v128, c: v128, d: v128): bool {
  // The bits of positive floats are ordered like the floats, and those of NaN are the largest.
  const mask = v128.load32_splat(MAGNITUDE);
  const first = i32x4.max_s(v128.and(a, mask), v128.and(b, mask));
  const second = i32x4.max_s(v128.and(c, mask), v128.and(d, mask));
  return i32x4.bitmask(i32x4.gt_s(i32x4.max_s(first, second), scalar<f32>(ORDINARY))) == 0;
}

/** e^x where it and its reciprocal are normal numbers, to the bit what `exponential` gives; NaN for NaN. */
@inline
export function ordinaryExponential<T>(x: v128): v128 {
  const rounded = round<T>(x, ROUND);
  const significand = v128.add<T>(reducedMinusOne<T>(reduce<T>(x, rounded, ROUND)), scalar<T>(ONE));
  return v128.mul<T>(significand, powerOfTwo<T>(rounded));
}

/** Where e^x is below the normal numbers. */
@inline
export function isBelowOrdinary<T>(x: v128): v128 {
  return v128.lt<T>(x, scalar<T>(LEAST_ORDINARY));
}

/**
 * e^x for x <= 0, but 0 where it is below the normal numbers; NaN for NaN. Most of these are masked places, and
 * arithmetic with subnormal numbers is many times slower.
 */
@inline
export function flushedExponential<T>(x: v128): v128 {
  return v128.andnot(ordinaryExponential<T>(v128.pmax<T>(x, scalar<T>(LEAST_ORDINARY))), isBelowOrdinary<T>(x));
}

/**
 * 2^100 e^x for x between -154 (f32) or -775 (f64) and 0. A product with it that is multiplied with `unscale` at the
 * very end is rounded once, even if it is subnormal.
 */
@inline
export function scaledExponential<T>(x: v128): v128 {
  const rounded = round<T>(x, ROUND_PLUS_100);
  const minusOne = reducedMinusOne<T>(reduce<T>(x, rounded, ROUND_PLUS_100));
  return v128.mul<T>(v128.add<T>(minusOne, scalar<T>(ONE)), powerOfTwo<T>(rounded));
}

/** factor · 2^100 e^(x + low), where `low` is what a rounding of x has lost. */
@inline
export function timesScaledExponential<T>(factor: v128, x: v128, low: v128): v128 {
  const rounded = round<T>(v128.add<T>(x, low), ROUND_PLUS_100);
  const minusOne = reducedMinusOne<T>(v128.add<T>(reduce<T>(x, rounded, ROUND_PLUS_100), low));
  return v128.mul<T>(multiplyAdd<T>(factor, minusOne, factor), powerOfTwo<T>(rounded));
}

/** Takes the factor 2^100 back. */
@inline
export function unscale<T>(x: v128): v128 {
  return v128.mul<T>(x, scalar<T>(FROM_PLUS_100));
}

/** e^x for x <= 0, cheaper than `exponential`. */
@inline
export function exponentialOfNegative<T>(x: v128): v128 {
  x = v128.pmax<T>(x, scalar<T>(SMALLEST));
  return unscale<T>(scaledExponential<T>(x));
}

/** e^x - 1 in each lane, without cancellation. */
@inline
export function exponentialMinusOne<T>(x: v128): v128 {
  const bounded = v128.pmax<T>(v128.pmin<T>(x, scalar<T>(LARGEST)), scalar<T>(SMALLEST_MINUS_ONE));
  const rounded = round<T>(bounded, ROUND_LESS_ONE);
  const minusOne = reducedMinusOne<T>(reduce<T>(bounded, rounded, ROUND_LESS_ONE));
  // 2^n (e^r - 1 + (1 - 2^-n)), as twice 2^(n-1) because 2^n may overflow where the product does not.
  const power = powerOfTwo<T>(rounded);
  const inverse = subtractBits<T>(scalar<T>(REFLECTED_EXPONENT), power);
  const one = scalar<T>(ONE);
  const sum = v128.add<T>(minusOne, v128.sub<T>(one, v128.mul<T>(inverse, scalar<T>(HALF))));
  // The result has the sign of x; of zeros only the sign is left.
  return v128.or(v128.mul<T>(v128.add<T>(sum, sum), power), signBit<T>(x));
}
