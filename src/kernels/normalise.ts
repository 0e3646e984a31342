// Rows of a contiguous [rows, count] array brought to mean 0 (if `centred`) and mean square 1, and the backward passes:
//   y = (x - mean) r with r = 1 / √(mean of (x - mean)² + eps); without centring, the mean counts as 0.
// `weight` and `bias` have `count` values; their address is 0 where there are none. `out` may be the memory of x or g.
import { addToFirst, addToSecond, total } from "./accumulator";
import { rowMoment } from "./moment";
import { loadUpTo, storeUpTo } from "./rest";
import { lanes, multiplyAdd } from "./simd";

// The last row looked at, the same in all lanes. The rounding of a float32 mean is made up for by its second part.
let mean = i64x2(0, 0);
let meanLow = i64x2(0, 0);
let factor = i64x2(0, 0);

function analyse<T>(x: usize, count: i32, eps: f64, centred: i32): void {
  const exact = centred ? rowMoment<T>(false, x, count, 0) / <f64>count : 0;
  mean = v128.splat<T>(<T>exact);
  meanLow = v128.splat<T>(<T>(exact - <f64>(<T>exact)));
  factor = v128.splat<T>(<T>(1 / Math.sqrt(rowMoment<T>(true, x, count, exact) / <f64>count + eps)));
}

/** a · b, but 0 where a is 0, whatever b. */
@inline
function annihilate<T>(a: v128, b: v128): v128 {
  return v128.and(v128.mul<T>(a, b), v128.ne<T>(a, i64x2(0, 0)));
}

/** The normalised values of the row that was analysed. */
@inline
function normal<T>(x: v128): v128 {
  return v128.mul<T>(v128.sub<T>(v128.sub<T>(x, mean), meanLow), factor);
}

/** y · weight + bias at an offset of the row, for up to one vector. */
@inline
function affine<T>(x: usize, weight: usize, bias: usize, offset: usize, left: i32): v128 {
  const zero = i64x2(0, 0);
  const y = normal<T>(loadUpTo<T>(x + offset, left, zero));
  if (!weight) return y;
  const scale = loadUpTo<T>(weight + offset, left, zero);
  return bias ? multiplyAdd<T>(y, scale, loadUpTo<T>(bias + offset, left, zero)) : v128.mul<T>(y, scale);
}

/** out = y · weight + bias */
function normalise<T>(
  x: usize,
  weight: usize,
  bias: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  for (; rows > 0; rows--) {
    analyse<T>(x, count, eps, centred);
    let left = count;
    let offset: usize = 0;
    for (; left >= lanes<T>(); left -= lanes<T>(), offset += 16) {
      v128.store(out + offset, affine<T>(x, weight, bias, offset, lanes<T>()));
    }
    if (left > 0) storeUpTo<T>(out + offset, affine<T>(x, weight, bias, offset, left), left);
    x += <usize>count * sizeof<T>();
    out += <usize>count * sizeof<T>();
  }
}

/** The cotangent h = g · weight of y at an offset of the row. */
@inline
function cotangent<T>(g: usize, weight: usize, offset: usize, left: i32): v128 {
  const h = loadUpTo<T>(g + offset, left, i64x2(0, 0));
  return weight ? annihilate<T>(h, loadUpTo<T>(weight + offset, left, i64x2(0, 0))) : h;
}

// The means over the row of h and of h y, the same in all lanes.
let across = i64x2(0, 0);
let along = i64x2(0, 0);

