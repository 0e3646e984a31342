// Matrix products C = A · B.
//
// One register tile does the work: 4 rows by 2 vectors of C, or 6 rows where multiply and add are fused (else the product
// needs a register). It broadcasts single values of A, loads whole vectors of B and walks both
// by strides, so small operands are used where they lie. Larger ones are first packed into panels that the caches
// hold, as in K. Goto and R. A. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
//
// An element of C is the sum of its products in the order of k, in blocks of DEPTH whose sums are added up. So it does
// not depend on how rows, columns and batches are divided among calls, as long as no piece is narrower than 3 rows or
// 5 columns: products with one or a few vectors have an order of their own.
import { advance, offsetOf, outerSteps } from "./layout";
import { fused, lanes, multiplyAdd } from "./simd";

/** Rows of the largest register tile. */
const TILE_ROWS: i32 = 6;

/** Bytes of a row of the register tile: two vectors. */
const TILE_ROW: i32 = 32;

/** Terms of a block: packed rows of A (up to 12 KiB) and a panel of B (8 KiB) share a first-level cache of 32 KiB. */
const DEPTH: i32 = 256;

/** Distance of packed panels: a cache line more than they need, or their lines would compete for the same ways. */
const PANEL: i32 = DEPTH * TILE_ROW + 64;

/** Panels packed at a time: 387 KiB of a second-level cache of 512 KiB or more. */
const PANELS: i32 = 48;

/**
 * Up to this size, contiguous rows of B are used where they lie: in general what a first-level cache holds, and where A
 * has few rows, for which packing pays less, what a second-level cache holds.
 */
const DIRECT_BYTES: i32 = 32 * 1024;
const FEW_ROWS: i32 = 16;
const DIRECT_BYTES_FEW_ROWS: i32 = 256 * 1024;

/** From this many columns on, packing A costs less than it gains. */
const PACK_COLUMNS: i32 = 64;
const PACK_COLUMNS_FUSED: i32 = 256;

/** Terms of a block in products with vectors: four rows of them (16 KiB in f32) are read again for each vector. */
const VECTOR_DEPTH: i32 = 1024;

/** Bytes of a sum of rows that is formed at a time: a quarter of the first-level cache. */
const VECTOR_WIDTH: usize = 8 * 1024;

// The workspace: a tile, packed rows of A, packed panels of B. Products with vectors use it from the start.
const PACKED_A: i32 = TILE_ROWS * TILE_ROW;
const PACKED_B: i32 = PACKED_A + TILE_ROWS * DEPTH * sizeof<f64>();
const WORKSPACE: i32 = PACKED_B + PANELS * PANEL;

/**
 * `panels` neighbouring tiles of C = A · B, or C += A · B, `rows` high (up to 4, or 6). Missing rows are computed and
 * stored as repetitions of the last one. `packed`: the values of a term lie side by side in both A and B, and no row
 * is missing. Strides in bytes.
 */
