// The softmax family over the rows of a contiguous [rows, count] array, and the products of its members' Jacobians with
// cotangents. `out` may be the same memory as an input.
import { addToFirst, addToSecond, total } from "./accumulator";
import { flushedExponential, isBelowOrdinary, ordinaryExponential } from "./exponential";
import { logarithm } from "./reproducible";
import { loadUpTo, storeUpTo } from "./rest";
import { lanes } from "./simd";

/** The largest number of a row in all lanes. NaN is disregarded. */
export function largestOf<T>(x: usize, count: i32): v128 {
  const lowest = v128.splat<T>(-<T>Infinity);
  let a = lowest;
  let b = lowest;
  let c = lowest;
  let d = lowest;
  for (; count >= 4 * lanes<T>(); count -= 4 * lanes<T>(), x += 64) {
    a = v128.pmax<T>(a, v128.load(x));
    b = v128.pmax<T>(b, v128.load(x, 16));
    c = v128.pmax<T>(c, v128.load(x, 32));
    d = v128.pmax<T>(d, v128.load(x, 48));
  }
  for (; count > 0; count -= lanes<T>(), x += 16) a = v128.pmax<T>(a, loadUpTo<T>(x, count, lowest));
  a = v128.pmax<T>(v128.pmax<T>(a, b), v128.pmax<T>(c, d));
  a = v128.pmax<T>(a, v128.shuffle<f64>(a, a, 1, 0));
  return sizeof<T>() == 4 ? v128.pmax<T>(a, v128.shuffle<T>(a, a, 1, 0, 3, 2)) : a;
}

/** The same, but 0 if that is -∞. */
@inline
export function rowMaximum<T>(x: usize, count: i32): v128 {
  const largest = largestOf<T>(x, count);
  return v128.andnot(largest, v128.eq<T>(largest, v128.splat<T>(-<T>Infinity)));
}

/** x - maximum, but 0 for two equal infinities: the limit for a place that outgrows all others. */
@inline
export function below<T>(x: v128, maximum: v128): v128 {
  return v128.andnot(v128.sub<T>(x, maximum), v128.eq<T>(x, maximum));
}

/** The sum of e^(x - maximum) over a row, which is 0 or at least 1, or NaN. If `out` is not 0, the summands go there. */
export function exponentialSum<T>(x: usize, out: usize, count: i32, maximum: v128): f64 {
  let first = i64x2(0, 0);
  let second = first;
  // An infinite maximum is left to the slower loop.
  if (sizeof<T>() == 4 && v128.extract_lane<T>(maximum, 0) < <T>Infinity) {
    for (; count >= 16; count -= 16, x += 64) {
      let a = v128.sub<T>(v128.load(x), maximum);
      let b = v128.sub<T>(v128.load(x, 16), maximum);
      let c = v128.sub<T>(v128.load(x, 32), maximum);
      let d = v128.sub<T>(v128.load(x, 48), maximum);
      if (i32x4.bitmask(isBelowOrdinary<T>(v128.pmin<T>(v128.pmin<T>(a, b), v128.pmin<T>(c, d)))) != 0) {
        a = flushedExponential<T>(a);
        b = flushedExponential<T>(b);
        c = flushedExponential<T>(c);
        d = flushedExponential<T>(d);
      } else {
        a = ordinaryExponential<T>(a);
        b = ordinaryExponential<T>(b);
        c = ordinaryExponential<T>(c);
        d = ordinaryExponential<T>(d);
      }
      if (out) {
        v128.store(out, a);
        v128.store(out, b, 16);
        v128.store(out, c, 32);
        v128.store(out, d, 48);
        out += 64;
      }
      // Four vectors share one entry into the running sum.
      const sum = v128.add<T>(v128.add<T>(a, b), v128.add<T>(c, d));
      second = addToSecond<T>(second, first, sum);
      first = addToFirst<T>(first, sum);
    }
  }
  const lowest = v128.splat<T>(-<T>Infinity);
  for (; count > 0; count -= lanes<T>(), x += 16) {
    const power = flushedExponential<T>(below<T>(loadUpTo<T>(x, count, lowest), maximum));
    if (out) {
      storeUpTo<T>(out, power, count);
      out += 16;
    }
    second = addToSecond<T>(second, first, power);
    first = addToFirst<T>(first, power);
  }
  return total<T>(first, second);
}

