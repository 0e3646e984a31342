// Rows of scores and weights: masks, dropout, and what is not there.
import { Attention, BOOL_MASK } from "./attentionCall";
import { loadUpTo, storeUpTo } from "./partial";
import { randomUniform_f32 } from "./random";
import { lanes } from "./simd";

/** What is known of a row of scores so far. */
@unmanaged
export class RowState {
  maximum: f64;
  /** The sum of e^(score - maximum). */
  sum: f64;
}

/** A row of numbers to add to the scores: those of the mask, or 0 and -∞ for true and false. */
export function biasRow<T>(mask: usize, stride: usize, count: i32, kind: i32, out: usize): void {
  if (kind != BOOL_MASK) {
    for (; count > 0; --count, mask += stride, out += sizeof<T>()) store<T>(out, load<T>(mask));
    return;
  }
  const lowest = v128.splat<T>(-<T>Infinity);
  const zero = i64x2(0, 0);
  if (stride == 1) {
    for (; count >= 4; count -= 4, mask += 4) {
      const words = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(v128.load32_zero(mask)));
      const forbidden = i32x4.eq(words, zero);
      if (sizeof<T>() == 4) {
        v128.store(out, v128.and(forbidden, lowest));
        out += 16;
      } else {
        v128.store(out, v128.and(i64x2.extend_low_i32x4_s(forbidden), lowest));
        v128.store(out, v128.and(i64x2.extend_high_i32x4_s(forbidden), lowest), 16);
        out += 32;
      }
    }
  }
  for (; count > 0; --count, mask += stride, out += sizeof<T>()) {
    store<T>(out, load<u8>(mask) ? 0 as T : -<T>Infinity);
  }
}

/** Adds a bias to a row of scores. What is forbidden stays so, whatever the score: also where that is NaN. */
export function addBias<T>(row: usize, bias: usize, count: i32): void {
  const lowest = v128.splat<T>(-<T>Infinity);
  for (let x: usize = 0; count > 0; count -= lanes<T>(), x += 16) {
    const added = v128.load(bias + x);
    const score = v128.add<T>(v128.load(row + x), added);
    v128.store(row + x, v128.bitselect(lowest, score, v128.eq<T>(added, lowest)));
  }
}

/** Completes the last vector of a row with -∞; returns the count of what is there then. */
@inline
export function completeRow<T>(row: usize, count: i32): i32 {
  for (; count % lanes<T>() != 0; ++count) store<T>(row + <usize>count * sizeof<T>(), -<T>Infinity);
  return count;
}

/** Draws the numbers that decide what is dropped of a row of weights from `key` on; returns where they begin. */
export function drawRow(call: Attention, weights: i32, query: i32, key: i32, count: i32, out: usize): usize {
  // The place of the weight among all of them, four to a counter.
  const place = (<u64>weights * call.queries + query) * call.keys + key;
  const skipped = <i32>(place & 3);
  const counter = ((<u64>call.counterHigh << 32) | call.counterLow) + (place >> 2);
  randomUniform_f32(out, count + skipped, call.seedLow, call.seedHigh, <u32>counter, <u32>(counter >> 32));
  return out + 4 * skipped;
}

/** Which lanes are kept, by the numbers drawn for them. */
@inline
export function keptLanes<T>(random: usize, dropout: v128): v128 {
  if (sizeof<T>() == 4) return f32x4.ge(v128.load(random), dropout);
  return i64x2.extend_low_i32x4_s(f32x4.ge(v128.load64_zero(random), dropout));
}

/** Zeros in the first columns of rows. */
export function clearRows<T>(matrix: usize, rowStride: usize, rows: i32, columns: i32): void {
  const zero = i64x2(0, 0);
  for (; rows > 0; --rows, matrix += rowStride) {
    for (let left = columns, x = matrix; left > 0; left -= lanes<T>(), x += 16) storeUpTo<T>(x, zero, left);
  }
}

/** A row times a factor, in place. */
@inline
export function scaleRow<T>(row: usize, count: i32, factor: v128): void {
  for (; count > 0; count -= lanes<T>(), row += 16) {
    storeUpTo<T>(row, v128.mul<T>(loadUpTo<T>(row, count, factor), factor), count);
  }
}