@inline
function tiles<T>(
  six: bool, packed: bool,
  a: usize, rowStrideA: usize, stepA: usize, b: usize, panelStride: usize, stepB: usize,
  c: usize, rowStrideC: usize, rows: i32, panels: i32, k: i32, accumulate: bool,
): void {
  if (packed) {
    stepA = 4 * sizeof<T>();
    stepB = TILE_ROW;
  }
  const bytes = <usize>k * stepB;
  // Addresses rise before they are used, not after: V8 then knows that their upper half is clear.
  b -= stepB;
  const first0 = a - stepA;
  const first1 = first0 + (rows > 1 ? rowStrideA : 0);
  const first2 = first1 + (rows > 2 ? rowStrideA : 0);
  const first3 = first2 + (rows > 3 ? rowStrideA : 0);
  const first4 = first3 + (rows > 4 ? rowStrideA : 0);
  const first5 = first4 + (rows > 5 ? rowStrideA : 0);
  let out0 = c;
  let out1 = out0 + (rows > 1 ? rowStrideC : 0);
  let out2 = out1 + (rows > 2 ? rowStrideC : 0);
  let out3 = out2 + (rows > 3 ? rowStrideC : 0);
  let out4 = out3 + (rows > 4 ? rowStrideC : 0);
  let out5 = out4 + (rows > 5 ? rowStrideC : 0);
  for (; panels > 0; --panels) {
    let a0 = first0;
    let a1 = first1;
    let a2 = first2;
    let a3 = first3;
    let a4 = first4;
    let a5 = first5;
    let row = b;
    const end = row + bytes;
    let c00 = v128.splat<T>(0 as T);
    let c01 = c00;
    let c10 = c00;
    let c11 = c00;
    let c20 = c00;
    let c21 = c00;
    let c30 = c00;
    let c31 = c00;
    let c40 = c00;
    let c41 = c00;
    let c50 = c00;
    let c51 = c00;
    do {
      row += stepB;
      const b0 = v128.load(row);
      const b1 = v128.load(row, 16);
      a0 += stepA;
      let x = v128.load_splat<T>(a0);
      c00 = multiplyAdd<T>(x, b0, c00);
      c01 = multiplyAdd<T>(x, b1, c01);
      a1 += stepA;
      x = packed ? v128.load_splat<T>(a0, sizeof<T>()) : v128.load_splat<T>(a1);
      c10 = multiplyAdd<T>(x, b0, c10);
      c11 = multiplyAdd<T>(x, b1, c11);
      a2 += stepA;
      x = packed ? v128.load_splat<T>(a0, 2 * sizeof<T>()) : v128.load_splat<T>(a2);
      c20 = multiplyAdd<T>(x, b0, c20);
      c21 = multiplyAdd<T>(x, b1, c21);
      a3 += stepA;
      x = packed ? v128.load_splat<T>(a0, 3 * sizeof<T>()) : v128.load_splat<T>(a3);
      c30 = multiplyAdd<T>(x, b0, c30);
      c31 = multiplyAdd<T>(x, b1, c31);
      if (six) {
        a4 += stepA;
        x = v128.load_splat<T>(a4);
        c40 = multiplyAdd<T>(x, b0, c40);
        c41 = multiplyAdd<T>(x, b1, c41);
        a5 += stepA;
        x = v128.load_splat<T>(a5);
        c50 = multiplyAdd<T>(x, b0, c50);
        c51 = multiplyAdd<T>(x, b1, c51);
      }
    } while (row != end);
    if (accumulate) {
      // All loads come before the first store, because of the repeated rows.
      c00 = v128.add<T>(c00, v128.load(out0));
      c01 = v128.add<T>(c01, v128.load(out0, 16));
      c10 = v128.add<T>(c10, v128.load(out1));
      c11 = v128.add<T>(c11, v128.load(out1, 16));
      c20 = v128.add<T>(c20, v128.load(out2));
      c21 = v128.add<T>(c21, v128.load(out2, 16));
      c30 = v128.add<T>(c30, v128.load(out3));
      c31 = v128.add<T>(c31, v128.load(out3, 16));
      if (six) {
        c40 = v128.add<T>(c40, v128.load(out4));
        c41 = v128.add<T>(c41, v128.load(out4, 16));
        c50 = v128.add<T>(c50, v128.load(out5));
        c51 = v128.add<T>(c51, v128.load(out5, 16));
      }
    }
    v128.store(out0, c00);
    v128.store(out0, c01, 16);
    v128.store(out1, c10);
    v128.store(out1, c11, 16);
    v128.store(out2, c20);
    v128.store(out2, c21, 16);
    v128.store(out3, c30);
    v128.store(out3, c31, 16);
    out0 += TILE_ROW;
    out1 += TILE_ROW;
    out2 += TILE_ROW;
    out3 += TILE_ROW;
    if (six) {
      v128.store(out4, c40);
      v128.store(out4, c41, 16);
      v128.store(out5, c50);
      v128.store(out5, c51, 16);
      out4 += TILE_ROW;
      out5 += TILE_ROW;
    }
    b += panelStride;
  }
}

// Functions of their own, not inlined: V8 replaces a function by its optimised code only when it is called anew, so a
// long first product must consist of many calls.
function tilesOf4<T>(
  a: usize, rowStrideA: usize, stepA: usize, b: usize, panelStride: usize, stepB: usize,
  c: usize, rowStrideC: usize, rows: i32, panels: i32, k: i32, accumulate: bool,
): void {
  tiles<T>(false, false, a, rowStrideA, stepA, b, panelStride, stepB, c, rowStrideC, rows, panels, k, accumulate);
}

function tilesOf4Packed<T>(
  a: usize, b: usize, panelStride: usize, c: usize, rowStrideC: usize, panels: i32, k: i32, accumulate: bool,
): void {
  tiles<T>(false, true, a, 0, 0, b, panelStride, 0, c, rowStrideC, 4, panels, k, accumulate);
}

function tilesOf6<T>(
  a: usize, rowStrideA: usize, stepA: usize, b: usize, panelStride: usize, stepB: usize,
  c: usize, rowStrideC: usize, rows: i32, panels: i32, k: i32, accumulate: bool,
): void {
  tiles<T>(true, false, a, rowStrideA, stepA, b, panelStride, stepB, c, rowStrideC, rows, panels, k, accumulate);
}

