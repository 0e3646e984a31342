// Elementwise functions of one operand. Input and output are contiguous and may be the same memory.
import { errorFunction, gelu } from "./erf";
import { exponential, exponentialMinusOne } from "./exponential";
import { logarithm, logarithmOnePlus } from "./logarithm";
import { geluTanh, sigmoid, silu, softplus } from "./sigmoid";
import { lanes } from "./simd";
import { hyperbolicTangent } from "./tanh";
import { cosine, sine } from "./trigonometry";

const NEG = 0;
const ABS = 1;
const SIGN = 2;
const SQUARE = 3;
const SQRT = 4;
const RSQRT = 5;
const RECIPROCAL = 6;
const RELU = 7;
const FLOOR = 8;
const CEIL = 9;
const ROUND = 10;
const EXP = 11;
const EXPM1 = 12;
const LOG = 13;
const LOG1P = 14;
const SIN = 15;
const COS = 16;
const TANH = 17;
const SIGMOID = 18;
const GELU = 19;
const GELU_TANH = 20;
const SILU = 21;
const SOFTPLUS = 22;
const ERF = 23;

@inline
function vector<T>(op: i32, x: v128): v128 {
  if (op == NEG) return v128.neg<T>(x);
  if (op == ABS) return v128.abs<T>(x);
  if (op == SQUARE) return v128.mul<T>(x, x);
  if (op == SIGN) return sign<T>(x);
  if (isFloat<T>()) {
    const one = v128.splat<T>(1 as T);
    if (op == EXP) return exponential<T>(x);
    if (op == EXPM1) return exponentialMinusOne<T>(x);
    if (op == LOG) return logarithm<T>(x);
    if (op == LOG1P) return logarithmOnePlus<T>(x);
    if (op == SQRT) return v128.sqrt<T>(x);
    if (op == RSQRT) return v128.div<T>(one, v128.sqrt<T>(x));
    if (op == RECIPROCAL) return v128.div<T>(one, x);
    if (op == SIN) return sine<T>(x);
    if (op == COS) return cosine<T>(x);
    if (op == TANH) return hyperbolicTangent<T>(x);
    if (op == SIGMOID) return sigmoid<T>(x);
    if (op == RELU) return v128.pmax<T>(x, i64x2.splat(0));
    if (op == GELU) return gelu<T>(x);
    if (op == GELU_TANH) return geluTanh<T>(x);
    if (op == SILU) return silu<T>(x);
    if (op == SOFTPLUS) return softplus<T>(x);
    if (op == ERF) return errorFunction<T>(x);
    if (op == FLOOR) return v128.floor<T>(x);
    if (op == CEIL) return v128.ceil<T>(x);
    if (op == ROUND) return v128.nearest<T>(x);
  }
  return unreachable();
}

/** -1, 0 or 1; zeros keep their sign, NaN stays NaN. */
@inline
function sign<T>(x: v128): v128 {
  const one = v128.splat<T>(1 as T);
  if (isInteger<T>()) return v128.max<T>(v128.min<T>(x, one), v128.neg<T>(one));
  const magnitude = v128.abs<T>(x);
  return v128.bitselect(v128.or(one, v128.xor(x, magnitude)), x, v128.gt<T>(magnitude, i64x2.splat(0)));
}

/** Functions so short that the loop around them costs as much, and those of which most is expected. */
@inline
function isPaired<T>(op: i32): bool {
  if (op == EXP || op == GELU) return sizeof<T>() == 4;
  return op <= ROUND;
}

@inline
function map<T>(op: i32, x: usize, out: usize, n: i32): void {
  if (isPaired<T>(op)) {
    // Two vectors share what is loaded of constants, and overlap.
    for (; n >= 2 * lanes<T>(); n -= 2 * lanes<T>()) {
      const first = vector<T>(op, v128.load(x));
      const second = vector<T>(op, v128.load(x, 16));
      v128.store(out, first);
      v128.store(out, second, 16);
      x += 32;
      out += 32;
    }
  }
  for (; n > 0; n -= lanes<T>()) {
    const result = vector<T>(op, loadUpTo<T>(x, n));
    storeUpTo<T>(out, result, n);
    x += 16;
    out += 16;
  }
}

/** A whole vector, or what is left, with zeros behind it. */
@inline
function loadUpTo<T>(x: usize, n: i32): v128 {
  return n >= lanes<T>() ? v128.load(x) : loadRest(x, x + <usize>n * sizeof<T>());
}

@inline
function storeUpTo<T>(out: usize, result: v128, n: i32): void {
  if (n >= lanes<T>()) v128.store(out, result);
  else storeRest(out, out + <usize>n * sizeof<T>(), result);
}

// The 32-bit pieces of an incomplete vector, whatever they hold, one after another: one small function for all types.
function loadRest(address: usize, end: usize): v128 {
  if (address == end) return i64x2.splat(0);
  const rest = loadRest(address + 4, end);
  return i32x4.replace_lane(v128.shuffle<i32>(rest, rest, 0, 0, 1, 2), 0, load<i32>(address));
}

function storeRest(address: usize, end: usize, result: v128): void {
  if (address == end) return;
  store<i32>(address, i32x4.extract_lane(result, 0));
  storeRest(address + 4, end, v128.shuffle<i32>(result, result, 1, 2, 3, 3));
}

export function neg_f32(x: usize, out: usize, n: i32): void {
  map<f32>(NEG, x, out, n);
}

