// Where the maxima and minima are: indices along one axis of at least one value, strided as in reduce.ts. The first of
// equals wins; NaN, the first of them, wins over every number.

function argument<T>(
  smallest: bool,
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
    for (let i = 0; i < inner; i++, out += 4) {
      let address = x + <usize>(o * outerStride + i * innerStride) * sizeof<T>();
      let best = load<T>(address);
      let index = 0;
      for (let r = 1; r < count && best == best; r++) {
        address += <usize>countStride * sizeof<T>();
        const value = load<T>(address);
        // Written so that NaN beats every number.
        if (smallest ? !(value >= best) : !(value <= best)) {
          best = value;
          index = r;
        }
      }
      store<i32>(out, index);
    }
  }
}

export function argmax_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<f32>(false, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function argmax_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<f64>(false, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function argmax_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<i32>(false, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function argmin_f32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<f32>(true, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function argmin_f64(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<f64>(true, x, out, outer, count, inner, outerStride, countStride, innerStride);
}

export function argmin_i32(
  x: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  outerStride: i32,
  countStride: i32,
  innerStride: i32,
): void {
  argument<i32>(true, x, out, outer, count, inner, outerStride, countStride, innerStride);
}
