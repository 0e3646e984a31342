// Matrix products C = A · B, by tiles (see tiles.ts). Small operands are used where they lie, larger ones are packed first.
//
// An element of C is the sum of its products in the order of k, in blocks of DEPTH whose sums are added up. So it does
// not depend on how rows, columns and batches are divided among calls, as long as no piece is narrower than 3 rows or
// 5 columns: products with one or a few vectors have an order of their own.
import { advance, offsetOf, outerSteps } from "./layout";
import { fused, lanes, multiplyAdd } from "./simd";
import {
  DEPTH, multiplyPanels, pack, PANEL_WORKSPACE, panelStride, packPanels, packsRows, TILE_ROW,
} from "./tiles";

/** Distance of packed panels. */
const PANEL: usize = panelStride(DEPTH);

/** Panels packed at a time: 387 KiB of a second-level cache of 512 KiB or more. */
const PANELS: i32 = 48;

/**
 * Up to this size, contiguous rows of B are used where they lie: in general what a first-level cache holds, and where A
 * has few rows, for which packing pays less, what a second-level cache holds.
 */
const DIRECT_BYTES: i32 = 32 * 1024;
const FEW_ROWS: i32 = 16;
const DIRECT_BYTES_FEW_ROWS: i32 = 256 * 1024;

/** Terms of a block in products with vectors: four rows of them (16 KiB in f32) are read again for each vector. */
const VECTOR_DEPTH: i32 = 1024;

/** Bytes of a sum of rows that is formed at a time: a quarter of the first-level cache. */
const VECTOR_WIDTH: usize = 8 * 1024;

// The workspace: what products by panels use, then packed panels of B. Products with vectors use it from the start.
const WORKSPACE: usize = PANEL_WORKSPACE + PANELS * PANEL;

/** C = A · B by tiles, strides in bytes. */
function multiplyMatrices<T>(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: usize, columnStrideA: usize,
  rowStrideB: usize, columnStrideB: usize, rowStrideC: usize, workspace: usize,
): void {
  const tileColumns = TILE_ROW / sizeof<T>();
  const packedB = workspace + PANEL_WORKSPACE;
  // The tile finds the last term by its address, so terms must lie apart.
  const directB = columnStrideB == sizeof<T>() && rowStrideB != 0 &&
    <i64>min(k, DEPTH) * n * sizeof<T>() <= (m <= FEW_ROWS ? DIRECT_BYTES_FEW_ROWS : DIRECT_BYTES);
  const packA = !directB && packsRows<T>(n, columnStrideA);
  const blockWidth = directB ? n : PANELS * tileColumns;

  for (let start = 0; start < k; start += DEPTH) {
    const depth = min(k - start, DEPTH);
    let columns = b;
    let block = c;
    for (let left = n; left > 0; left -= blockWidth) {
      const width = min(left, blockWidth);
      const panels = width / tileColumns;
      const edge = width % tileColumns;
      let panelB = packedB;
      let panelStride: usize = PANEL;
      let stepB: usize = TILE_ROW;
      let edgeB = packedB + <usize>panels * PANEL;
      if (directB) {
        panelB = columns;
        panelStride = TILE_ROW;
        stepB = rowStrideB;
        edgeB = packedB;
        if (edge > 0) {
          const rest = columns + <usize>panels * TILE_ROW;
          pack<T>(rest, columnStrideB, rowStrideB, edgeB, edge, tileColumns, depth);
        }
      } else {
        packPanels<T>(columns, rowStrideB, columnStrideB, packedB, PANEL, width, depth);
        columns += <usize>width * columnStrideB;
      }
      multiplyPanels<T>(
        a, rowStrideA, columnStrideA, packA, panelB, panelStride, stepB, edgeB,
        block, rowStrideC, m, panels, edge, depth, start > 0, workspace,
      );
      block += <usize>width * sizeof<T>();
    }
    a += <usize>depth * columnStrideA;
    b += <usize>depth * rowStrideB;
  }
}

