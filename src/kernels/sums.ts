// Sums and variances down the columns of an array. Columns are given by the address of the first one's first value, the
// number of values in each, the distance in bytes from one value to the next, and the number of columns, at most one
// vector of them. A single column of adjacent values, a row in memory, is read a vector at a time.
import { addToFirst, addToSecond, promoteHigh, sums, total } from "./accumulator";
import { loadUpTo } from "./partial";
import { lanes } from "./simd";

// What a walk adds up: values; values without rounding, for a mean; squares of distances from the mean.
const SUM = 0;
const MEAN = 1;
const SQUARES = 2;

// The running sum (see accumulator.ts) that the last walk arrived at; of a row, the same in all lanes.
let first = i64x2(0, 0);
let second = i64x2(0, 0);

/** `mean` is in lanes of doubles; for float32, `meanHigh` is that of lanes 2 and 3. For sums of values both are 0. */
function walk<T>(what: i32, x: usize, count: i32, stride: usize, width: i32, mean: v128, meanHigh: v128): void {
  const row = width == 1 && stride == sizeof<T>();
  const filled = row ? lanes<T>() : width;
  const step: usize = row ? 16 : stride;
  let left = row ? count / lanes<T>() : count;
  let a = i64x2(0, 0);
  let b = a;
  if (filled == lanes<T>() && what == SUM) {
    // Four vectors share one entry into the running sum, which costs more than they do: two roundings for each value.
    for (; left >= 4; left -= 4, x += 4 * step) {
      const lower = v128.add<T>(v128.load(x), v128.load(x + step));
      const upper = v128.add<T>(v128.load(x + 2 * step), v128.load(x + 3 * step));
      const value = v128.add<T>(lower, upper);
      b = addToSecond<T>(b, a, value);
      a = addToFirst<T>(a, value);
    }
  }
  for (; left > 0; left--, x += step) {
    const value = loadUpTo<T>(x, filled, i64x2(0, 0));
    if (sizeof<T>() == 4) {
      let low = f64x2.sub(f64x2.promote_low_f32x4(value), mean);
      let high = f64x2.sub(promoteHigh(value), meanHigh);
      if (what == SQUARES) {
        low = f64x2.mul(low, low);
        high = f64x2.mul(high, high);
      }
      a = f64x2.add(a, low);
      b = f64x2.add(b, high);
    } else {
      let summand = f64x2.sub(value, mean);
      if (what == SQUARES) summand = f64x2.mul(summand, summand);
      b = addToSecond<T>(b, a, summand);
      a = addToFirst<T>(a, summand);
    }
  }
  if (row) {
    for (let rest = count % lanes<T>(); rest > 0; rest--, x += sizeof<T>()) {
      const distance = <f64>load<T>(x) - f64x2.extract_lane(mean, 0);
      const summand = f64x2.replace_lane(i64x2(0, 0), 0, what == SQUARES ? distance * distance : distance);
      if (sizeof<T>() == 8) b = addToSecond<T>(b, a, summand);
      a = f64x2.add(a, summand);
    }
    a = f64x2.splat(total<T>(a, b));
    b = sizeof<T>() == 4 ? a : i64x2(0, 0);
  }
  first = a;
  second = b;
}

/** The sum of the distances of a row's values from a mean, or of their squares. */
export function rowDistances(squared: bool, x: usize, count: i32, from: f64): f64 {
  const means = f64x2.splat(from);
  walk<f64>(squared ? SQUARES : MEAN, x, count, 8, 1, means, means);
  return f64x2.extract_lane(first, 0);
}

export function columnSums<T>(x: usize, count: i32, stride: usize, width: i32): v128 {
  walk<T>(SUM, x, count, stride, width, i64x2(0, 0), i64x2(0, 0));
  return sums<T>(first, second);
}

/** The sums of the squared distances from the mean, over `divisor`. */
export function columnVariances<T>(x: usize, count: i32, stride: usize, width: i32, divisor: f64): v128 {
  const counts = f64x2.splat(<f64>count);
  const divisors = f64x2.splat(divisor);
  walk<T>(MEAN, x, count, stride, width, i64x2(0, 0), i64x2(0, 0));
  const mean = f64x2.div(sizeof<T>() == 4 ? first : sums<T>(first, second), counts);
  walk<T>(SQUARES, x, count, stride, width, mean, f64x2.div(second, counts));
  if (sizeof<T>() == 4) return sums<T>(f64x2.div(first, divisors), f64x2.div(second, divisors));
  return f64x2.div(sums<T>(first, second), divisors);
}

/** The sums of 16 columns of float32, written to `out`: whole cache lines are used up when they are fetched. */
export function wideColumnSums(x: usize, out: usize, count: i32, stride: usize): void {
  let a0 = i64x2(0, 0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let b3 = a0;
  for (; count > 0; count--, x += stride) {
    const v0 = v128.load(x);
    const v1 = v128.load(x, 16);
    const v2 = v128.load(x, 32);
    const v3 = v128.load(x, 48);
    b0 = addToSecond<f32>(b0, a0, v0);
    a0 = addToFirst<f32>(a0, v0);
    b1 = addToSecond<f32>(b1, a1, v1);
    a1 = addToFirst<f32>(a1, v1);
    b2 = addToSecond<f32>(b2, a2, v2);
    a2 = addToFirst<f32>(a2, v2);
    b3 = addToSecond<f32>(b3, a3, v3);
    a3 = addToFirst<f32>(a3, v3);
  }
  v128.store(out, sums<f32>(a0, b0));
  v128.store(out, sums<f32>(a1, b1), 16);
  v128.store(out, sums<f32>(a2, b2), 32);
  v128.store(out, sums<f32>(a3, b3), 48);
}
