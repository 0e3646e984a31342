// Backward passes of elementwise functions: out = g · f'(x), and 0 where g is 0, whatever the derivative. Those of tanh and
// sigmoid take the function's value in place of x. All arrays are contiguous; `out` may be the memory of g or x.
import { errorFunctionSlope, geluSlope } from "./erf";
import { loadUpTo, storeUpTo } from "./rest";
import { gateSlope, geluTanhExponent, geluTanhExponentSlope, withinGeluLimits, withinSiluLimits } from "./sigmoid";
import { lanes } from "./simd";

const RELU = 0;
const SIGMOID = 1;
const TANH = 2;
const ERF = 3;
const GELU = 4;
const SOFTPLUS = 5;
const SILU = 6;
const GELU_TANH = 7;

@inline
function slope<T>(op: i32, x: v128): v128 {
  const one = v128.splat<T>(1);
  if (op == SIGMOID) return v128.mul<T>(x, v128.sub<T>(one, x));
  // (1 - y)(1 + y) keeps its relative accuracy where y is close to 1, 1 - y² does not.
  if (op == TANH) return v128.mul<T>(v128.sub<T>(one, x), v128.add<T>(one, x));
  if (op == ERF) return errorFunctionSlope<T>(x);
  if (op == GELU) return geluSlope<T>(x);
  let z = x;
  let factor = i64x2.splat(0);
  if (op == GELU_TANH) {
    x = withinGeluLimits<T>(x);
    z = geluTanhExponent<T>(x);
    factor = v128.mul<T>(x, geluTanhExponentSlope<T>(x));
  } else if (op == SILU) {
    z = withinSiluLimits<T>(x);
    factor = z;
  }
  return gateSlope<T>(z, factor);
}

@inline
function product<T>(op: i32, g: v128, x: v128): v128 {
  const zero = i64x2.splat(0);
  if (op == RELU) return v128.and(g, v128.gt<T>(x, zero));
  return v128.and(v128.mul<T>(g, slope<T>(op, x)), v128.ne<T>(g, zero));
}

/** Any of them, whatever the number; one for each type, for the sake of size. */
function general<T>(op: i32, g: usize, x: usize, out: usize, n: i32): void {
  const zero = i64x2.splat(0);
  for (; n > 0; n -= lanes<T>(), g += 16, x += 16, out += 16) {
    storeUpTo<T>(out, product<T>(op, loadUpTo<T>(g, n, zero), loadUpTo<T>(x, n, zero)), n);
  }
}

@inline
function map<T>(op: i32, g: usize, x: usize, out: usize, n: i32): void {
  if (sizeof<T>() == 4 || op <= TANH) {
    // Two vectors share what is loaded of constants, and overlap.
    for (; n >= 2 * lanes<T>(); n -= 2 * lanes<T>(), g += 32, x += 32, out += 32) {
      const first = product<T>(op, v128.load(g), v128.load(x));
      const second = product<T>(op, v128.load(g, 16), v128.load(x, 16));
      v128.store(out, first);
      v128.store(out, second, 16);
    }
  }
  if (n > 0) general<T>(op, g, x, out, n);
}

/** softplus, silu and geluTanh in one body, for the sake of size. */
function mapGates<T>(op: i32, g: usize, x: usize, out: usize, n: i32): void {
  map<T>(op, g, x, out, n);
}

export function reluBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  map<f32>(RELU, g, x, out, n);
}

export function reluBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  map<f64>(RELU, g, x, out, n);
}

export function sigmoidBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  map<f32>(SIGMOID, g, x, out, n);
}

export function sigmoidBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  map<f64>(SIGMOID, g, x, out, n);
}

export function tanhBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  map<f32>(TANH, g, x, out, n);
}

export function tanhBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  map<f64>(TANH, g, x, out, n);
}

export function erfBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  map<f32>(ERF, g, x, out, n);
}

export function erfBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  map<f64>(ERF, g, x, out, n);
}

export function geluBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  map<f32>(GELU, g, x, out, n);
}

export function geluBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  map<f64>(GELU, g, x, out, n);
}

export function softplusBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f32>(SOFTPLUS, g, x, out, n);
}

export function softplusBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f64>(SOFTPLUS, g, x, out, n);
}

export function siluBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f32>(SILU, g, x, out, n);
}

export function siluBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f64>(SILU, g, x, out, n);
}

export function geluTanhBackward_f32(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f32>(GELU_TANH, g, x, out, n);
}

export function geluTanhBackward_f64(g: usize, x: usize, out: usize, n: i32): void {
  mapGates<f64>(GELU_TANH, g, x, out, n);
}