@inline
function sumOfLanes<T>(v: v128): T {
  if (sizeof<T>() == 8) return (v128.extract_lane<T>(v, 0) + v128.extract_lane<T>(v, 1)) as T;
  const pairs = v128.add<f32>(v, v128.shuffle<f32>(v, v, 2, 3, 0, 1));
  return (v128.extract_lane<f32>(pairs, 0) + v128.extract_lane<f32>(pairs, 1)) as T;
}

/**
 * y = M · x, or y += M · x, for contiguous rows of M and a few contiguous vectors x of `bytes` bytes: four rows at
 * a time, missing ones as repetitions of the last.
 */
function rowsTimesVectors<T>(
  matrix: usize, rowStride: usize, x: usize, nextX: usize, y: usize, rowStrideY: usize, nextY: usize,
  rows: i32, vectors: i32, bytes: usize, accumulate: bool,
): void {
  for (; rows > 0; rows -= 4) {
    const row1 = matrix + (rows > 1 ? rowStride : 0);
    const row2 = row1 + (rows > 2 ? rowStride : 0);
    const row3 = row2 + (rows > 3 ? rowStride : 0);
    let vector = x;
    let y0 = y;
    for (let left = vectors; left > 0; --left) {
      let s0 = v128.splat<T>(0 as T);
      let s1 = s0;
      let s2 = s0;
      let s3 = s0;
      let i: usize = 0;
      if (fused) {
        // Two running sums a row, as the fused operation takes longer than an addition.
        let t0 = s0;
        let t1 = s0;
        let t2 = s0;
        let t3 = s0;
        for (; i + 32 <= bytes; i += 32) {
          const x0 = v128.load(vector + i);
          const x1 = v128.load(vector + i, 16);
          s0 = multiplyAdd<T>(v128.load(matrix + i), x0, s0);
          t0 = multiplyAdd<T>(v128.load(matrix + i, 16), x1, t0);
          s1 = multiplyAdd<T>(v128.load(row1 + i), x0, s1);
          t1 = multiplyAdd<T>(v128.load(row1 + i, 16), x1, t1);
          s2 = multiplyAdd<T>(v128.load(row2 + i), x0, s2);
          t2 = multiplyAdd<T>(v128.load(row2 + i, 16), x1, t2);
          s3 = multiplyAdd<T>(v128.load(row3 + i), x0, s3);
          t3 = multiplyAdd<T>(v128.load(row3 + i, 16), x1, t3);
        }
        s0 = v128.add<T>(s0, t0);
        s1 = v128.add<T>(s1, t1);
        s2 = v128.add<T>(s2, t2);
        s3 = v128.add<T>(s3, t3);
      }
      for (; i + 16 <= bytes; i += 16) {
        const x0 = v128.load(vector + i);
        s0 = multiplyAdd<T>(v128.load(matrix + i), x0, s0);
        s1 = multiplyAdd<T>(v128.load(row1 + i), x0, s1);
        s2 = multiplyAdd<T>(v128.load(row2 + i), x0, s2);
        s3 = multiplyAdd<T>(v128.load(row3 + i), x0, s3);
      }
      let sum0 = sumOfLanes<T>(s0);
      let sum1 = sumOfLanes<T>(s1);
      let sum2 = sumOfLanes<T>(s2);
      let sum3 = sumOfLanes<T>(s3);
      for (; i < bytes; i += sizeof<T>()) {
        const value = load<T>(vector + i);
        sum0 = (sum0 + load<T>(matrix + i) * value) as T;
        sum1 = (sum1 + load<T>(row1 + i) * value) as T;
        sum2 = (sum2 + load<T>(row2 + i) * value) as T;
        sum3 = (sum3 + load<T>(row3 + i) * value) as T;
      }
      const y1 = y0 + (rows > 1 ? rowStrideY : 0);
      const y2 = y1 + (rows > 2 ? rowStrideY : 0);
      const y3 = y2 + (rows > 3 ? rowStrideY : 0);
      if (accumulate) {
        sum0 = (sum0 + load<T>(y0)) as T;
        sum1 = (sum1 + load<T>(y1)) as T;
        sum2 = (sum2 + load<T>(y2)) as T;
        sum3 = (sum3 + load<T>(y3)) as T;
      }
      store<T>(y0, sum0);
      store<T>(y1, sum1);
      store<T>(y2, sum2);
      store<T>(y3, sum3);
      vector += nextX;
      y0 += nextY;
    }
    matrix = row3 + rowStride;
    y += 4 * rowStrideY;
  }
}

