// Attention, Y = softmax(factor · Q Kᵀ + mask) V, and its derivatives, in blocks of queries by blocks of keys, of which
// no more than one is in memory at a time: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention
// with IO-Awareness", arXiv 2205.14135. The forward pass keeps two numbers of each query's row of scores, with which
// the backward pass computes the weights again: the row's maximum, and the inverse of the sum of e^(score - maximum).
//
// The bits of a result do not depend on how batches and queries (in the backward pass: queries towards Q, keys towards
// K and V) are divided among calls.
import { addToFirst, addToSecond, total } from "./accumulator";
import { flushedExponential } from "./exponential";
import { loadUpTo, storeUpTo } from "./partial";
import { randomUniform_f32 } from "./random";
import { lanes, multiplyAdd } from "./simd";
import { annihilate, below, exponentialSum, largestOf } from "./softmax";
import {
  DEPTH, multiplyPanels, pack, PANEL_WORKSPACE, panelStride, packPanels, packsRows, TILE_ROW,
} from "./tiles";

/**
 * Queries and keys of a block, at most: its scores and their cotangents (57 KiB each in f32) fit a second-level cache,
 * beside the packed operands.
 */
const BLOCK: i32 = 120;

/** Blocks are a multiple of this, where there are several: whole strips of 4 or 6 rows, and whole panels. */
const STRIPS: i32 = 24;

const NO_MASK: i32 = 0;
const BOOL_MASK: i32 = 1;

/**
 * What the caller writes: sizes, options and operands, strides in bytes. Matrices of a batch lie at offsets from the
 * addresses, which `Offsets` has for every position of the batch. The rows of Y, and of whatever is written, are
 * contiguous.
 */
@unmanaged
class Attention {
  queries: i32;
  keys: i32;
  keyDim: i32;
  valueDim: i32;
  /** Whether query n sees only keys up to n. */
  causal: i32;
  /** 0 for none, 1 for bools that are true where attention is allowed, 2 for numbers to add to the scores. */
  maskKind: i32;
  factor: f64;
  /** What each weight is multiplied with unless it is dropped. */
  kept: f64;
  /** The probability with which a weight is dropped. */
  dropout: f32;
  seedLow: u32;
  seedHigh: u32;
  counterLow: u32;
  counterHigh: u32;
  /** Two numbers for each query, of all positions in turn. */
  statistics: usize;
  /** The Offsets of the first position. */
  offsets: usize;
  q: usize;
  qRow: usize;
  qColumn: usize;
  k: usize;
  kRow: usize;
  kColumn: usize;
  v: usize;
  vRow: usize;
  vColumn: usize;
  mask: usize;
  maskRow: usize;
  maskColumn: usize;
  y: usize;
  yRow: usize;
  yColumn: usize;
  /** The cotangent of Y. */
  g: usize;
  gRow: usize;
  gColumn: usize;
  /** The products of the cotangent with the Jacobians; address 0 where not wanted. */
  dq: usize;
  dqRow: usize;
  dqColumn: usize;
  dk: usize;
  dkRow: usize;
  dkColumn: usize;
  dv: usize;
  dvRow: usize;
  dvColumn: usize;
}

/** Where the matrices of a position of the batch lie. */
@unmanaged
class Offsets {
  q: usize;
  k: usize;
  v: usize;
  mask: usize;
  y: usize;
  g: usize;
  dq: usize;
  dk: usize;
  dv: usize;
  /** Which matrix of weights this is among those that differ in what is dropped. */
  weights: i32;
}

/** Bytes of `count` values, as whole tiles. */
@inline
function paddedBytes<T>(count: i32): usize {
  return (<usize>count * sizeof<T>() + TILE_ROW - 1) & ~(TILE_ROW - 1);
}

/** Bytes of packed panels. */
@inline
function panelBytes<T>(columns: i32, depth: i32): usize {
  return paddedBytes<T>(columns) / TILE_ROW * panelStride(depth);
}

/** The size of blocks into which so many queries or keys are evenly divided. */
@inline
function blockSize(count: i32): i32 {
  const blocks = (count + BLOCK - 1) / BLOCK;
  const size = (count + blocks - 1) / blocks;
  return min(count, (size + STRIPS - 1) / STRIPS * STRIPS);
}

