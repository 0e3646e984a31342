// Taking and adding rows by index along one axis. Indices are i32; negative ones count from the end.
import { lanes } from "./simd";

@inline
function indexAt(indices: usize, position: i32, axisLength: i32): i32 {
  const index = load<i32>(indices + 4 * position);
  return index < 0 ? index + axisLength : index;
}

/**
 * out[o, j] = x[o, indices[j]] for x [outer, axisLength, innerBytes] and out [outer, count, innerBytes].
 *
 * @returns -1, or the first position whose index is out of range, and then nothing is written
 */
export function gatherRows(
  x: usize,
  indices: usize,
  out: usize,
  outer: i32,
  axisLength: i32,
  count: i32,
  innerBytes: i32,
): i32 {
  for (let j = 0; j < count; j++) {
    if (<u32>indexAt(indices, j, axisLength) >= <u32>axisLength) return j;
  }
  for (let o = 0; o < outer; o++, x += <usize>axisLength * innerBytes) {
    for (let j = 0; j < count; j++, out += innerBytes) {
      const from = x + <usize>indexAt(indices, j, axisLength) * innerBytes;
      // Single values, the usual case of gather: a copy of a block costs ten times as much.
      if (innerBytes == 4) store<u32>(out, load<u32>(from));
      else if (innerBytes == 8) store<u64>(out, load<u64>(from));
      else memory.copy(out, from, innerBytes);
    }
  }
  return -1;
}

/**
 * out[o, indices[j]] += x[o, j], in order of j and from zero, for x [outer, count, inner] and out
 * [outer, axisLength, inner]. All indices must be in range.
 */
@inline
function scatterAddRows<T>(
  x: usize,
  indices: usize,
  out: usize,
  outer: i32,
  axisLength: i32,
  count: i32,
  inner: i32,
): void {
  const size = <usize>inner * sizeof<T>();
  memory.fill(out, 0, <usize>outer * axisLength * size);
  for (let o = 0; o < outer; o++, out += <usize>axisLength * size) {
    for (let j = 0; j < count; j++) {
      let target = out + <usize>indexAt(indices, j, axisLength) * size;
      let left = inner;
      for (; left >= lanes<T>(); left -= lanes<T>(), x += 16, target += 16) {
        v128.store(target, v128.add<T>(v128.load(target), v128.load(x)));
      }
      for (; left > 0; left--, x += sizeof<T>(), target += sizeof<T>()) {
        store<T>(target, load<T>(target) + load<T>(x));
      }
    }
  }
}

export function scatterAddRows_f32(
  x: usize,
  indices: usize,
  out: usize,
  outer: i32,
  axisLength: i32,
  count: i32,
  inner: i32,
): void {
  scatterAddRows<f32>(x, indices, out, outer, axisLength, count, inner);
}

export function scatterAddRows_f64(
  x: usize,
  indices: usize,
  out: usize,
  outer: i32,
  axisLength: i32,
  count: i32,
  inner: i32,
): void {
  scatterAddRows<f64>(x, indices, out, outer, axisLength, count, inner);
}