function average<T>(g: usize, x: usize, weight: usize, count: i32, centred: i32): void {
  let first = i64x2(0, 0);
  let second = first;
  let firstProduct = first;
  let secondProduct = first;
  let left = count;
  let offset: usize = 0;
  if (sizeof<T>() == 4) {
    for (; left >= 8; left -= 8, offset += 32) {
      // Two vectors share one entry into the running sums.
      const h = cotangent<T>(g, weight, offset, 4);
      const other = cotangent<T>(g, weight, offset + 16, 4);
      const part = annihilate<T>(h, normal<T>(v128.load(x + offset)));
      const product = v128.add<T>(part, annihilate<T>(other, normal<T>(v128.load(x + offset, 16))));
      const sum = v128.add<T>(h, other);
      secondProduct = addToSecond<T>(secondProduct, firstProduct, product);
      firstProduct = addToFirst<T>(firstProduct, product);
      second = addToSecond<T>(second, first, sum);
      first = addToFirst<T>(first, sum);
    }
  }
  for (; left > 0; left -= lanes<T>(), offset += 16) {
    const h = cotangent<T>(g, weight, offset, left);
    const product = annihilate<T>(h, normal<T>(loadUpTo<T>(x + offset, left, i64x2(0, 0))));
    secondProduct = addToSecond<T>(secondProduct, firstProduct, product);
    firstProduct = addToFirst<T>(firstProduct, product);
    second = addToSecond<T>(second, first, h);
    first = addToFirst<T>(first, h);
  }
  across = v128.splat<T>(centred ? <T>(total<T>(first, second) / <f64>count) : 0);
  along = v128.splat<T>(<T>(total<T>(firstProduct, secondProduct) / <f64>count));
}

@inline
function pulledBack<T>(g: usize, x: usize, weight: usize, offset: usize, left: i32): v128 {
  const y = normal<T>(loadUpTo<T>(x + offset, left, i64x2(0, 0)));
  const h = v128.sub<T>(cotangent<T>(g, weight, offset, left), across);
  return annihilate<T>(v128.sub<T>(h, annihilate<T>(along, y)), factor);
}

/** out = r (h - mean(h) - y mean(h y)); without centring, mean(h) counts as 0. */
function normaliseBackward<T>(
  g: usize,
  x: usize,
  weight: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  for (; rows > 0; rows--) {
    analyse<T>(x, count, eps, centred);
    average<T>(g, x, weight, count, centred);
    let left = count;
    let offset: usize = 0;
    for (; left >= lanes<T>(); left -= lanes<T>(), offset += 16) {
      v128.store(out + offset, pulledBack<T>(g, x, weight, offset, lanes<T>()));
    }
    if (left > 0) storeUpTo<T>(out + offset, pulledBack<T>(g, x, weight, offset, left), left);
    g += <usize>count * sizeof<T>();
    x += <usize>count * sizeof<T>();
    out += <usize>count * sizeof<T>();
  }
}

/** out = g y: summed over the rows, what is due to the weight. */
function normaliseProduct<T>(g: usize, x: usize, out: usize, rows: i32, count: i32, eps: f64, centred: i32): void {
  const zero = i64x2(0, 0);
  for (; rows > 0; rows--) {
    analyse<T>(x, count, eps, centred);
    let left = count;
    let offset: usize = 0;
    for (; left >= lanes<T>(); left -= lanes<T>(), offset += 16) {
      v128.store(out + offset, annihilate<T>(v128.load(g + offset), normal<T>(v128.load(x + offset))));
    }
    if (left > 0) {
      const y = normal<T>(loadUpTo<T>(x + offset, left, zero));
      storeUpTo<T>(out + offset, annihilate<T>(loadUpTo<T>(g + offset, left, zero), y), left);
    }
    g += <usize>count * sizeof<T>();
    x += <usize>count * sizeof<T>();
    out += <usize>count * sizeof<T>();
  }
}

export function normalise_f32(
  x: usize,
  weight: usize,
  bias: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normalise<f32>(x, weight, bias, out, rows, count, eps, centred);
}

export function normaliseBackward_f32(
  g: usize,
  x: usize,
  weight: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normaliseBackward<f32>(g, x, weight, out, rows, count, eps, centred);
}

export function normaliseProduct_f32(
  g: usize,
  x: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normaliseProduct<f32>(g, x, out, rows, count, eps, centred);
}

export function normalise_f64(
  x: usize,
  weight: usize,
  bias: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normalise<f64>(x, weight, bias, out, rows, count, eps, centred);
}

export function normaliseBackward_f64(
  g: usize,
  x: usize,
  weight: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normaliseBackward<f64>(g, x, weight, out, rows, count, eps, centred);
}

export function normaliseProduct_f64(
  g: usize,
  x: usize,
  out: usize,
  rows: i32,
  count: i32,
  eps: f64,
  centred: i32,
): void {
  normaliseProduct<f64>(g, x, out, rows, count, eps, centred);
}