/** The logarithm of a sum of exponentials, which may be 0, infinite or NaN. */
export function logarithmOfSum(sum: f64): f64 {
  if (sum == 0) return -Infinity;
  return sum < Infinity ? f64x2.extract_lane(logarithm(f64x2.splat(sum)), 0) : sum;
}

@inline
function finish<T>(logarithmic: bool, x: v128, by: v128, logarithm: v128): v128 {
  return logarithmic ? v128.sub<T>(below<T>(x, by), logarithm) : v128.mul<T>(x, by);
}

/** out = x · by, or x - by - logarithm, for a row. */
@inline
function finishRow<T>(logarithmic: bool, x: usize, out: usize, count: i32, by: v128, logarithm: v128): void {
  for (; count >= 4 * lanes<T>(); count -= 4 * lanes<T>(), x += 64, out += 64) {
    const a = finish<T>(logarithmic, v128.load(x), by, logarithm);
    const b = finish<T>(logarithmic, v128.load(x, 16), by, logarithm);
    const c = finish<T>(logarithmic, v128.load(x, 32), by, logarithm);
    const d = finish<T>(logarithmic, v128.load(x, 48), by, logarithm);
    v128.store(out, a);
    v128.store(out, b, 16);
    v128.store(out, c, 32);
    v128.store(out, d, 48);
  }
  for (; count > 0; count -= lanes<T>(), x += 16, out += 16) {
    storeUpTo<T>(out, finish<T>(logarithmic, loadUpTo<T>(x, count, by), by, logarithm), count);
  }
}

function softmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const sum = exponentialSum<T>(x, out, count, rowMaximum<T>(x, count));
    // A row of zeros stays one.
    finishRow<T>(false, out, out, count, v128.splat<T>(sum == 0 ? 0 : <T>(1 / sum)), i64x2(0, 0));
  }
}

function logSoftmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const maximum = rowMaximum<T>(x, count);
    const sum = exponentialSum<T>(x, 0, count, maximum);
    // A row of -∞ stays one.
    finishRow<T>(true, x, out, count, maximum, v128.splat<T>(sum == 0 ? 0 : <T>logarithmOfSum(sum)));
  }
}

function logsumexp<T>(x: usize, out: usize, rows: i32, count: i32): void {
  for (; rows > 0; rows--, x += <usize>count * sizeof<T>(), out += sizeof<T>()) {
    const maximum = rowMaximum<T>(x, count);
    const subtracted = <f64>v128.extract_lane<T>(maximum, 0);
    store<T>(out, <T>(logarithmOfSum(exponentialSum<T>(x, 0, count, maximum)) + subtracted));
  }
}

/** a · b, but 0 where either is 0, whatever the other. */
@inline
export function annihilate<T>(a: v128, b: v128): v128 {
  const zero = i64x2(0, 0);
  return v128.and(v128.mul<T>(a, b), v128.and(v128.ne<T>(a, zero), v128.ne<T>(b, zero)));
}

/** `annihilate` of two vectors in memory. */
@inline
function product<T>(a: usize, b: usize): v128 {
  return annihilate<T>(v128.load(a), v128.load(b));
}

