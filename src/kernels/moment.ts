// First and second moments of rows of contiguous values, in double precision.
import { multiplyAdd } from "./simd";
import { rowDistances } from "./sums";

/** The sum of the distances of a row's values from a mean, or of their squares, without rounding it to T. */
export function rowMoment<T>(squared: bool, x: usize, count: i32, from: f64): f64 {
  if (sizeof<T>() == 8) return rowDistances(squared, x, count, from);
  const origin = f64x2.splat(from);
  let a = i64x2(0, 0);
  let b = a;
  let c = a;
  let d = a;
  for (; count >= 8; count -= 8, x += 32) {
    a = addPower(squared, a, distances(x, origin));
    b = addPower(squared, b, distances(x + 8, origin));
    c = addPower(squared, c, distances(x + 16, origin));
    d = addPower(squared, d, distances(x + 24, origin));
  }
  a = f64x2.add(f64x2.add(a, b), f64x2.add(c, d));
  let sum = f64x2.extract_lane(a, 0) + f64x2.extract_lane(a, 1);
  for (; count > 0; count--, x += 4) {
    const distance = <f64>load<f32>(x) - from;
    sum += squared ? distance * distance : distance;
  }
  return sum;
}

/** Two floats' distances from the origin, in double precision. */
@inline
function distances(x: usize, origin: v128): v128 {
  return f64x2.sub(f64x2.promote_low_f32x4(v128.load64_zero(x)), origin);
}

@inline
function addPower(squared: bool, sum: v128, value: v128): v128 {
  return squared ? multiplyAdd<f64>(value, value, sum) : f64x2.add(sum, value);
}
