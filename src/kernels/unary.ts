// Elementwise functions of one operand. Input and output are contiguous and may be the same memory.
import { errorFunction, gelu, geluOfSixteen } from "./erf";
import { areOrdinary, exponential, exponentialMinusOne, ordinaryExponential } from "./exponential";
import { logarithm, logarithmOnePlus } from "./logarithm";
import { softplus } from "./sigmoid";
import { loadUpTo, storeUpTo } from "./rest";
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
const GELU = 18;
const SOFTPLUS = 19;
const ERF = 20;

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
    if (op == RELU) return v128.pmax<T>(x, i64x2.splat(0));
    if (op == GELU) return gelu<T>(x);
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

/** e^x of sixteen floats, which share what is loaded of constants, and overlap; whether their sizes allowed it. */
@inline
function exponentialOfSixteen(x: usize, out: usize): bool {
  const a = v128.load(x);
  const b = v128.load(x, 16);
  const c = v128.load(x, 32);
  const d = v128.load(x, 48);
  if (!areOrdinary(a, b, c, d)) return false;
  const first = ordinaryExponential<f32>(a);
  const second = ordinaryExponential<f32>(b);
  const third = ordinaryExponential<f32>(c);
  const fourth = ordinaryExponential<f32>(d);
  v128.store(out, first);
  v128.store(out, second, 16);
  v128.store(out, third, 32);
  v128.store(out, fourth, 48);
  return true;
}

/** Any function of any numbers; one for each type, for the sake of size. */
function general<T>(op: i32, x: usize, out: usize, n: i32): void {
  for (; n > 0; n -= lanes<T>(), x += 16, out += 16) {
    storeUpTo<T>(out, vector<T>(op, loadUpTo<T>(x, n, i64x2.splat(0))), n);
  }
}

@inline
function map<T>(op: i32, x: usize, out: usize, n: i32): void {
  if (op <= ROUND) {
    // So short that the loop around them costs as much.
    for (; n >= 2 * lanes<T>(); n -= 2 * lanes<T>()) {
      const first = vector<T>(op, v128.load(x));
      const second = vector<T>(op, v128.load(x, 16));
      v128.store(out, first);
      v128.store(out, second, 16);
      x += 32;
      out += 32;
    }
  } else if (sizeof<T>() == 4) {
    // Speed is asked for.
    if (op == GELU) {
      for (; n >= 16; n -= 16, x += 64, out += 64) geluOfSixteen(x, out);
    } else if (op == EXP) {
      for (; n >= 16; n -= 16, x += 64, out += 64) {
        if (!exponentialOfSixteen(x, out)) general<T>(op, x, out, 16);
      }
    } else {
      for (; n >= lanes<T>(); n -= lanes<T>(), x += 16, out += 16) v128.store(out, vector<T>(op, v128.load(x)));
    }
  }
  if (n > 0) general<T>(op, x, out, n);
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
