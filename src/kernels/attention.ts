// Attention, Y = softmax(factor · Q Kᵀ + mask) V, and its derivatives, in blocks of queries by blocks of keys, of which
// no more than one is in memory at a time: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention
// with IO-Awareness", arXiv 2205.14135. The forward pass keeps two numbers of each query's row of scores, with which
// the backward pass computes the weights again: the row's maximum, and the inverse of the sum of e^(score - maximum).
//
// The bits of a result do not depend on how batches and queries (in the backward pass: queries towards Q, keys towards
// K and V) are divided among calls.
import { Attention, blockSize, NO_MASK, Offsets, paddedBytes, panelBytes, RANDOM } from "./attentionCall";
import { allFinite, multiplyAnnihilating, multiplyPacked, scalePanels } from "./attentionProducts";
import { addBias, biasRow, clearRows, completeRow, drawRow, keptLanes, RowState, scaleRow } from "./attentionRows";
import { flushedExponential } from "./exponential";
import { lanes } from "./simd";
import { below, exponentialSum, largestOf } from "./softmax";
import { PANEL_WORKSPACE, packPanels, panelStride, TILE_ROW } from "./tiles";

/** 1 / sum of a row; 0 for one that sees nothing. */
@inline
function inverseOf<T>(sum: f64): T {
  return sum == 0 ? 0 as T : <T>(1 / sum);
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
    const annihilating: bool = masks && !allFinite<T>(v, call.vRow, call.vColumn, keys, valueDim);
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