/** out = a ⊙ (g - Σ g a) for the output a. */
function softmaxBackward<T>(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  const zero = i64x2(0, 0);
  for (; rows > 0; rows--) {
    let first = zero;
    let second = zero;
    let left = count;
    let offset: usize = 0;
    if (sizeof<T>() == 4) {
      for (; left >= 16; left -= 16, offset += 64) {
        // Four vectors share one entry into the running sum.
        const g = cotangent + offset;
        const a = output + offset;
        const lower = v128.add<T>(product<T>(g, a), product<T>(g + 16, a + 16));
        const sum = v128.add<T>(lower, v128.add<T>(product<T>(g + 32, a + 32), product<T>(g + 48, a + 48)));
        second = addToSecond<T>(second, first, sum);
        first = addToFirst<T>(first, sum);
      }
    }
    for (; left > 0; left -= lanes<T>(), offset += 16) {
      const g = loadUpTo<T>(cotangent + offset, left, zero);
      const summand = annihilate<T>(g, loadUpTo<T>(output + offset, left, zero));
      second = addToSecond<T>(second, first, summand);
      first = addToFirst<T>(first, summand);
    }
    const sum = v128.splat<T>(<T>total<T>(first, second));
    left = count;
    for (; left >= lanes<T>(); left -= lanes<T>(), cotangent += 16, output += 16, out += 16) {
      v128.store(out, annihilate<T>(v128.load(output), v128.sub<T>(v128.load(cotangent), sum)));
    }
    if (left > 0) {
      const a = loadUpTo<T>(output, left, zero);
      storeUpTo<T>(out, annihilate<T>(a, v128.sub<T>(loadUpTo<T>(cotangent, left, zero), sum)), left);
    }
    cotangent += <usize>left * sizeof<T>();
    output += <usize>left * sizeof<T>();
    out += <usize>left * sizeof<T>();
  }
}

/** The sum of a row. */
function rowSum<T>(x: usize, count: i32): f64 {
  let first = i64x2(0, 0);
  let second = first;
  for (; count >= lanes<T>(); count -= lanes<T>(), x += 16) {
    const value = v128.load(x);
    second = addToSecond<T>(second, first, value);
    first = addToFirst<T>(first, value);
  }
  const rest = count > 0 ? loadUpTo<T>(x, count, i64x2(0, 0)) : i64x2(0, 0);
  return total<T>(addToFirst<T>(first, rest), addToSecond<T>(second, first, rest));
}

/** g - e^y sum */
@inline
function withoutShare<T>(g: v128, y: v128, sum: v128): v128 {
  return v128.sub<T>(g, annihilate<T>(flushedExponential<T>(y), sum));
}

/** out = g - e^y Σ g for the output y. */
function logSoftmaxBackward<T>(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  const zero = i64x2(0, 0);
  for (; rows > 0; rows--) {
    const sum = v128.splat<T>(<T>rowSum<T>(cotangent, count));
    let left = count;
    if (sizeof<T>() == 4) {
      for (; left >= 8; left -= 8, cotangent += 32, output += 32, out += 32) {
        const first = withoutShare<T>(v128.load(cotangent), v128.load(output), sum);
        const second = withoutShare<T>(v128.load(cotangent, 16), v128.load(output, 16), sum);
        v128.store(out, first);
        v128.store(out, second, 16);
      }
    }
    for (; left > 0; left -= lanes<T>()) {
      const g = loadUpTo<T>(cotangent, left, zero);
      storeUpTo<T>(out, withoutShare<T>(g, loadUpTo<T>(output, left, zero), sum), left);
      const step = <usize>min(left, lanes<T>()) * sizeof<T>();
      cotangent += step;
      output += step;
      out += step;
    }
  }
}

export function softmax_f32(x: usize, out: usize, rows: i32, count: i32): void {
  softmax<f32>(x, out, rows, count);
}

export function softmax_f64(x: usize, out: usize, rows: i32, count: i32): void {
  softmax<f64>(x, out, rows, count);
}

export function logSoftmax_f32(x: usize, out: usize, rows: i32, count: i32): void {
  logSoftmax<f32>(x, out, rows, count);
}

export function logSoftmax_f64(x: usize, out: usize, rows: i32, count: i32): void {
  logSoftmax<f64>(x, out, rows, count);
}

export function logsumexp_f32(x: usize, out: usize, rows: i32, count: i32): void {
  logsumexp<f32>(x, out, rows, count);
}

export function logsumexp_f64(x: usize, out: usize, rows: i32, count: i32): void {
  logsumexp<f64>(x, out, rows, count);
}

export function softmaxBackward_f32(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  softmaxBackward<f32>(cotangent, output, out, rows, count);
}

export function softmaxBackward_f64(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  softmaxBackward<f64>(cotangent, output, out, rows, count);
}

export function logSoftmaxBackward_f32(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  logSoftmaxBackward<f32>(cotangent, output, out, rows, count);
}

export function logSoftmaxBackward_f64(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  logSoftmaxBackward<f64>(cotangent, output, out, rows, count);
}
