// Elementwise operations of two operands. Operands are walked with element strides along the innermost dimension
// (0 for a broadcast one) and with a layout block over the outer ones, so that broadcasting copies nothing. The
// output is contiguous and may be the same memory as an operand that has its layout.
import { advance, offsetOf, outerSteps } from "./layout";
import { power } from "./power";

const ADD = 0;
const SUB = 1;
const MUL = 2;
const DIV = 3;
const MAXIMUM = 4;
const MINIMUM = 5;
const POW = 6;
const ANNIHILATE = 7;
const ANNIHILATE_BOTH = 8;

/** g · d where g is not 0, and 0 where it is, whatever d (∞ and NaN included). */
@inline
function annihilate<T>(g: v128, d: v128): v128 {
  return v128.and(v128.mul<T>(g, d), v128.ne<T>(g, v128.splat<T>(0 as T)));
}

@inline
function vector<T>(op: i32, a: v128, b: v128): v128 {
  if (op == ADD) return v128.add<T>(a, b);
  if (op == SUB) return v128.sub<T>(a, b);
  if (op == MAXIMUM) return v128.max<T>(a, b);
  if (op == MINIMUM) return v128.min<T>(a, b);
  // There is no product of 8-bit lanes.
  if (sizeof<T>() > 1) {
    if (op == MUL) return v128.mul<T>(a, b);
  }
  if (isFloat<T>()) {
    if (op == DIV) return v128.div<T>(a, b);
    if (op == ANNIHILATE) return annihilate<T>(a, b);
    if (op == ANNIHILATE_BOTH) return v128.and(annihilate<T>(a, b), v128.ne<T>(b, v128.splat<T>(0 as T)));
  }
  return unreachable();
}

@inline
function scalar<T>(op: i32, a: T, b: T): T {
  if (op == ADD) return (a + b) as T;
  if (op == SUB) return (a - b) as T;
  if (op == MUL) return (a * b) as T;
  if (op == MAXIMUM) return isFloat<T>() ? max<T>(a, b) : a > b ? a : b;
  if (op == MINIMUM) return isFloat<T>() ? min<T>(a, b) : a < b ? a : b;
  if (op == POW) return power<T>(a, b);
  const zero = 0 as T;
  if (op == DIV) return (a / b) as T;
  if (a == zero) return zero;
  if (op == ANNIHILATE) return (a * b) as T;
  if (op == ANNIHILATE_BOTH) return b == zero ? zero : ((a * b) as T);
  return unreachable();
}

@inline
function row<T>(op: i32, a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32): void {
  const end = out + (<usize>n << alignof<T>());
  const stepA = <usize>strideA << alignof<T>();
  const stepB = <usize>strideB << alignof<T>();
  if (op != POW && (strideA | strideB) == 1) {
    // A broadcast operand is splatted once; the other's loads are the only ones in the loop.
    if (strideA == 0) {
      const splat = v128.load_splat<T>(a);
      for (; out + 16 <= end; out += 16, b += 16) v128.store(out, vector<T>(op, splat, v128.load(b)));
    } else if (strideB == 0) {
      const splat = v128.load_splat<T>(b);
      for (; out + 16 <= end; out += 16, a += 16) v128.store(out, vector<T>(op, v128.load(a), splat));
    } else {
      for (; out + 16 <= end; out += 16, a += 16, b += 16) {
        v128.store(out, vector<T>(op, v128.load(a), v128.load(b)));
      }
    }
  }
  for (; out < end; out += sizeof<T>(), a += stepA, b += stepB) {
    store<T>(out, scalar<T>(op, load<T>(a), load<T>(b)));
  }
}

@inline
function binary<T>(op: i32, a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  let steps = outerSteps(layout);
  let rowA = a;
  let rowB = b;
  while (steps > 0) {
    row<T>(op, rowA, rowB, out, n, strideA, strideB);
    if (--steps == 0) break;
    advance(layout);
    rowA = a + offsetOf<T>(layout, 0);
    rowB = b + offsetOf<T>(layout, 1);
    out += <usize>n << alignof<T>();
  }
}

export function add_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(ADD, a, b, out, n, strideA, strideB, layout);
}

export function add_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(ADD, a, b, out, n, strideA, strideB, layout);
}

export function add_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<i32>(ADD, a, b, out, n, strideA, strideB, layout);
}

export function sub_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(SUB, a, b, out, n, strideA, strideB, layout);
}

export function sub_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(SUB, a, b, out, n, strideA, strideB, layout);
}

export function sub_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<i32>(SUB, a, b, out, n, strideA, strideB, layout);
}

export function mul_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(MUL, a, b, out, n, strideA, strideB, layout);
}

export function mul_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(MUL, a, b, out, n, strideA, strideB, layout);
}

export function mul_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<i32>(MUL, a, b, out, n, strideA, strideB, layout);
}

export function div_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(DIV, a, b, out, n, strideA, strideB, layout);
}

export function div_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(DIV, a, b, out, n, strideA, strideB, layout);
}

export function maximum_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(MAXIMUM, a, b, out, n, strideA, strideB, layout);
}

export function maximum_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(MAXIMUM, a, b, out, n, strideA, strideB, layout);
}

export function maximum_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<i32>(MAXIMUM, a, b, out, n, strideA, strideB, layout);
}

export function maximum_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<u8>(MAXIMUM, a, b, out, n, strideA, strideB, layout);
}

export function minimum_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(MINIMUM, a, b, out, n, strideA, strideB, layout);
}

export function minimum_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(MINIMUM, a, b, out, n, strideA, strideB, layout);
}

export function minimum_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<i32>(MINIMUM, a, b, out, n, strideA, strideB, layout);
}

export function minimum_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<u8>(MINIMUM, a, b, out, n, strideA, strideB, layout);
}

export function pow_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(POW, a, b, out, n, strideA, strideB, layout);
}

export function pow_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(POW, a, b, out, n, strideA, strideB, layout);
}

export function annihilate_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(ANNIHILATE, a, b, out, n, strideA, strideB, layout);
}

export function annihilate_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(ANNIHILATE, a, b, out, n, strideA, strideB, layout);
}

export function annihilateBoth_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f32>(ANNIHILATE_BOTH, a, b, out, n, strideA, strideB, layout);
}

export function annihilateBoth_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  binary<f64>(ANNIHILATE_BOTH, a, b, out, n, strideA, strideB, layout);
}
