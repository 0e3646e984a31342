// Running sums and linear recurrences along the middle axis of contiguous [outer, count, inner] arrays.

/**
 * out[k] = x[0] + ... + x[k], or with `reverse` x[k] + ... + x[count - 1]. Floats add up in float64 and carry the
 * rounding errors along (Neumaier's compensated summation), so that long sums stay as exact as short ones.
 */
@inline
function cumulativeSum<T>(x: usize, out: usize, outer: i32, count: i32, inner: i32, reverse: i32): void {
  const last = <usize>(count - 1) * inner * sizeof<T>();
  const row = <isize>inner * sizeof<T>();
  const step = reverse ? -row : row;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++, x += sizeof<T>(), out += sizeof<T>()) {
      let offset: isize = reverse ? last : 0;
      let whole: T = 0;
      let sum: f64 = 0;
      let error: f64 = 0;
      for (let k = 0; k < count; k++, offset += step) {
        if (isInteger<T>()) {
          whole += load<T>(x + offset);
          store<T>(out + offset, whole);
        } else {
          const value = <f64>load<T>(x + offset);
          const next = sum + value;
          error += abs(sum) >= abs(value) ? sum - next + value : value - next + sum;
          sum = next;
          // The errors of infinite sums are NaN, but say nothing.
          store<T>(out + offset, <T>(error == error ? sum + error : sum));
        }
      }
    }
    x += last;
    out += last;
  }
}

/** r · a, but with `annihilate` 0 where r is 0, whatever a. */
@inline
function carried<T>(a: T, r: T, annihilate: i32): T {
  return annihilate && r == 0 ? 0 : a * r;
}

/**
 * r[k] = b[k] + a[k] · r[k - 1] with r[-1] = 0 and a[0] unused, or with `reverse` its adjoint,
 * r[k] = b[k] + a[k + 1] · r[k + 1] with r[count] = 0.
 */
@inline
function linearScan<T>(
  a: usize,
  b: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  reverse: i32,
  annihilate: i32,
): void {
  const row = <usize>inner * sizeof<T>();
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++, a += sizeof<T>(), b += sizeof<T>(), out += sizeof<T>()) {
      if (count == 0) continue;
      let offset = reverse ? <usize>(count - 1) * row : 0;
      let r = load<T>(b + offset);
      store<T>(out + offset, r);
      for (let k = 1; k < count; k++) {
        if (reverse) {
          r = load<T>(b + offset - row) + carried<T>(load<T>(a + offset), r, annihilate);
          offset -= row;
        } else {
          offset += row;
          r = load<T>(b + offset) + carried<T>(load<T>(a + offset), r, annihilate);
        }
        store<T>(out + offset, r);
      }
    }
    const rest = <usize>(count - 1) * row;
    a += rest;
    b += rest;
    out += rest;
  }
}

export function cumulativeSum_f32(x: usize, out: usize, outer: i32, count: i32, inner: i32, reverse: i32): void {
  cumulativeSum<f32>(x, out, outer, count, inner, reverse);
}

export function cumulativeSum_f64(x: usize, out: usize, outer: i32, count: i32, inner: i32, reverse: i32): void {
  cumulativeSum<f64>(x, out, outer, count, inner, reverse);
}

export function cumulativeSum_i32(x: usize, out: usize, outer: i32, count: i32, inner: i32, reverse: i32): void {
  cumulativeSum<i32>(x, out, outer, count, inner, reverse);
}

export function linearScan_f32(
  a: usize,
  b: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  reverse: i32,
  annihilate: i32,
): void {
  linearScan<f32>(a, b, out, outer, count, inner, reverse, annihilate);
}

export function linearScan_f64(
  a: usize,
  b: usize,
  out: usize,
  outer: i32,
  count: i32,
  inner: i32,
  reverse: i32,
  annihilate: i32,
): void {
  linearScan<f64>(a, b, out, outer, count, inner, reverse, annihilate);
}
