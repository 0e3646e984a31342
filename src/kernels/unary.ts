import { exponential, exponentialOfNegative, exponentialMinusOne } from "./exponential";
import { loadPartial, storePartial } from "./partial";
import { hyperbolicTangent } from "./tanh";
import { lanes } from "./simd";

const EXP = 1;
const EXPM1 = 2;
const TANH = 3;
const EXPNEG = 4;
@inline
function apply<T>(op: i32, x: v128): v128 {
  if (op == EXP) return exponential<T>(x);
  if (op == EXPM1) return exponentialMinusOne<T>(x);
  if (op == TANH) return hyperbolicTangent<T>(x);
  if (op == EXPNEG) return exponentialOfNegative<T>(x);
  return unreachable();
}
@inline
function map<T>(op: i32, x: usize, out: usize, n: i32): void {
  while (n > 0) {
    let v: v128;
    if (n >= lanes<T>()) v = v128.load(x); else v = loadPartial<T>(x, n, i64x2.splat(0));
    v = apply<T>(op, v);
    if (n >= lanes<T>()) v128.store(out, v); else storePartial<T>(out, v, n);
    x += 16; out += 16; n -= lanes<T>();
  }
}
export function exp_f32(x: usize, out: usize, n: i32): void { map<f32>(EXP, x, out, n); }
export function exp_f64(x: usize, out: usize, n: i32): void { map<f64>(EXP, x, out, n); }
export function expneg_f32(x: usize, out: usize, n: i32): void { map<f32>(EXPNEG, x, out, n); }
export function expneg_f64(x: usize, out: usize, n: i32): void { map<f64>(EXPNEG, x, out, n); }
export function expm1_f32(x: usize, out: usize, n: i32): void { map<f32>(EXPM1, x, out, n); }
export function expm1_f64(x: usize, out: usize, n: i32): void { map<f64>(EXPM1, x, out, n); }
export function tanh_f32(x: usize, out: usize, n: i32): void { map<f32>(TANH, x, out, n); }
export function tanh_f64(x: usize, out: usize, n: i32): void { map<f64>(TANH, x, out, n); }
