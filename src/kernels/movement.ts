// Moving values without computing: strided copies, selection, fills. Values are moved by size (1, 4 or 8 bytes).
import { advance, offsetOf, outerSteps } from "./layout";

@inline
function copy<T>(x: usize, out: usize, n: i32, strideX: i32, strideOut: i32, layout: usize): void {
  let steps = outerSteps(layout);
  const stepX = <usize>strideX << alignof<T>();
  const stepOut = <usize>strideOut << alignof<T>();
  let from = x;
  let to = out;
  while (steps > 0) {
    if (strideX == 1 && strideOut == 1) {
      memory.copy(to, from, <usize>n << alignof<T>());
    } else {
      for (let i = 0; i < n; i++, from += stepX, to += stepOut) store<T>(to, load<T>(from));
    }
    if (--steps == 0) break;
    advance(layout);
    from = x + offsetOf<T>(layout, 0);
    to = out + offsetOf<T>(layout, 1);
  }
}

@inline
function select<T>(
  condition: usize, a: usize, b: usize, out: usize, n: i32,
  strideCondition: i32, strideA: i32, strideB: i32, layout: usize,
): void {
  let steps = outerSteps(layout);
  const stepA = <usize>strideA << alignof<T>();
  const stepB = <usize>strideB << alignof<T>();
  let chosen = condition;
  let rowA = a;
  let rowB = b;
  while (steps > 0) {
    for (let i = 0; i < n; i++) {
      store<T>(out, load<u8>(chosen) != 0 ? load<T>(rowA) : load<T>(rowB));
      chosen += strideCondition;
      rowA += stepA;
      rowB += stepB;
      out += sizeof<T>();
    }
    if (--steps == 0) break;
    advance(layout);
    chosen = condition + offsetOf<u8>(layout, 0);
    rowA = a + offsetOf<T>(layout, 1);
    rowB = b + offsetOf<T>(layout, 2);
  }
}

@inline
function fill<T>(out: usize, n: i32, value: T): void {
  for (const end = out + (<usize>n << alignof<T>()); out < end; out += sizeof<T>()) store<T>(out, value);
}

export function copy_1(x: usize, out: usize, n: i32, strideX: i32, strideOut: i32, layout: usize): void {
  copy<u8>(x, out, n, strideX, strideOut, layout);
}

export function select_1(
  condition: usize, a: usize, b: usize, out: usize, n: i32,
  strideCondition: i32, strideA: i32, strideB: i32, layout: usize,
): void {
  select<u8>(condition, a, b, out, n, strideCondition, strideA, strideB, layout);
}

export function copy_4(x: usize, out: usize, n: i32, strideX: i32, strideOut: i32, layout: usize): void {
  copy<u32>(x, out, n, strideX, strideOut, layout);
}

export function select_4(
  condition: usize, a: usize, b: usize, out: usize, n: i32,
  strideCondition: i32, strideA: i32, strideB: i32, layout: usize,
): void {
  select<u32>(condition, a, b, out, n, strideCondition, strideA, strideB, layout);
}

export function copy_8(x: usize, out: usize, n: i32, strideX: i32, strideOut: i32, layout: usize): void {
  copy<u64>(x, out, n, strideX, strideOut, layout);
}

export function select_8(
  condition: usize, a: usize, b: usize, out: usize, n: i32,
  strideCondition: i32, strideA: i32, strideB: i32, layout: usize,
): void {
  select<u64>(condition, a, b, out, n, strideCondition, strideA, strideB, layout);
}

export function fill_f32(out: usize, n: i32, value: f32): void {
  fill<f32>(out, n, value);
}

export function fill_f64(out: usize, n: i32, value: f64): void {
  fill<f64>(out, n, value);
}

export function fill_i32(out: usize, n: i32, value: i32): void {
  fill<i32>(out, n, value);
}

export function fill_u8(out: usize, n: i32, value: u8): void {
  fill<u8>(out, n, value);
}

/** Copies a block of bytes; the ranges may overlap. */
export function move(x: usize, out: usize, bytes: usize): void {
  memory.copy(out, x, bytes);
}