/** Bytes of the random numbers for a row of a block. */
const RANDOM: usize = 4 * (BLOCK + 8);

/** A row of numbers to add to the scores: those of the mask, or 0 and -∞ for true and false. */
function biasRow<T>(mask: usize, stride: usize, count: i32, kind: i32, out: usize): void {
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
function addBias<T>(row: usize, bias: usize, count: i32): void {
  const lowest = v128.splat<T>(-<T>Infinity);
  for (let x: usize = 0; count > 0; count -= lanes<T>(), x += 16) {
    const added = v128.load(bias + x);
    const score = v128.add<T>(v128.load(row + x), added);
    v128.store(row + x, v128.bitselect(lowest, score, v128.eq<T>(added, lowest)));
  }
}

/** Completes the last vector of a row with -∞; returns the count of what is there then. */
@inline
function completeRow<T>(row: usize, count: i32): i32 {
  for (; count % lanes<T>() != 0; ++count) store<T>(row + <usize>count * sizeof<T>(), -<T>Infinity);
  return count;
}

/** Panels of so many columns times a factor. */
function scalePanels<T>(panels: usize, columns: i32, depth: i32, factor: f64): void {
  if (factor == 1) return;
  const by = v128.splat<T>(<T>factor);
  for (let left = paddedBytes<T>(columns); left > 0; left -= TILE_ROW, panels += panelStride(depth)) {
    for (let x: usize = 0; x < <usize>depth * TILE_ROW; x += 16) {
      v128.store(panels + x, v128.mul<T>(v128.load(panels + x), by));
    }
  }
}

/** Draws the numbers that decide what is dropped of a row of weights from `key` on; returns where they begin. */
function drawRow(call: Attention, weights: i32, query: i32, key: i32, count: i32, out: usize): usize {
  // The place of the weight among all of them, four to a counter.
  const place = (<u64>weights * call.queries + query) * call.keys + key;
  const skipped = <i32>(place & 3);
  const counter = ((<u64>call.counterHigh << 32) | call.counterLow) + (place >> 2);
  randomUniform_f32(out, count + skipped, call.seedLow, call.seedHigh, <u32>counter, <u32>(counter >> 32));
  return out + 4 * skipped;
}

/** Which lanes are kept, by the numbers drawn for them. */
@inline
function keptLanes<T>(random: usize, dropout: v128): v128 {
  if (sizeof<T>() == 4) return f32x4.ge(v128.load(random), dropout);
  return i64x2.extend_low_i32x4_s(f32x4.ge(v128.load64_zero(random), dropout));
}

/** Whether all of a matrix is finite. */
function isFinite<T>(matrix: usize, rowStride: usize, columnStride: usize, rows: i32, columns: i32): bool {
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
function multiplyAnnihilating<T>(
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
function multiplyPacked<T>(
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

/** What is known of a row of scores so far. */
@unmanaged
class RowState {
  maximum: f64;
  /** The sum of e^(score - maximum). */
  sum: f64;
}

/** 1 / sum of a row; 0 for one that sees nothing. */
@inline
function inverseOf<T>(sum: f64): T {
  return sum == 0 ? 0 as T : <T>(1 / sum);
}

function clearRows<T>(matrix: usize, rowStride: usize, rows: i32, columns: i32): void {
  const zero = i64x2(0, 0);
  for (; rows > 0; --rows, matrix += rowStride) {
    for (let left = columns, x = matrix; left > 0; left -= lanes<T>(), x += 16) storeUpTo<T>(x, zero, left);
  }
}

/** A row times a factor, in place. */
@inline
function scaleRow<T>(row: usize, count: i32, factor: v128): void {
  for (; count > 0; count -= lanes<T>(), row += 16) {
    storeUpTo<T>(row, v128.mul<T>(loadUpTo<T>(row, count, factor), factor), count);
  }
}

/**
 * Turns a block of scores into weights that lack the factor 1 / sum, in place, and carries the rows' states on;
 * what is in Y is scaled to the new maxima. `seen` keys from `key` on, of which causal queries see fewer. `bias` is room
 * for a row of the mask, 0 where there is none.
 */
function weightRows<T>(
  call: Attention, weights: i32, mask: usize, scores: usize, scoreStride: usize, query: i32, rows: i32,
  key: i32, seen: i32, states: usize, y: usize, bias: usize, random: usize,
): void {
  const dropout = f32x4.splat(call.dropout);
  const kept = v128.splat<T>(<T>call.kept);
  for (let r = 0; r < rows; ++r) {
    if (bias && (r == 0 || call.maskRow != 0)) {
      biasRow<T>(mask + <usize>r * call.maskRow, call.maskColumn, seen, call.maskKind, bias);
    }
    const count = call.causal ? max(min(seen, query + r + 1 - key), 0) : seen;
    if (bias) addBias<T>(scores, bias, count);
    const whole = completeRow<T>(scores, count);
    const largest = v128.extract_lane<T>(largestOf<T>(scores, whole), 0);
    const state = changetype<RowState>(states);
    const before = <T>state.maximum;
    const maximum = largest > before ? largest : before;
    // Where nothing was seen yet, all exponentials are to be 0.
    const subtracted = v128.splat<T>(maximum == -<T>Infinity ? 0 as T : maximum);
    if (maximum != before) {
      state.maximum = <f64>maximum;
      if (key > 0) {
        const correction = flushedExponential<T>(below<T>(v128.splat<T>(before), subtracted));
        state.sum *= <f64>v128.extract_lane<T>(correction, 0);
        scaleRow<T>(y, call.valueDim, correction);
      }
    }
    state.sum += exponentialSum<T>(scores, scores, whole, subtracted);
    if (call.dropout > 0 && count > 0) {
      const drawn = drawRow(call, weights, query + r, key, count, random);
      for (let i = 0; i < count; i += lanes<T>()) {
        const at = scores + <usize>i * sizeof<T>();
        v128.store(at, v128.and(v128.mul<T>(v128.load(at), kept), keptLanes<T>(drawn + 4 * i, dropout)));
      }
    }
    clearRows<T>(scores + <usize>whole * sizeof<T>(), 0, 1, seen - whole);
    states += offsetof<RowState>();
    scores += scoreStride;
    y += call.yRow;
  }
}

function forward<T>(call: Attention, from: i32, to: i32, queryFrom: i32, queryTo: i32, workspace: usize): void {
  const queries = call.queries;
  const keys = call.keys;
  const keyDim = call.keyDim;
  const valueDim = call.valueDim;
  const tileColumns = TILE_ROW / sizeof<T>();
  const queryStep = blockSize(queries);
  const keyStep = blockSize(keys);
  const scoreStride = paddedBytes<T>(keyStep);
  const stride = panelStride(keyDim);
  const scores = workspace + PANEL_WORKSPACE;
  const bias = scores + <usize>queryStep * scoreStride;
  const random = bias + scoreStride;
  const keyPanels = random + RANDOM;
  const valuePanels = keyPanels + panelBytes<T>(keyStep, keyDim);
  const states = valuePanels + panelBytes<T>(valueDim, keyStep);
  const keysSeen = call.causal ? min(keys, queryTo) : keys;
  const rowBias = call.maskKind != NO_MASK ? bias : 0;
  const masks = call.maskKind != NO_MASK || call.causal || call.dropout > 0;

  for (let position = from; position < to; ++position) {
    const at = changetype<Offsets>(call.offsets + <usize>position * offsetof<Offsets>());
    const q = call.q + at.q;
    const k = call.k + at.k;
    const v = call.v + at.v;
    const mask = call.mask + at.mask;
    const y = call.y + at.y;
    const annihilating: bool = masks && !isFinite<T>(v, call.vRow, call.vColumn, keys, valueDim);
    for (let query = queryFrom; query < queryTo; ++query) {
      const state = changetype<RowState>(states + <usize>(query - queryFrom) * offsetof<RowState>());
      state.maximum = -Infinity;
      state.sum = 0;
    }
    for (let key = 0; key < keysSeen; key += keyStep) {
      const width = min(keyStep, keys - key);
      const values = v + <usize>key * call.vRow;
      const step = panelStride(width);
      packPanels<T>(k + <usize>key * call.kRow, call.kColumn, call.kRow, keyPanels, stride, width, keyDim);
      scalePanels<T>(keyPanels, width, keyDim, call.factor);
      packPanels<T>(values, call.vRow, call.vColumn, valuePanels, step, valueDim, width);
      for (let query = queryFrom; query < queryTo; query += queryStep) {
        const rows = min(queryStep, queryTo - query);
        const seen = call.causal ? min(width, query + rows - key) : width;
        if (seen <= 0) continue;
        multiplyPacked<T>(
          q + <usize>query * call.qRow, call.qRow, call.qColumn, keyPanels, stride, scores, scoreStride,
          rows, (seen + tileColumns - 1) / tileColumns * tileColumns, keyDim, false, workspace,
        );
        const target = y + <usize>query * call.yRow;
        weightRows<T>(
          call, at.weights, mask + <usize>query * call.maskRow + <usize>key * call.maskColumn,
          scores, scoreStride, query, rows, key, seen,
          states + <usize>(query - queryFrom) * offsetof<RowState>(), target, rowBias, random,
        );
        if (annihilating) {
          multiplyAnnihilating<T>(
            1, scores, scoreStride, sizeof<T>(), values, call.vRow, call.vColumn, target, call.yRow,
            rows, valueDim, seen, key > 0,
          );
        } else {
          multiplyPacked<T>(
            scores, scoreStride, sizeof<T>(), valuePanels, step, target, call.yRow,
            rows, valueDim, seen, key > 0, workspace,
          );
        }
      }
    }
    let statistics = call.statistics + (<usize>position * queries + queryFrom) * 2 * sizeof<T>();
    for (let query = queryFrom; query < queryTo; ++query) {
      const state = changetype<RowState>(states + <usize>(query - queryFrom) * offsetof<RowState>());
      const inverse = inverseOf<T>(state.sum);
      scaleRow<T>(y + <usize>query * call.yRow, valueDim, v128.splat<T>(inverse));
      store<T>(statistics, state.maximum == -Infinity ? 0 as T : <T>state.maximum);
      store<T>(statistics, inverse, sizeof<T>());
      statistics += 2 * sizeof<T>();
    }
  }
}

/**
 * Y and the statistics of the positions and queries in the given ranges. `call` is the address of an Attention,
 * `workspace` that of scratch memory of `attentionWorkspace_f32` bytes.
 */
export function attention_f32(
  call: usize, from: i32, to: i32, queryFrom: i32, queryTo: i32, workspace: usize,
): void {
  forward<f32>(changetype<Attention>(call), from, to, queryFrom, queryTo, workspace);
}

/** `attention_f32` in f64. */
export function attention_f64(
  call: usize, from: i32, to: i32, queryFrom: i32, queryTo: i32, workspace: usize,
): void {
  forward<f64>(changetype<Attention>(call), from, to, queryFrom, queryTo, workspace);
}

/**
 * The sums of g · y over the columns, for each row: in the order in which tiles form g · Vᵀ, so that where a query sees
 * one key alone, for which y = v, both are equal.
 */
function rowProducts<T>(
  g: usize, gRow: usize, gColumn: usize, y: usize, yRow: usize, rows: i32, columns: i32, out: usize, workspace: usize,
): void {
  const zero = i64x2(0, 0);
  const packed = workspace + DEPTH * 16;
  for (; rows > 0; rows -= lanes<T>(), out += 16) {
    const height = min(rows, lanes<T>());
    let result = zero;
    for (let start = 0; start < columns; start += DEPTH) {
      const depth = min(columns - start, DEPTH);
      pack<T>(g + <usize>start * gColumn, gRow, gColumn, workspace, height, lanes<T>(), depth);
      pack<T>(y + <usize>start * sizeof<T>(), yRow, sizeof<T>(), packed, height, lanes<T>(), depth);
      let sum = zero;
      for (let x: usize = 0; x < <usize>depth * 16; x += 16) {
        const factor = v128.load(workspace + x);
        // Nothing comes of a cotangent of 0, whatever y is.
        sum = multiplyAdd<T>(factor, v128.and(v128.load(packed + x), v128.ne<T>(factor, zero)), sum);
      }
      result = v128.add<T>(result, sum);
    }
    v128.store(out, result);
    g += <usize>lanes<T>() * gRow;
    y += <usize>lanes<T>() * yRow;
  }
}

/**
 * Turns a block of scores into weights, as they are after dropout, and a block of products g Vᵀ (address 0 for none) into
 * the cotangents of the scores, both in place.
 */
function cotangentRows<T>(
  call: Attention, weights: i32, mask: usize, scores: usize, products: usize, scoreStride: usize, query: i32, rows: i32,
  key: i32, seen: i32, statistics: usize, sums: usize, bias: usize, random: usize,
): void {
  const dropout = f32x4.splat(call.dropout);
  const kept = v128.splat<T>(<T>call.kept);
  for (let r = 0; r < rows; ++r) {
    if (bias && (r == 0 || call.maskRow != 0)) {
      biasRow<T>(mask + <usize>r * call.maskRow, call.maskColumn, seen, call.maskKind, bias);
    }
    const count = call.causal ? max(min(seen, query + r + 1 - key), 0) : seen;
    if (bias) addBias<T>(scores, bias, count);
    const whole = completeRow<T>(scores, count);
    exponentialSum<T>(scores, scores, whole, v128.load_splat<T>(statistics));
    const inverse = v128.load_splat<T>(statistics, sizeof<T>());
    const sum = v128.load_splat<T>(sums);
    let drawn: usize = 0;
    if (call.dropout > 0 && count > 0) drawn = drawRow(call, weights, query + r, key, count, random);
    for (let i = 0; i < count; i += lanes<T>()) {
      const x = <usize>i * sizeof<T>();
      const weight = v128.mul<T>(v128.load(scores + x), inverse);
      const keep = drawn ? keptLanes<T>(drawn + 4 * i, dropout) : i64x2(-1, -1);
      v128.store(scores + x, drawn ? v128.and(v128.mul<T>(weight, kept), keep) : weight);
      if (!products) continue;
      let product = v128.load(products + x);
      if (drawn) product = v128.and(v128.mul<T>(product, kept), keep);
      v128.store(products + x, annihilate<T>(weight, v128.sub<T>(product, sum)));
    }
    const tail = <usize>whole * sizeof<T>();
    clearRows<T>(scores + tail, 0, 1, seen - whole);
    if (products) clearRows<T>(products + tail, 0, 1, seen - whole);
    statistics += 2 * sizeof<T>();
    sums += sizeof<T>();
    scores += scoreStride;
    if (products) products += scoreStride;
  }
}

function backward<T>(
  call: Attention, from: i32, to: i32, queryFrom: i32, queryTo: i32, keyFrom: i32, keyTo: i32, workspace: usize,
): void {
  const queries = call.queries;
  const keys = call.keys;
  const keyDim = call.keyDim;
  const valueDim = call.valueDim;
  const tileColumns = TILE_ROW / sizeof<T>();
  const queryStep = blockSize(queries);
  const keyStep = blockSize(keys);
  const scoreStride = paddedBytes<T>(keyStep);
  const keyStride = panelStride(keyDim);
  const valueStride = panelStride(valueDim);
  const block = <usize>queryStep * scoreStride;
  const scores = workspace + PANEL_WORKSPACE;
  const bias = scores + block;
  const random = bias + scoreStride;
  const keyPanels = random + RANDOM;
  const valuePanels = keyPanels + panelBytes<T>(keyStep, keyDim);
  const keyRows = valuePanels + panelBytes<T>(keyStep, valueDim);
  const products = keyRows + panelBytes<T>(keyDim, keyStep);
  const sums = products + block;
  const queryBytes = panelBytes<T>(keyDim, queryStep);
  const cotangentBytes = panelBytes<T>(valueDim, queryStep);
  const queryPanels = (sums + <usize>(queryTo - queryFrom) * sizeof<T>() + 15) & ~15;
  const cotangentPanels = queryPanels + <usize>((queryTo - queryFrom + queryStep - 1) / queryStep) * queryBytes;
  const rowBias = call.maskKind != NO_MASK ? bias : 0;
  const masks = call.maskKind != NO_MASK || call.causal || call.dropout > 0;
  const towardsScores = call.dq != 0 || call.dk != 0;

  for (let position = from; position < to; ++position) {
    const at = changetype<Offsets>(call.offsets + <usize>position * offsetof<Offsets>());
    const q = call.q + at.q;
    const k = call.k + at.k;
    const v = call.v + at.v;
    const g = call.g + at.g;
    const mask = call.mask + at.mask;
    const dq = call.dq + at.dq;
    const dk = call.dk + at.dk;
    const dv = call.dv + at.dv;
    const statistics = call.statistics + <usize>position * queries * 2 * sizeof<T>();
    const annihilating: bool = masks && !(
      isFinite<T>(q, call.qRow, call.qColumn, queries, keyDim) &&
      isFinite<T>(k, call.kRow, call.kColumn, keys, keyDim) &&
      isFinite<T>(g, call.gRow, call.gColumn, queries, valueDim)
    );
    if (towardsScores) {
      rowProducts<T>(
        g + <usize>queryFrom * call.gRow, call.gRow, call.gColumn, call.y + at.y + <usize>queryFrom * call.yRow,
        call.yRow, queryTo - queryFrom, valueDim, sums, workspace,
      );
    }
    if (call.dq) clearRows<T>(dq + <usize>queryFrom * call.dqRow, call.dqRow, queryTo - queryFrom, keyDim);
    if (call.dk) clearRows<T>(dk + <usize>keyFrom * call.dkRow, call.dkRow, keyTo - keyFrom, keyDim);
    if (call.dv) clearRows<T>(dv + <usize>keyFrom * call.dvRow, call.dvRow, keyTo - keyFrom, valueDim);
    if (!annihilating) {
      let queryPanel = queryPanels;
      let cotangentPanel = cotangentPanels;
      for (let query = queryFrom; query < queryTo; query += queryStep) {
        const rows = min(queryStep, queryTo - query);
        const step = panelStride(rows);
        if (call.dk) {
          packPanels<T>(q + <usize>query * call.qRow, call.qRow, call.qColumn, queryPanel, step, keyDim, rows);
          scalePanels<T>(queryPanel, keyDim, rows, call.factor);
        }
        if (call.dv) {
          packPanels<T>(g + <usize>query * call.gRow, call.gRow, call.gColumn, cotangentPanel, step, valueDim, rows);
        }
        queryPanel += queryBytes;
        cotangentPanel += cotangentBytes;
      }
    }
    const keyEnd = call.causal ? min(keyTo, queryTo) : keyTo;
    for (let key = keyFrom; key < keyEnd; key += keyStep) {
      const width = min(keyStep, keyTo - key);
      const keysHere = k + <usize>key * call.kRow;
      const widthStride = panelStride(width);
      if (call.dq && !annihilating) {
        packPanels<T>(keysHere, call.kRow, call.kColumn, keyRows, widthStride, keyDim, width);
        scalePanels<T>(keyRows, keyDim, width, call.factor);
      }
      packPanels<T>(keysHere, call.kColumn, call.kRow, keyPanels, keyStride, width, keyDim);
      scalePanels<T>(keyPanels, width, keyDim, call.factor);
      if (towardsScores) {
        packPanels<T>(
          v + <usize>key * call.vRow, call.vColumn, call.vRow, valuePanels, valueStride, width, valueDim,
        );
      }
      for (let query = queryFrom; query < queryTo; query += queryStep) {
        const rows = min(queryStep, queryTo - query);
        const seen = call.causal ? min(width, query + rows - key) : width;
        if (seen <= 0) continue;
        const columns = (seen + tileColumns - 1) / tileColumns * tileColumns;
        const queriesHere = q + <usize>query * call.qRow;
        const cotangents = g + <usize>query * call.gRow;
        multiplyPacked<T>(
          queriesHere, call.qRow, call.qColumn, keyPanels, keyStride, scores, scoreStride,
          rows, columns, keyDim, false, workspace,
        );
        if (towardsScores) {
          multiplyPacked<T>(
            cotangents, call.gRow, call.gColumn, valuePanels, valueStride, products, scoreStride,
            rows, columns, valueDim, false, workspace,
          );
        }
        cotangentRows<T>(
          call, at.weights, mask + <usize>query * call.maskRow + <usize>key * call.maskColumn,
          scores, towardsScores ? products : 0, scoreStride, query, rows, key, seen,
          statistics + <usize>query * 2 * sizeof<T>(), sums + <usize>(query - queryFrom) * sizeof<T>(), rowBias, random,
        );
        const weights = scores;
        const place = <usize>((query - queryFrom) / queryStep);
        const rowStride = panelStride(rows);
        const dkHere = dk + <usize>key * call.dkRow;
        const dvHere = dv + <usize>key * call.dvRow;
        const dqHere = dq + <usize>query * call.dqRow;
        if (annihilating) {
          if (call.dv) {
            multiplyAnnihilating<T>(
              1, weights, sizeof<T>(), scoreStride, cotangents, call.gRow, call.gColumn,
              dvHere, call.dvRow, seen, valueDim, rows, true,
            );
          }
          if (call.dk) {
            multiplyAnnihilating<T>(
              call.factor, products, sizeof<T>(), scoreStride, queriesHere, call.qRow, call.qColumn,
              dkHere, call.dkRow, seen, keyDim, rows, true,
            );
          }
          if (call.dq) {
            multiplyAnnihilating<T>(
              call.factor, products, scoreStride, sizeof<T>(), keysHere, call.kRow, call.kColumn,
              dqHere, call.dqRow, rows, keyDim, seen, true,
            );
          }
          continue;
        }
        if (call.dv) {
          multiplyPacked<T>(
            weights, sizeof<T>(), scoreStride, cotangentPanels + place * cotangentBytes, rowStride,
            dvHere, call.dvRow, seen, valueDim, rows, true, workspace,
          );
        }
        if (call.dk) {
          multiplyPacked<T>(
            products, sizeof<T>(), scoreStride, queryPanels + place * queryBytes, rowStride,
            dkHere, call.dkRow, seen, keyDim, rows, true, workspace,
          );
        }
        if (call.dq) {
          multiplyPacked<T>(
            products, scoreStride, sizeof<T>(), keyRows, widthStride,
            dqHere, call.dqRow, rows, keyDim, seen, true, workspace,
          );
        }
      }
    }
  }
}

/**
 * The products of the cotangent of Y with the Jacobians towards Q, K and V, where wanted, of the positions in a range.
 * Towards Q the queries may be divided among calls, each of which takes all keys; towards K and V the keys, each of
 * which takes all queries; a call for products of both kinds takes all of both.
 */
export function attentionBackward_f32(
  call: usize, from: i32, to: i32, queryFrom: i32, queryTo: i32, keyFrom: i32, keyTo: i32, workspace: usize,
): void {
  backward<f32>(changetype<Attention>(call), from, to, queryFrom, queryTo, keyFrom, keyTo, workspace);
}

/** `attentionBackward_f32` in f64. */
export function attentionBackward_f64(
  call: usize, from: i32, to: i32, queryFrom: i32, queryTo: i32, keyFrom: i32, keyTo: i32, workspace: usize,
): void {
  backward<f64>(changetype<Attention>(call), from, to, queryFrom, queryTo, keyFrom, keyTo, workspace);
}

/** What the backward pass needs, and more than the forward pass does. */
@inline
function workspaceBytes<T>(queries: i32, keys: i32, keyDim: i32, valueDim: i32): usize {
  const queryStep = blockSize(queries);
  const keyStep = blockSize(keys);
  const scoreStride = paddedBytes<T>(keyStep);
  const queryBlocks = <usize>((queries + queryStep - 1) / queryStep);
  return PANEL_WORKSPACE + (2 * <usize>queryStep + 1) * scoreStride + RANDOM +
    panelBytes<T>(keyStep, keyDim) + panelBytes<T>(keyDim, keyStep) +
    max(panelBytes<T>(keyStep, valueDim), panelBytes<T>(valueDim, keyStep)) +
    <usize>queries * offsetof<RowState>() +
    queryBlocks * (panelBytes<T>(keyDim, queryStep) + panelBytes<T>(valueDim, queryStep));
}

/** Bytes of scratch memory that the kernels of attention use: a multiple of 16. */
export function attentionWorkspace_f32(queries: i32, keys: i32, keyDim: i32, valueDim: i32): usize {
  return workspaceBytes<f32>(queries, keys, keyDim, valueDim);
}

/** `attentionWorkspace_f32` in f64. */
export function attentionWorkspace_f64(queries: i32, keys: i32, keyDim: i32, valueDim: i32): usize {
  return workspaceBytes<f64>(queries, keys, keyDim, valueDim);
}
