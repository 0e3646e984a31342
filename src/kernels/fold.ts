// The reductions that are rarely large: out[o, i] = x[o, 0, i] ∘ x[o, 1, i] ∘ ..., strided as in reduce.ts, value by
// value and in order.

const ADD = 0;
const MULTIPLY = 1;
const MAX = 2;
const MIN = 3;

/** The result starts from `start`. */
@inline
function fold<T>(
  op: i32,
  start: T,
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++, out += sizeof<T>()) {
      let address = x + <usize>(o * outerStride + i * innerStride) * sizeof<T>();
      let result = start;
      for (let r = 0; r < count; r++, address += <usize>countStride * sizeof<T>()) {
        const value = load<T>(address);
        if (op == ADD) result += value;
        else if (op == MULTIPLY) result *= value;
        else if (op == MAX) result = max<T>(result, value);
        else result = min<T>(result, value);
      }
      store<T>(out, result);
    }
  }
}

export function sum_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<i32>(ADD, 0, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function prod_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<f32>(MULTIPLY, 1, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function prod_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<f64>(MULTIPLY, 1, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function prod_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<i32>(MULTIPLY, 1, x, out, outer, count, inner, outerStride, countStride, innerStride);
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
  fold<i32>(MAX, i32.MIN_VALUE, x, out, outer, count, inner, outerStride, countStride, innerStride);
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
  fold<i32>(MIN, i32.MAX_VALUE, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function any_u8(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<u8>(MAX, 0, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function all_u8(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  fold<u8>(MIN, 1, x, out, outer, count, inner, outerStride, countStride, innerStride);
}
