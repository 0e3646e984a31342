// Vector helpers that mean the same for f32 and f64 lanes: constants, polynomials, bits, incomplete vectors.
import { lanes, multiplyAdd } from "./simd";

/**
 * The constant at `index` of the table for type T, in every lane. Kernels read their constants from memory because a
 * broadcast load is one instruction, while current V8 builds an immediate vector anew, in three, in every iteration.
 */
@inline
export function entry<T>(single: usize, double: usize, index: i32): v128 {
  return sizeof<T>() == 4 ? v128.load32_splat(single + index * 4) : v128.load64_splat(double + index * 8);
}

/** c[0] + c[1] x + ... + c[degree] x^degree by Horner's rule. */
@inline
export function horner<T>(x: v128, single: usize, double: usize, degree: i32): v128 {
  return chain<T>(x, single, double, degree, 1);
}

/** The same for degree >= 2, faster and less exact: even and odd powers run side by side. x2 is x². */
@inline
export function polynomial<T>(x: v128, x2: v128, single: usize, double: usize, degree: i32): v128 {
  const odd = chain<T>(x2, single, double, (degree - 1) | 1, 2);
  return multiplyAdd<T>(x, odd, chain<T>(x2, single, double, degree & ~1, 2));
}

/** c[last % step] + c[last % step + step] x + ..., unrolled at compile time. */
@inline
function chain<T>(x: v128, single: usize, double: usize, last: i32, step: i32): v128 {
  let sum = entry<T>(single, double, last);
  if (last >= step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - step));
  if (last >= 2 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 2 * step));
  if (last >= 3 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 3 * step));
  if (last >= 4 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 4 * step));
  if (last >= 5 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 5 * step));
  if (last >= 6 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 6 * step));
  if (last >= 7 * step) sum = multiplyAdd<T>(sum, x, entry<T>(single, double, last - 7 * step));
  return sum;
}

/** Number of explicit bits of the significand. */
@inline
export function significandBits<T>(): i32 {
  return sizeof<T>() == 4 ? 23 : 52;
}

@inline
export function shiftLeft<T>(x: v128, bits: i32): v128 {
  return sizeof<T>() == 4 ? i32x4.shl(x, bits) : i64x2.shl(x, bits);
}

/** Logical shift: zeros enter from the left. */
@inline
export function shiftRight<T>(x: v128, bits: i32): v128 {
  return sizeof<T>() == 4 ? i32x4.shr_u(x, bits) : i64x2.shr_u(x, bits);
}

@inline
export function addBits<T>(a: v128, b: v128): v128 {
  return sizeof<T>() == 4 ? i32x4.add(a, b) : i64x2.add(a, b);
}

@inline
export function subtractBits<T>(a: v128, b: v128): v128 {
  return sizeof<T>() == 4 ? i32x4.sub(a, b) : i64x2.sub(a, b);
}

/** The sign bit of each lane, all other bits zero. */
@inline
export function signBit<T>(x: v128): v128 {
  return v128.xor(x, v128.abs<T>(x));
}

/** x cut off after half of its significant bits, so that the product of two such numbers is exact. */
@inline
export function leadingHalf<T>(x: v128): v128 {
  const bits = sizeof<T>() == 4 ? 12 : 27;
  return shiftLeft<T>(shiftRight<T>(x, bits), bits);
}

/** x where it is positive, NaN or zero, else -0: the neutral element, to which a negative part may be added. */
@inline
export function negativePartDropped<T>(x: v128): v128 {
  return v128.pmax<T>(x, sizeof<T>() == 4 ? i32x4.splat(i32.MIN_VALUE) : i64x2.splat(i64.MIN_VALUE));
}
