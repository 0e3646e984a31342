// The functions x / (1 + e^-z): sigmoid (1 in place of x, z = x), silu (z = x), geluTanh. Input and output are contiguous
// and may be the same memory. One body serves all, for the sake of size.
import { areOrdinary } from "./exponential";
import { loadUpTo, storeUpTo } from "./rest";
import {
  aboveGeluLimit, aboveSiluLimit, gate, geluTanhExponent, geluTanhOfDoubles, ordinaryGate,
} from "./sigmoid";
import { lanes } from "./simd";

const SIGMOID = 0;
const SILU = 1;
const GELU_TANH = 2;

@inline
function gated<T>(op: i32, x: v128): v128 {
  return op == SIGMOID ? v128.splat<T>(1) : x;
}

@inline
function exponent<T>(op: i32, x: v128): v128 {
  return op == GELU_TANH ? geluTanhExponent<T>(x) : x;
}

@inline
function bounded<T>(op: i32, x: v128): v128 {
  return op == GELU_TANH ? aboveGeluLimit<T>(x) : aboveSiluLimit<T>(x);
}

/** Whatever the size of the numbers. */
function general<T>(op: i32, x: usize, out: usize, n: i32): void {
  for (; n > 0; n -= lanes<T>(), x += 16, out += 16) {
    let value = loadUpTo<T>(x, n, i64x2.splat(0));
    if (sizeof<T>() == 8 && op == GELU_TANH) value = geluTanhOfDoubles(value);
    else {
      value = bounded<T>(op, value);
      value = gate<T>(gated<T>(op, value), exponent<T>(op, value));
    }
    storeUpTo<T>(out, value, n);
  }
}

function map<T>(op: i32, x: usize, out: usize, n: i32): void {
  if (sizeof<T>() == 4) {
    // Sixteen floats at once share what is loaded of constants, and overlap.
    for (; n >= 16; n -= 16, x += 64, out += 64) {
      const a = v128.load(x);
      const b = v128.load(x, 16);
      const c = v128.load(x, 32);
      const d = v128.load(x, 48);
      const za = exponent<T>(op, a);
      const zb = exponent<T>(op, b);
      const zc = exponent<T>(op, c);
      const zd = exponent<T>(op, d);
      if (areOrdinary(za, zb, zc, zd)) {
        const first = ordinaryGate<T>(gated<T>(op, a), za);
        const second = ordinaryGate<T>(gated<T>(op, b), zb);
        const third = ordinaryGate<T>(gated<T>(op, c), zc);
        const fourth = ordinaryGate<T>(gated<T>(op, d), zd);
        v128.store(out, first);
        v128.store(out, second, 16);
        v128.store(out, third, 32);
        v128.store(out, fourth, 48);
      } else general<T>(op, x, out, 16);
    }
  }
  if (n > 0) general<T>(op, x, out, n);
}

export function sigmoid_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SIGMOID, x, out, n);
}

export function sigmoid_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SIGMOID, x, out, n);
}

export function silu_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SILU, x, out, n);
}

export function silu_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SILU, x, out, n);
}

export function geluTanh_f32(x: usize, out: usize, n: i32): void {
  map<f32>(GELU_TANH, x, out, n);
}

export function geluTanh_f64(x: usize, out: usize, n: i32): void {
  map<f64>(GELU_TANH, x, out, n);
}