/** y += the sum of `count` contiguous rows of `bytes` bytes, each times its value in x: four rows at a time. */
function addRows<T>(
  matrix: usize, rowStride: usize, x: usize, strideX: usize, y: usize, bytes: usize, count: i32,
): void {
  const vectors = bytes & ~15;
  for (; count >= 4; count -= 4) {
    const row1 = matrix + rowStride;
    const row2 = row1 + rowStride;
    const row3 = row2 + rowStride;
    const x0 = v128.load_splat<T>(x);
    const x1 = v128.load_splat<T>(x + strideX);
    const x2 = v128.load_splat<T>(x + 2 * strideX);
    const x3 = v128.load_splat<T>(x + 3 * strideX);
    let i: usize = 0;
    for (; i < vectors; i += 16) {
      let sum = v128.mul<T>(x0, v128.load(matrix + i));
      sum = multiplyAdd<T>(x1, v128.load(row1 + i), sum);
      sum = multiplyAdd<T>(x2, v128.load(row2 + i), sum);
      sum = multiplyAdd<T>(x3, v128.load(row3 + i), sum);
      v128.store(y + i, v128.add<T>(v128.load(y + i), sum));
    }
    // The last values too go through vectors, to be rounded like all others.
    for (; i < bytes; i += sizeof<T>()) {
      let sum = v128.mul<T>(x0, v128.load_splat<T>(matrix + i));
      sum = multiplyAdd<T>(x1, v128.load_splat<T>(row1 + i), sum);
      sum = multiplyAdd<T>(x2, v128.load_splat<T>(row2 + i), sum);
      sum = multiplyAdd<T>(x3, v128.load_splat<T>(row3 + i), sum);
      v128.store_lane<T>(y + i, v128.add<T>(v128.load_splat<T>(y + i), sum), 0);
    }
    matrix = row3 + rowStride;
    x += 4 * strideX;
  }
  for (; count > 0; --count) {
    const x0 = v128.load_splat<T>(x);
    let i: usize = 0;
    for (; i < vectors; i += 16) {
      v128.store(y + i, multiplyAdd<T>(x0, v128.load(matrix + i), v128.load(y + i)));
    }
    for (; i < bytes; i += sizeof<T>()) {
      v128.store_lane<T>(y + i, multiplyAdd<T>(x0, v128.load_splat<T>(matrix + i), v128.load_splat<T>(y + i)), 0);
    }
    matrix += rowStride;
    x += strideX;
  }
}

/**
 * y = M · x for a matrix of `rows` by k values and a few vectors x, strides in bytes: `next` from one vector to the
 * next. False, and nothing done, if tiles do it better.
 */
function multiplyVectors<T>(
  matrix: usize, rowStride: usize, columnStride: usize, x: usize, strideX: usize, nextX: usize,
  y: usize, strideY: usize, nextY: usize, rows: i32, vectors: i32, k: i32, workspace: usize,
): bool {
  if (columnStride == sizeof<T>()) {
    for (let start = 0; start < k; start += VECTOR_DEPTH) {
      const depth = min(k - start, VECTOR_DEPTH);
      const bytes = <usize>depth * sizeof<T>();
      let block = x;
      let next = nextX;
      if (strideX != sizeof<T>()) {
        block = workspace;
        next = bytes;
        for (let vector = 0; vector < vectors; ++vector) {
          pack<T>(x + <usize>vector * nextX, 0, strideX, workspace + <usize>vector * bytes, 1, 1, depth);
        }
      }
      rowsTimesVectors<T>(matrix, rowStride, block, next, y, strideY, nextY, rows, vectors, bytes, start > 0);
      matrix += bytes;
      x += <usize>depth * strideX;
    }
    return true;
  }
  if (vectors == 1 && rowStride == sizeof<T>() && strideY == sizeof<T>()) {
    const one = workspace + VECTOR_WIDTH;
    store<T>(one, 1 as T);
    for (let left = <usize>rows * sizeof<T>(); left > 0; ) {
      const bytes = min<usize>(left, VECTOR_WIDTH);
      memory.fill(y, 0, bytes);
      let terms = matrix;
      let block = x;
      for (let start = 0; start < k; start += VECTOR_DEPTH) {
        const depth = min(k - start, VECTOR_DEPTH);
        if (start == 0) {
          addRows<T>(terms, columnStride, block, strideX, y, bytes, depth);
        } else {
          memory.fill(workspace, 0, bytes);
          addRows<T>(terms, columnStride, block, strideX, workspace, bytes, depth);
          addRows<T>(workspace, 0, one, 0, y, bytes, 1);
        }
        terms += <usize>depth * columnStride;
        block += <usize>depth * strideX;
      }
      matrix += bytes;
      y += bytes;
      left -= bytes;
    }
    return true;
  }
  return false;
}