/** The tiles of one strip of rows, by the fastest loop that fits. */
@inline
function strip<T>(
  six: bool, packed: bool,
  a: usize, rowStrideA: usize, stepA: usize, b: usize, panelStride: usize, stepB: usize,
  c: usize, rowStrideC: usize, rows: i32, panels: i32, k: i32, accumulate: bool,
): void {
  if (six) {
    tilesOf6<T>(a, rowStrideA, stepA, b, panelStride, stepB, c, rowStrideC, rows, panels, k, accumulate);
  } else if (packed) {
    tilesOf4Packed<T>(a, b, panelStride, c, rowStrideC, panels, k, accumulate);
  } else {
    tilesOf4<T>(a, rowStrideA, stepA, b, panelStride, stepB, c, rowStrideC, rows, panels, k, accumulate);
  }
}

/**
 * Packs `width` rows of A or columns of B, `depth` terms long, so that the values of a term lie side by side, padded
 * with zeros to `panelWidth`. Strides in bytes: `across` from one row (column) to the next, `along` from one term to
 * the next.
 */
function pack<T>(
  source: usize, across: usize, along: usize, out: usize, width: i32, panelWidth: i32, depth: i32,
): void {
  const step = <usize>panelWidth * sizeof<T>();
  const bytes = <usize>depth * step;
  let x = 0;
  if (across == sizeof<T>()) {
    const bytesWide = <usize>width * sizeof<T>();
    const end = out + bytes;
    for (let to = out; to < end; to += step, source += along) {
      let i: usize = 0;
      for (; i + 16 <= bytesWide; i += 16) v128.store(to + i, v128.load(source + i));
      for (; i < bytesWide; i += sizeof<T>()) store<T>(to + i, load<T>(source + i));
    }
    out += bytesWide;
    x = width;
  }
  for (; x + lanes<T>() <= width; x += lanes<T>()) {
    let from = source;
    let to = out;
    const end = to + bytes;
    if (along == sizeof<T>()) {
      const blocks = end - <usize>(depth % lanes<T>()) * step;
      for (; to < blocks; from += 16) {
        const row0 = v128.load(from);
        const row1 = v128.load(from + across);
        if (sizeof<T>() == 8) {
          v128.store(to, v128.shuffle<T>(row0, row1, 0, 2));
          to += step;
          v128.store(to, v128.shuffle<T>(row0, row1, 1, 3));
          to += step;
        } else {
          const row2 = v128.load(from + 2 * across);
          const row3 = v128.load(from + 3 * across);
          const low01 = v128.shuffle<f32>(row0, row1, 0, 4, 1, 5);
          const low23 = v128.shuffle<f32>(row2, row3, 0, 4, 1, 5);
          const high01 = v128.shuffle<f32>(row0, row1, 2, 6, 3, 7);
          const high23 = v128.shuffle<f32>(row2, row3, 2, 6, 3, 7);
          v128.store(to, v128.shuffle<f64>(low01, low23, 0, 2));
          to += step;
          v128.store(to, v128.shuffle<f64>(low01, low23, 1, 3));
          to += step;
          v128.store(to, v128.shuffle<f64>(high01, high23, 0, 2));
          to += step;
          v128.store(to, v128.shuffle<f64>(high01, high23, 1, 3));
          to += step;
        }
      }
    }
    for (; to < end; to += step, from += along) {
      let value = from;
      for (let lane: usize = 0; lane < 16; lane += sizeof<T>(), value += across) store<T>(to + lane, load<T>(value));
    }
    source += <usize>lanes<T>() * across;
    out += 16;
  }
  for (; x < panelWidth; ++x) {
    let from = source;
    const end = out + bytes;
    for (let to = out; to < end; to += step, from += along) store<T>(to, x < width ? load<T>(from) : 0 as T);
    source += across;
    out += sizeof<T>();
  }
}

/** Packs whole panels of B whose rows are contiguous: reading row by row is what memory is best at. */
function packRows(source: usize, stride: usize, out: usize, panels: i32, depth: i32): void {
  for (; depth > 0; --depth) {
    let from = source;
    let to = out;
    for (let panel = panels; panel > 0; --panel) {
      v128.store(to, v128.load(from));
      v128.store(to, v128.load(from, 16), 16);
      from += TILE_ROW;
      to += PANEL;
    }
    source += stride;
    out += TILE_ROW;
  }
}

