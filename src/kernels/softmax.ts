// The softmax family over the rows of a contiguous [rows, count] array, and the vector-Jacobian products of its members.
// `out` may be the same memory as an input.
import { addToFirst, addToSecond, total } from "./accumulator";
import { exponential } from "./exponential";
import { logarithm } from "./logarithm";
import { loadUpTo, storeUpTo } from "./partial";
import { lanes } from "./simd";

/** The maximum of a row, NaN disregarded: NaN survives in the exponentials. */
function maximum<T>(x: usize, count: i32): T {
  let largest = v128.splat<T>(-<T>Infinity);
  for (let left = count; left > 0; left -= lanes<T>(), x += 16) {
    largest = v128.pmax<T>(largest, loadUpTo<T>(x, left, largest));
  }
  largest = v128.pmax<T>(largest, v128.shuffle<f64>(largest, largest, 1, 0));
  if (sizeof<T>() == 4) largest = v128.pmax<T>(largest, v128.shuffle<T>(largest, largest, 1, 0, 3, 2));
  return v128.extract_lane<T>(largest, 0);
}

/** What to subtract from a row: its maximum, but 0 where all is -∞, so that every exponential is 0. */
// @ts-ignore: decorator
@inline
function reference<T>(x: usize, count: i32): T {
  const largest = maximum<T>(x, count);
  return largest == -<T>Infinity ? 0 : largest;
}

/** The sum of e^(x - reference) over a row. The exponentials are written to `out` unless that is 0. */
function sumOfExponentials<T>(x: usize, out: usize, count: i32, reference: T): f64 {
  const subtrahend = v128.splat<T>(reference);
  let first = i64x2(0, 0);
  let second = first;
  for (let left = count; left > 0; left -= lanes<T>(), x += 16) {
    const value = loadUpTo<T>(x, left, v128.splat<T>(-<T>Infinity));
    const power = exponential<T>(v128.sub<T>(value, subtrahend));
    second = addToSecond<T>(second, first, power);
    first = addToFirst<T>(first, power);
    if (out) {
      storeUpTo<T>(out, power, left);
      out += 16;
    }
  }
  return total<T>(first, second);
}

// @ts-ignore: decorator
@inline
function softmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const sum = sumOfExponentials<T>(x, out, count, reference<T>(x, count));
    // A row of zeros stays one.
    const factor = v128.splat<T>(sum == 0 ? 0 : <T>(1 / sum));
    for (let left = count, address = out; left > 0; left -= lanes<T>(), address += 16) {
      storeUpTo<T>(address, v128.mul<T>(loadUpTo<T>(address, left, factor), factor), left);
    }
  }
}

// @ts-ignore: decorator
@inline
function logSoftmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const largest = reference<T>(x, count);
    const sum = sumOfExponentials<T>(x, 0, count, largest);
    const subtrahend = v128.splat<T>(largest);
    // A row of -∞ stays one.
    const logarithms = v128.splat<T>(sum == 0 ? 0 : <T>logarithm(sum));
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const value = v128.sub<T>(loadUpTo<T>(x + offset, left, subtrahend), subtrahend);
      storeUpTo<T>(out + offset, v128.sub<T>(value, logarithms), left);
    }
  }
}

// @ts-ignore: decorator
@inline
function logsumexp<T>(x: usize, out: usize, rows: i32, count: i32): void {
  for (; rows > 0; rows--, x += <usize>count * sizeof<T>(), out += sizeof<T>()) {
    let largest = reference<T>(x, count);
    // An infinite maximum is the result, unless there is NaN; in either case the sum says so.
    if (largest == <T>Infinity) largest = 0;
    store<T>(out, <T>(<f64>largest + logarithm(sumOfExponentials<T>(x, 0, count, largest))));
  }
}

/** a · b, but 0 where either is 0, whatever the other. */
// @ts-ignore: decorator
@inline
function annihilate<T>(a: v128, b: v128): v128 {
  const zero = i64x2(0, 0);
  return v128.and(v128.mul<T>(a, b), v128.and(v128.ne<T>(a, zero), v128.ne<T>(b, zero)));
}

/** out = a ⊙ (g - Σ g a) for the output a. */
// @ts-ignore: decorator
@inline
function softmaxBackward<T>(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  const zero = i64x2(0, 0);
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, cotangent += size, output += size, out += size) {
    let first = zero;
    let second = zero;
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const g = loadUpTo<T>(cotangent + offset, left, zero);
      const product = annihilate<T>(g, loadUpTo<T>(output + offset, left, zero));
      second = addToSecond<T>(second, first, product);
      first = addToFirst<T>(first, product);
    }
    const sum = v128.splat<T>(<T>total<T>(first, second));
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const g = loadUpTo<T>(cotangent + offset, left, zero);
      const a = loadUpTo<T>(output + offset, left, zero);
      storeUpTo<T>(out + offset, annihilate<T>(a, v128.sub<T>(g, sum)), left);
    }
  }
}

/** out = g - e^y Σ g for the output y. */
// @ts-ignore: decorator
@inline
function logSoftmaxBackward<T>(cotangent: usize, output: usize, out: usize, rows: i32, count: i32): void {
  const zero = i64x2(0, 0);
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, cotangent += size, output += size, out += size) {
    let first = zero;
    let second = zero;
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const g = loadUpTo<T>(cotangent + offset, left, zero);
      second = addToSecond<T>(second, first, g);
      first = addToFirst<T>(first, g);
    }
    const sum = v128.splat<T>(<T>total<T>(first, second));
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const g = loadUpTo<T>(cotangent + offset, left, zero);
      const power = exponential<T>(loadUpTo<T>(output + offset, left, zero));
      storeUpTo<T>(out + offset, v128.sub<T>(g, annihilate<T>(power, sum)), left);
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