/** One product, strides in bytes. */
function multiply<T>(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: usize, columnStrideA: usize,
  rowStrideB: usize, columnStrideB: usize, rowStrideC: usize, workspace: usize,
): void {
  if (k == 0) {
    for (; m > 0; --m, c += rowStrideC) memory.fill(c, 0, <usize>n * sizeof<T>());
    return;
  }
  if (n <= lanes<T>() && multiplyVectors<T>(
    a, rowStrideA, columnStrideA, b, rowStrideB, columnStrideB, c, rowStrideC, sizeof<T>(), m, n, k, workspace,
  )) return;
  if (m <= 2 && multiplyVectors<T>(
    b, columnStrideB, rowStrideB, a, columnStrideA, rowStrideA, c, sizeof<T>(), rowStrideC, n, m, k, workspace,
  )) return;
  multiplyMatrices<T>(
    a, b, c, m, n, k, rowStrideA, columnStrideA, rowStrideB, columnStrideB, rowStrideC, workspace,
  );
}

@inline
function matmul<T>(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: i32, columnStrideA: i32,
  rowStrideB: i32, columnStrideB: i32, rowStrideC: i32, batches: usize, workspace: usize,
): void {
  let left = a;
  let right = b;
  let target = c;
  for (let steps = outerSteps(batches); steps > 0; ) {
    multiply<T>(
      left, right, target, m, n, k, <usize>rowStrideA << alignof<T>(), <usize>columnStrideA << alignof<T>(),
      <usize>rowStrideB << alignof<T>(), <usize>columnStrideB << alignof<T>(), <usize>rowStrideC << alignof<T>(),
      workspace,
    );
    if (--steps == 0) break;
    advance(batches);
    left = a + offsetOf<T>(batches, 0);
    right = b + offsetOf<T>(batches, 1);
    target = c + offsetOf<T>(batches, 2);
  }
}

/**
 * C[i, j] = Σ A[i, l] · B[l, j] over the k values of l, all strides in elements; the columns of C are contiguous.
 * `batches` is 0, or the address of a layout block for A, B and C: the product is then taken at every position of its
 * dimensions. `workspace` is scratch memory of `matmulWorkspace_f32()` bytes.
 */
export function matmul_f32(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: i32, columnStrideA: i32,
  rowStrideB: i32, columnStrideB: i32, rowStrideC: i32, batches: usize, workspace: usize,
): void {
  matmul<f32>(a, b, c, m, n, k, rowStrideA, columnStrideA, rowStrideB, columnStrideB, rowStrideC, batches, workspace);
}

/** `matmul_f32` in f64. */
export function matmul_f64(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: i32, columnStrideA: i32,
  rowStrideB: i32, columnStrideB: i32, rowStrideC: i32, batches: usize, workspace: usize,
): void {
  matmul<f64>(a, b, c, m, n, k, rowStrideA, columnStrideA, rowStrideB, columnStrideB, rowStrideC, batches, workspace);
}

/** Bytes of scratch memory that `matmul_f32` may use. */
export function matmulWorkspace_f32(): usize {
  return WORKSPACE;
}

/** Bytes of scratch memory that `matmul_f64` may use. */
export function matmulWorkspace_f64(): usize {
  return WORKSPACE;
}