/** Writes, or adds, the first `width` columns of a finished tile to C. */
function copyTile<T>(tile: usize, c: usize, rowStrideC: usize, rows: i32, width: i32, accumulate: bool): void {
  for (; rows > 0; --rows) {
    for (let x: usize = 0; x < <usize>width * sizeof<T>(); x += sizeof<T>()) {
      const value = load<T>(tile + x);
      store<T>(c + x, accumulate ? load<T>(c + x) + value : value);
    }
    tile += TILE_ROW;
    c += rowStrideC;
  }
}

/** C = A · B by tiles, strides in bytes. */
function multiplyMatrices<T>(
  a: usize, b: usize, c: usize, m: i32, n: i32, k: i32, rowStrideA: usize, columnStrideA: usize,
  rowStrideB: usize, columnStrideB: usize, rowStrideC: usize, workspace: usize,
): void {
  const tileColumns = TILE_ROW / sizeof<T>();
  const packedA = workspace + PACKED_A;
  const packedB = workspace + PACKED_B;
  const contiguousB = columnStrideB == sizeof<T>();
  // The tile finds the last term by its address, so terms must lie apart.
  const directB = contiguousB && rowStrideB != 0 &&
    <i64>min(k, DEPTH) * n * sizeof<T>() <= (m <= FEW_ROWS ? DIRECT_BYTES_FEW_ROWS : DIRECT_BYTES);
  // With fused multiply-add the tile is as fast with rows of A that are contiguous.
  const packA = !directB && (fused ? n >= PACK_COLUMNS_FUSED && columnStrideA != sizeof<T>() : n >= PACK_COLUMNS);
  const blockWidth = directB ? n : PANELS * tileColumns;

  for (let start = 0; start < k; start += DEPTH) {
    const depth = min(k - start, DEPTH);
    const accumulate = start > 0;
    let columns = b;
    let block = c;
    for (let left = n; left > 0; left -= blockWidth) {
      const width = min(left, blockWidth);
      const panels = width / tileColumns;
      const edge = width % tileColumns;
      let panelB = packedB;
      let panelStride: usize = PANEL;
      let stepB: usize = TILE_ROW;
      let edgeB = packedB;
      if (directB) {
        panelB = columns;
        panelStride = TILE_ROW;
        stepB = rowStrideB;
        columns += <usize>panels * TILE_ROW;
      } else if (contiguousB) {
        packRows(columns, rowStrideB, packedB, panels, depth);
        columns += <usize>panels * TILE_ROW;
        edgeB += <usize>panels * PANEL;
      } else {
        for (let panel = panels; panel > 0; --panel) {
          pack<T>(columns, columnStrideB, rowStrideB, edgeB, tileColumns, tileColumns, depth);
          columns += <usize>tileColumns * columnStrideB;
          edgeB += PANEL;
        }
      }
      if (edge > 0) pack<T>(columns, columnStrideB, rowStrideB, edgeB, edge, tileColumns, depth);

      let rowA = a;
      let rowC = block;
      for (let rowsLeft = m; rowsLeft > 0; ) {
        // Strips of 4 where they leave fewer rows missing.
        const six = fused && rowsLeft > 4 && rowsLeft != 7 && rowsLeft != 8;
        const rows = min(rowsLeft, six ? 6 : 4);
        let stripA = rowA;
        let rowStride = rowStrideA;
        let stepA = columnStrideA;
        if (packA) {
          pack<T>(rowA, rowStrideA, columnStrideA, packedA, rows, rows, depth);
          stripA = packedA;
          rowStride = sizeof<T>();
          stepA = <usize>rows * sizeof<T>();
        }
        const packed = packA && rows == 4;
        if (panels > 0) {
          strip<T>(
            six, packed, stripA, rowStride, stepA, panelB, panelStride, stepB,
            rowC, rowStrideC, rows, panels, depth, accumulate,
          );
        }
        if (edge > 0) {
          strip<T>(
            six, packed, stripA, rowStride, stepA, edgeB, 0, TILE_ROW,
            workspace, TILE_ROW, rows, 1, depth, false,
          );
          copyTile<T>(workspace, rowC + <usize>panels * TILE_ROW, rowStrideC, rows, edge, accumulate);
        }
        rowsLeft -= rows;
        rowA += <usize>rows * rowStrideA;
        rowC += <usize>rows * rowStrideC;
      }
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
export function matmulWorkspace_f32(): i32 {
  return WORKSPACE;
}

/** Bytes of scratch memory that `matmul_f64` may use. */
export function matmulWorkspace_f64(): i32 {
  return WORKSPACE;
}
