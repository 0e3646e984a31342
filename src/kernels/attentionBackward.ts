// The products of a cotangent of Y with the Jacobians of attention; see attention.ts.
import { Attention, blockSize, NO_MASK, Offsets, paddedBytes, panelBytes, RANDOM } from "./attentionCall";
import { allFinite, multiplyAnnihilating, multiplyPacked, scalePanels } from "./attentionProducts";
import { addBias, biasRow, clearRows, completeRow, drawRow, keptLanes, RowState } from "./attentionRows";
import { lanes, multiplyAdd } from "./simd";
import { annihilate, exponentialSum } from "./softmax";
import { DEPTH, PANEL_WORKSPACE, pack, packPanels, panelStride, TILE_ROW } from "./tiles";

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
      allFinite<T>(q, call.qRow, call.qColumn, queries, keyDim) &&
      allFinite<T>(k, call.kRow, call.kColumn, keys, keyDim) &&
      allFinite<T>(g, call.gRow, call.gColumn, queries, valueDim)
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