export function neg_f64(x: usize, out: usize, n: i32): void {
  map<f64>(NEG, x, out, n);
}

export function neg_i32(x: usize, out: usize, n: i32): void {
  map<i32>(NEG, x, out, n);
}

export function abs_f32(x: usize, out: usize, n: i32): void {
  map<f32>(ABS, x, out, n);
}

export function abs_f64(x: usize, out: usize, n: i32): void {
  map<f64>(ABS, x, out, n);
}

export function abs_i32(x: usize, out: usize, n: i32): void {
  map<i32>(ABS, x, out, n);
}

export function sign_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SIGN, x, out, n);
}

export function sign_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SIGN, x, out, n);
}

export function sign_i32(x: usize, out: usize, n: i32): void {
  map<i32>(SIGN, x, out, n);
}

export function exp_f32(x: usize, out: usize, n: i32): void {
  map<f32>(EXP, x, out, n);
}

export function exp_f64(x: usize, out: usize, n: i32): void {
  map<f64>(EXP, x, out, n);
}

export function expm1_f32(x: usize, out: usize, n: i32): void {
  map<f32>(EXPM1, x, out, n);
}

export function expm1_f64(x: usize, out: usize, n: i32): void {
  map<f64>(EXPM1, x, out, n);
}

export function log_f32(x: usize, out: usize, n: i32): void {
  map<f32>(LOG, x, out, n);
}

export function log_f64(x: usize, out: usize, n: i32): void {
  map<f64>(LOG, x, out, n);
}

export function log1p_f32(x: usize, out: usize, n: i32): void {
  map<f32>(LOG1P, x, out, n);
}

export function log1p_f64(x: usize, out: usize, n: i32): void {
  map<f64>(LOG1P, x, out, n);
}

export function sqrt_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SQRT, x, out, n);
}

export function sqrt_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SQRT, x, out, n);
}

export function rsqrt_f32(x: usize, out: usize, n: i32): void {
  map<f32>(RSQRT, x, out, n);
}

export function rsqrt_f64(x: usize, out: usize, n: i32): void {
  map<f64>(RSQRT, x, out, n);
}

export function square_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SQUARE, x, out, n);
}

export function square_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SQUARE, x, out, n);
}

export function square_i32(x: usize, out: usize, n: i32): void {
  map<i32>(SQUARE, x, out, n);
}

export function reciprocal_f32(x: usize, out: usize, n: i32): void {
  map<f32>(RECIPROCAL, x, out, n);
}

export function reciprocal_f64(x: usize, out: usize, n: i32): void {
  map<f64>(RECIPROCAL, x, out, n);
}

export function sin_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SIN, x, out, n);
}

export function sin_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SIN, x, out, n);
}

export function cos_f32(x: usize, out: usize, n: i32): void {
  map<f32>(COS, x, out, n);
}

export function cos_f64(x: usize, out: usize, n: i32): void {
  map<f64>(COS, x, out, n);
}

export function tanh_f32(x: usize, out: usize, n: i32): void {
  map<f32>(TANH, x, out, n);
}

export function tanh_f64(x: usize, out: usize, n: i32): void {
  map<f64>(TANH, x, out, n);
}

export function sigmoid_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SIGMOID, x, out, n);
}

export function sigmoid_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SIGMOID, x, out, n);
}

export function relu_f32(x: usize, out: usize, n: i32): void {
  map<f32>(RELU, x, out, n);
}

export function relu_f64(x: usize, out: usize, n: i32): void {
  map<f64>(RELU, x, out, n);
}

export function gelu_f32(x: usize, out: usize, n: i32): void {
  map<f32>(GELU, x, out, n);
}

export function gelu_f64(x: usize, out: usize, n: i32): void {
  map<f64>(GELU, x, out, n);
}

export function geluTanh_f32(x: usize, out: usize, n: i32): void {
  map<f32>(GELU_TANH, x, out, n);
}

export function geluTanh_f64(x: usize, out: usize, n: i32): void {
  map<f64>(GELU_TANH, x, out, n);
}

export function silu_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SILU, x, out, n);
}

export function silu_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SILU, x, out, n);
}

export function softplus_f32(x: usize, out: usize, n: i32): void {
  map<f32>(SOFTPLUS, x, out, n);
}

export function softplus_f64(x: usize, out: usize, n: i32): void {
  map<f64>(SOFTPLUS, x, out, n);
}

export function erf_f32(x: usize, out: usize, n: i32): void {
  map<f32>(ERF, x, out, n);
}

export function erf_f64(x: usize, out: usize, n: i32): void {
  map<f64>(ERF, x, out, n);
}

export function floor_f32(x: usize, out: usize, n: i32): void {
  map<f32>(FLOOR, x, out, n);
}

export function floor_f64(x: usize, out: usize, n: i32): void {
  map<f64>(FLOOR, x, out, n);
}

export function ceil_f32(x: usize, out: usize, n: i32): void {
  map<f32>(CEIL, x, out, n);
}

export function ceil_f64(x: usize, out: usize, n: i32): void {
  map<f64>(CEIL, x, out, n);
}

export function round_f32(x: usize, out: usize, n: i32): void {
  map<f32>(ROUND, x, out, n);
}

export function round_f64(x: usize, out: usize, n: i32): void {
  map<f64>(ROUND, x, out, n);
}
