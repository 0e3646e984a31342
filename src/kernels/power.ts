// Powers.
import { exponential } from "./exponential";
import { logarithm } from "./logarithm";

/** a^b as JavaScript defines it, within 1 ulp; of float32 within 0.501 ulp. */
@inline
export function power<T>(a: T, b: T): T {
  return sizeof<T>() == 4 ? (powerOfSingles(a as f32, b as f32) as T) : (NativeMath.pow(a as f64, b as f64) as T);
}

/** ±e^(b log |a|) in doubles: at most 104 in the exponent leave 44 correct bits. */
function powerOfSingles(a: f32, b: f32): f32 {
  const size = abs<f32>(a);
  const negative = a < 0;
  const whole = nearest<f32>(b) == b;
  // Zeros, infinities, NaN, and roots of negative numbers.
  if (!(size > 0 && size < Infinity && abs<f32>(b) < Infinity) || (negative && !whole)) {
    return NativeMath.pow(a, b) as f32;
  }
  const exponent = f64x2.mul(f64x2.splat(b), logarithm<f64>(f64x2.splat(size)));
  const result = f64x2.extract_lane(exponential<f64>(exponent), 0) as f32;
  const half = b * 0.5;
  return negative && nearest<f32>(half) != half ? -result : result;
}
