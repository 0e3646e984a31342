// Sums, variances, maxima and minima along one axis of a strided array:
//   out[o, i] = reduction over r of x[o * outerStride + r * countStride + i * innerStride],
// strides in elements, `out` contiguous.
import { columnExtremes } from "./extremes";
import { storeUpTo } from "./partial";
import { lanes } from "./simd";
import { columnSums, columnVariances, wideColumnSums } from "./sums";

const SUM = 0;
const VARIANCE = 1;
const MAX = 2;
const MIN = 3;

/** A variance divides by `divisor`. */
function reduce<T>(
  op: i32,
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
  divisor: f64,
): void {
  if (inner == 1) {
    // [outer, 1] and [1, outer] are stored alike.
    inner = outer;
    innerStride = outerStride;
    outer = 1;
  }
  const stride = <usize>countStride * sizeof<T>();
  for (let o = 0; o < outer; o++) {
    let width = 1;
    for (let i = 0; i < inner; i += width, out += <usize>width * sizeof<T>()) {
      const start = x + <usize>(o * outerStride + i * innerStride) * sizeof<T>();
      if (innerStride == 1) {
        width = min(lanes<T>(), inner - i);
        if (sizeof<T>() == 4 && op == SUM && inner - i >= 16) {
          width = 16;
          wideColumnSums(start, out, count, stride);
          continue;
        }
      }
      let result: v128;
      if (op == SUM) result = columnSums<T>(start, count, stride, width);
      else if (op == VARIANCE) result = columnVariances<T>(start, count, stride, width, divisor);
      else result = columnExtremes<T>(start, count, stride, width, op == MIN);
      storeUpTo<T>(out, result, width);
    }
  }
}

export function sum_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f32>(SUM, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

export function sum_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f64>(SUM, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

export function max_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f32>(MAX, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

export function max_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f64>(MAX, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

export function min_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f32>(MIN, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

export function min_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  reduce<f64>(MIN, x, out, outer, count, inner, outerStride, countStride, innerStride, 1);
}

/** The divisor is `count - correction`, or 0 where that is negative. */
export function variance_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
  correction: f64,
): void {
  const divisor = max<f64>(<f64>count - correction, 0);
  reduce<f32>(VARIANCE, x, out, outer, count, inner, outerStride, countStride, innerStride, divisor);
}

/** The divisor is `count - correction`, or 0 where that is negative. */
export function variance_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
  correction: f64,
): void {
  const divisor = max<f64>(<f64>count - correction, 0);
  reduce<f64>(VARIANCE, x, out, outer, count, inner, outerStride, countStride, innerStride, divisor);
}
