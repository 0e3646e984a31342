// The products of attention: by tiles of packed operands, or where not all is finite, so that zeros annihilate.
import { paddedBytes } from "./attentionCall";
import { loadUpTo } from "./partial";
import { lanes, multiplyAdd } from "./simd";
import { DEPTH, multiplyPanels, packsRows, panelStride, TILE_ROW } from "./tiles";

/** Panels of so many columns times a factor. */
export function scalePanels<T>(panels: usize, columns: i32, depth: i32, factor: f64): void {
  if (factor == 1) return;
  const by = v128.splat<T>(<T>factor);
  for (let left = paddedBytes<T>(columns); left > 0; left -= TILE_ROW, panels += panelStride(depth)) {
    for (let x: usize = 0; x < <usize>depth * TILE_ROW; x += 16) {
      v128.store(panels + x, v128.mul<T>(v128.load(panels + x), by));
    }
  }
}

/** Whether all of a matrix is finite. */
export function allFinite<T>(matrix: usize, rowStride: usize, columnStride: usize, rows: i32, columns: i32): bool {
  const zero = i64x2(0, 0);
  let sum = zero;
  for (; rows > 0; --rows, matrix += rowStride) {
    if (columnStride == sizeof<T>()) {
      for (let left = columns, x = matrix; left > 0; left -= lanes<T>(), x += 16) {
        sum = multiplyAdd<T>(loadUpTo<T>(x, left, zero), zero, sum);
      }
    } else {
      for (let left = columns, x = matrix; left > 0; --left, x += columnStride) {
        sum = multiplyAdd<T>(v128.load_splat<T>(x), zero, sum);
      }
    }
  }
  // 0 · ∞ and 0 · NaN are NaN.
  return v128.all_true<i64>(v128.eq<T>(sum, sum));
}

/** C = factor · A · B or C += factor · A · B, where a zero in A makes no product with B, not even with NaN. */
export function multiplyAnnihilating<T>(
  factor: f64, a: usize, rowStrideA: usize, columnStrideA: usize, b: usize, rowStrideB: usize, columnStrideB: usize,
  c: usize, rowStrideC: usize, m: i32, n: i32, k: i32, accumulate: bool,
): void {
  for (; m > 0; --m, a += rowStrideA, c += rowStrideC) {
    if (!accumulate) memory.fill(c, 0, <usize>n * sizeof<T>());
    for (let l = 0; l < k; ++l) {
      const value = load<T>(a + <usize>l * columnStrideA);
      if (value == 0) continue;
      let from = b + <usize>l * rowStrideB;
      for (let x: usize = 0; x < <usize>n * sizeof<T>(); x += sizeof<T>(), from += columnStrideB) {
        store<T>(c + x, (load<T>(c + x) + value * (<T>factor * load<T>(from))) as T);
      }
    }
  }
}

/** C = A · B or C += A · B for packed panels of B that lie `stride` apart. */
export function multiplyPacked<T>(
  a: usize, rowStrideA: usize, columnStrideA: usize, b: usize, stride: usize, c: usize, rowStrideC: usize,
  m: i32, n: i32, k: i32, accumulate: bool, workspace: usize,
): void {
  const tileColumns = TILE_ROW / sizeof<T>();
  const panels = n / tileColumns;
  const packA = packsRows<T>(n, columnStrideA);
  for (let start = 0; start < k; start += DEPTH) {
    multiplyPanels<T>(
      a, rowStrideA, columnStrideA, packA, b, stride, TILE_ROW, b + <usize>panels * stride,
      c, rowStrideC, m, panels, n % tileColumns, min(k - start, DEPTH), accumulate || start > 0, workspace,
    );
    a += <usize>DEPTH * columnStrideA;
    b += <usize>DEPTH * TILE_ROW;
  }
}
