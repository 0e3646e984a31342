// What every kernel shares: lane counts, and multiply-add as the build allows it.

/** Number of values of type T in one 128-bit vector. */
@inline
export function lanes<T>(): i32 {
  return 16 / sizeof<T>();
}

/** a * b + c in each lane: one rounding in the fused build, two in the plain one. */
@inline
export function multiplyAdd<T>(a: v128, b: v128, c: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return v128.relaxed_madd<T>(a, b, c);
  return v128.add<T>(v128.mul<T>(a, b), c);
}

// (1 + ε)(1 - ε) - 1 is -ε² if it is rounded once, else 0.
const factors = memory.data<f32>([1.0000001192092896, 0.9999998807907104, -1]);

/** Whether `multiplyAdd` rounds once, as the engine and the machine at hand carry it out. */
export const fused: bool = f32x4.extract_lane(
  multiplyAdd<f32>(v128.load32_splat(factors), v128.load32_splat(factors, 4), v128.load32_splat(factors, 8)), 0,
) != 0;
