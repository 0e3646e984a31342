// The softmax family over the rows of a contiguous [rows, count] array, and the products of its members' Jacobians with
// cotangents. `out` may be the same memory as an input.
import { addToFirst, addToSecond, total } from "./accumulator";
import { scaledExponential, unscale } from "./exponential";
import { loadUpTo, storeUpTo } from "./partial";
import { logarithm } from "./reproducible";
import { lanes } from "./simd";
import { entry } from "./vector";

const BOUND = 0; // where 2^100 e^x is below the threshold
const THRESHOLD = 1; // 2^100 times the smallest normal number
const SINGLE = memory.data<f32>([-88, 1.4901161193847656e-8]);
const DOUBLE = memory.data<f64>([-709, 2.8206162122887962e-278]);

/**
 * 2^100 e^x for x <= 0, but 0 where e^x is below the normal numbers. Most of these are masked places, and arithmetic
 * with subnormal numbers is many times slower.
 */
@inline
export function scaledPower<T>(x: v128): v128 {
  // NaN passes both the bound and the threshold.
  const power = scaledExponential<T>(v128.pmax<T>(x, entry<T>(SINGLE, DOUBLE, BOUND)));
  return v128.andnot(power, v128.lt<T>(power, entry<T>(SINGLE, DOUBLE, THRESHOLD)));
}

/** What `scaledSum` subtracted: the row's maximum, but 0 if that is -∞, so that then every exponential is 0. */
let subtracted: f64 = 0;

/** 2^100 times the sum of e^(x - subtracted) over a row. If `out` is not 0, the summands are written there. */
function scaledSum<T>(x: usize, out: usize, count: i32): f64 {
  const lowest = v128.splat<T>(-<T>Infinity);
  // NaN is disregarded here: it survives in the exponentials.
  let maximum = lowest;
  for (let left = count, address = x; left > 0; left -= lanes<T>(), address += 16) {
    maximum = v128.pmax<T>(maximum, loadUpTo<T>(address, left, lowest));
  }
  maximum = v128.pmax<T>(maximum, v128.shuffle<f64>(maximum, maximum, 1, 0));
  if (sizeof<T>() == 4) maximum = v128.pmax<T>(maximum, v128.shuffle<T>(maximum, maximum, 1, 0, 3, 2));
  maximum = v128.andnot(maximum, v128.eq<T>(maximum, lowest));
  subtracted = <f64>v128.extract_lane<T>(maximum, 0);
  let first = i64x2(0, 0);
  let second = first;
  while (count > 0) {
    // A few vectors share one entry into the running sum, which costs more than they do.
    let sum = i64x2(0, 0);
    for (const end = max(count - 8 * lanes<T>(), 0); count > end; count -= lanes<T>(), x += 16) {
      const power = scaledPower<T>(v128.sub<T>(loadUpTo<T>(x, count, lowest), maximum));
      sum = v128.add<T>(sum, power);
      if (out) {
        storeUpTo<T>(out, power, count);
        out += 16;
      }
    }
    second = addToSecond<T>(second, first, sum);
    first = addToFirst<T>(first, sum);
  }
  return total<T>(first, second);
}

/** The logarithm of 2^-100 times a scaled sum, which may be 0, infinite or NaN. */
@inline
function logarithmOfSum(scaled: f64): f64 {
  const sum = f64x2.extract_lane(unscale<f64>(f64x2.splat(scaled)), 0);
  if (sum == 0) return -Infinity;
  return sum < Infinity ? f64x2.extract_lane(logarithm(f64x2.splat(sum)), 0) : sum;
}

@inline
function softmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const sum = scaledSum<T>(x, out, count);
    // A row of zeros stays one.
    const factor = v128.splat<T>(sum == 0 ? 0 : <T>(1 / sum));
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      storeUpTo<T>(out + offset, v128.mul<T>(loadUpTo<T>(out + offset, left, i64x2(0, 0)), factor), left);
    }
  }
}

@inline
function logSoftmax<T>(x: usize, out: usize, rows: i32, count: i32): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, x += size, out += size) {
    const sum = scaledSum<T>(x, 0, count);
    const maximum = v128.splat<T>(<T>subtracted);
    // A row of -∞ stays one.
    const logarithms = v128.splat<T>(sum == 0 ? 0 : <T>logarithmOfSum(sum));
    for (let left = count, offset: usize = 0; left > 0; left -= lanes<T>(), offset += 16) {
      const value = v128.sub<T>(loadUpTo<T>(x + offset, left, maximum), maximum);
      storeUpTo<T>(out + offset, v128.sub<T>(value, logarithms), left);
    }
  }
}

@inline
function logsumexp<T>(x: usize, out: usize, rows: i32, count: i32): void {
  for (; rows > 0; rows--, out += sizeof<T>()) {
    let result = <T>(logarithmOfSum(scaledSum<T>(x, 0, count)) + subtracted);
    const end = x + <usize>count * sizeof<T>();
    if (subtracted == Infinity) {
      // The differences of infinities were NaN, but the result is infinite unless the row has NaN.
      result = <T>Infinity;
      for (let address = x; address < end; address += sizeof<T>()) result = max<T>(result, load<T>(address));
    }
    store<T>(out, result);
    x = end;
  }
}

/** a · b, but 0 where either is 0, whatever the other. */
@inline
export function annihilate<T>(a: v128, b: v128): v128 {
  const zero = i64x2(0, 0);
  return v128.and(v128.mul<T>(a, b), v128.and(v128.ne<T>(a, zero), v128.ne<T>(b, zero)));
}

/** out = a ⊙ (g - Σ g a) for the output a. */
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
      const power = unscale<T>(scaledPower<T>(loadUpTo<T>(output + offset, left, zero)));
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
