// Sums, variances, maxima and minima along one axis of a strided array:
//   out[o, i] = reduction over r of x[o * outerStride + r * countStride + i * innerStride],
// strides in elements, `out` contiguous.
import { columnExtremes } from "./extremes";
import { storeUpTo } from "./partial";
import { lanes } from "./simd";
import { columnSums, columnVariances, wideColumnSums } from "./sums";

const SUM = 0;
const VARIANCE = 1;
const EXTREME = 2;

// @ts-ignore: decorator
@inline
function columns<T>(op: i32, x: usize, count: i32, stride: usize, width: i32, divisor: f64, smallest: bool): v128 {
  if (op == SUM) return columnSums<T>(x, count, stride, width);
  if (op == VARIANCE) return columnVariances<T>(x, count, stride, width, divisor);
  return columnExtremes<T>(x, count, stride, width, smallest);
}

/** A variance divides by `divisor`; an extreme is the maximum, or the minimum if `smallest`. */
// @ts-ignore: decorator
@inline
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
  smallest: bool,
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
        if (op == SUM && sizeof<T>() == 4 && inner - i >= 16) {
          width = 16;
          wideColumnSums(start, out, count, stride);
          continue;
        }
      }
      const result = columns<T>(op, start, count, stride, width, divisor, smallest);
      storeUpTo<T>(out, result, width);
    }
  }
}

function extreme<T>(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
  smallest: bool,
): void {
  reduce<T>(EXTREME, x, out, outer, count, inner, outerStride, countStride, innerStride, 1, smallest);
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
  reduce<f32>(SUM, x, out, outer, count, inner, outerStride, countStride, innerStride, 1, false);
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
  reduce<f64>(SUM, x, out, outer, count, inner, outerStride, countStride, innerStride, 1, false);
}

/** Divides by `count - correction`, or by 0 where that is negative. */
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
  reduce<f32>(VARIANCE, x, out, outer, count, inner, outerStride, countStride, innerStride, divisor, false);
}

/** Divides by `count - correction`, or by 0 where that is negative. */
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
  reduce<f64>(VARIANCE, x, out, outer, count, inner, outerStride, countStride, innerStride, divisor, false);
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
  extreme<f32>(x, out, outer, count, inner, outerStride, countStride, innerStride, false);
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
  extreme<f64>(x, out, outer, count, inner, outerStride, countStride, innerStride, false);
}

export function max_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  extreme<i32>(x, out, outer, count, inner, outerStride, countStride, innerStride, false);
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
  extreme<f32>(x, out, outer, count, inner, outerStride, countStride, innerStride, true);
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
  extreme<f64>(x, out, outer, count, inner, outerStride, countStride, innerStride, true);
}

export function min_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  extreme<i32>(x, out, outer, count, inner, outerStride, countStride, innerStride, true);
}
