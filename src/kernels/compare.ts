// Elementwise comparisons; the output is one byte a value, 0 or 1. Operands are walked as in binary.ts.
import { advance, offsetOf, outerSteps } from "./layout";

const EQUAL = 0;
const NOT_EQUAL = 1;
const LESS = 2;
const LESS_OR_EQUAL = 3;

@inline
function compare<T>(op: i32, a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  let steps = outerSteps(layout);
  const stepA = <usize>strideA << alignof<T>();
  const stepB = <usize>strideB << alignof<T>();
  let rowA = a;
  let rowB = b;
  while (steps > 0) {
    for (const end = out + <usize>n; out < end; out++, rowA += stepA, rowB += stepB) {
      const x = load<T>(rowA);
      const y = load<T>(rowB);
      let holds: bool;
      if (op == EQUAL) holds = x == y;
      else if (op == NOT_EQUAL) holds = x != y;
      else if (op == LESS) holds = x < y;
      else holds = x <= y;
      store<u8>(out, holds);
    }
    if (--steps == 0) break;
    advance(layout);
    rowA = a + offsetOf<T>(layout, 0);
    rowB = b + offsetOf<T>(layout, 1);
  }
}

export function equal_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f32>(EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function equal_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f64>(EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function equal_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<i32>(EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function equal_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<u8>(EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function notEqual_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f32>(NOT_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function notEqual_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f64>(NOT_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function notEqual_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<i32>(NOT_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function notEqual_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<u8>(NOT_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function less_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f32>(LESS, a, b, out, n, strideA, strideB, layout);
}

export function less_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f64>(LESS, a, b, out, n, strideA, strideB, layout);
}

export function less_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<i32>(LESS, a, b, out, n, strideA, strideB, layout);
}

export function less_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<u8>(LESS, a, b, out, n, strideA, strideB, layout);
}

export function lessOrEqual_f32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f32>(LESS_OR_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function lessOrEqual_f64(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<f64>(LESS_OR_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function lessOrEqual_i32(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<i32>(LESS_OR_EQUAL, a, b, out, n, strideA, strideB, layout);
}

export function lessOrEqual_u8(a: usize, b: usize, out: usize, n: i32, strideA: i32, strideB: i32, layout: usize): void {
  compare<u8>(LESS_OR_EQUAL, a, b, out, n, strideA, strideB, layout);
}
