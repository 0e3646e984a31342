// The register tile of matrix products C = A · B, and what brings operands to it.
//
// One tile does the work: 4 rows by 2 vectors of C, or 6 rows where multiply and add are fused (else the product needs a
// register). It broadcasts single values of A, loads whole vectors of B and walks both by strides.
// Operands that caches would not hold as they lie are first packed into panels: K. Goto and R. A. van de Geijn,
// "Anatomy of High-Performance Matrix Multiplication", 2008.
import { fused, lanes, multiplyAdd } from "./simd";

/** Rows of the largest register tile. */
const TILE_ROWS: i32 = 6;

/** Bytes of a row of the register tile: two vectors. */
export const TILE_ROW: i32 = 32;

/** Terms of a block: packed rows of A (up to 12 KiB) and a panel of B (8 KiB) share a first-level cache of 32 KiB. */
export const DEPTH: i32 = 256;

/** From this many columns on, packing A costs less than it gains. */
const PACK_COLUMNS: i32 = 64;
const PACK_COLUMNS_FUSED: i32 = 256;

// The scratch memory of `multiplyPanels`: a tile, packed rows of A.
const PACKED_A: i32 = TILE_ROWS * TILE_ROW;
/** Its size in bytes. */
export const PANEL_WORKSPACE: usize = PACKED_A + TILE_ROWS * DEPTH * sizeof<f64>();

/**
 * Distance of packed panels of so many terms: a cache line more than they need, or their lines would compete for the
 * same ways.
 */
@inline
export function panelStride(depth: i32): usize {
  return <usize>depth * TILE_ROW + 64;
}

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
export function pack<T>(
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
function packRows(source: usize, stride: usize, out: usize, panelStride: usize, panels: i32, depth: i32): void {
  for (; depth > 0; --depth) {
    let from = source;
    let to = out;
    for (let panel = panels; panel > 0; --panel) {
      v128.store(to, v128.load(from));
      v128.store(to, v128.load(from, 16), 16);
      from += TILE_ROW;
      to += panelStride;
    }
    source += stride;
    out += TILE_ROW;
  }
}

/** Packs `columns` columns of B, `depth` terms long, as panels, of which the last is padded with zeros. */
export function packPanels<T>(
  b: usize, rowStrideB: usize, columnStrideB: usize, out: usize, panelStride: usize, columns: i32, depth: i32,
): void {
  const tileColumns = TILE_ROW / sizeof<T>();
  const panels = columns / tileColumns;
  const edge = columns % tileColumns;
  if (columnStrideB == sizeof<T>()) {
    packRows(b, rowStrideB, out, panelStride, panels, depth);
    b += <usize>panels * TILE_ROW;
    out += <usize>panels * panelStride;
  } else {
    for (let panel = panels; panel > 0; --panel) {
      pack<T>(b, columnStrideB, rowStrideB, out, tileColumns, tileColumns, depth);
      b += <usize>tileColumns * columnStrideB;
      out += panelStride;
    }
  }
  if (edge > 0) pack<T>(b, columnStrideB, rowStrideB, out, edge, tileColumns, depth);
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

/** Whether packing rows of A for so many columns of B costs less than it gains. */
@inline
export function packsRows<T>(columns: i32, columnStrideA: usize): bool {
  // With fused multiply-add the tile is as fast with rows of A that are contiguous.
  return fused ? columns >= PACK_COLUMNS_FUSED && columnStrideA != sizeof<T>() : columns >= PACK_COLUMNS;
}

/**
 * C = A · B, or C += A · B, for all rows of A and up to DEPTH terms, strides in bytes: `panels` full panels of B at
 * `b`, and `edge` columns more of C from a padded one at `edgeB`.
 */
export function multiplyPanels<T>(
  a: usize, rowStrideA: usize, columnStrideA: usize, packA: bool,
  b: usize, panelStride: usize, stepB: usize, edgeB: usize,
  c: usize, rowStrideC: usize, m: i32, panels: i32, edge: i32, depth: i32, accumulate: bool, workspace: usize,
): void {
  const packedA = workspace + PACKED_A;
  while (m > 0) {
    // Strips of 4 where they leave fewer rows missing.
    const six = fused && m > 4 && m != 7 && m != 8;
    const rows = min(m, six ? 6 : 4);
    let stripA = a;
    let rowStride = rowStrideA;
    let stepA = columnStrideA;
    if (packA) {
      pack<T>(a, rowStrideA, columnStrideA, packedA, rows, rows, depth);
      stripA = packedA;
      rowStride = sizeof<T>();
      stepA = <usize>rows * sizeof<T>();
    }
    const packed = packA && rows == 4;
    if (panels > 0) {
      strip<T>(
        six, packed, stripA, rowStride, stepA, b, panelStride, stepB,
        c, rowStrideC, rows, panels, depth, accumulate,
      );
    }
    if (edge > 0) {
      strip<T>(
        six, packed, stripA, rowStride, stepA, edgeB, 0, TILE_ROW,
        workspace, TILE_ROW, rows, 1, depth, false,
      );
      copyTile<T>(workspace, c + <usize>panels * TILE_ROW, rowStrideC, rows, edge, accumulate);
    }
    m -= rows;
    a += <usize>rows * rowStrideA;
    c += <usize>rows * rowStrideC;
  }
}
