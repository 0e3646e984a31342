// Cross-entropy of the rows of a contiguous [rows, count] array of logits with class numbers, and its backward pass.
// The target distribution is (1 - smoothing) at the class of the row plus smoothing / count everywhere. Rows whose class
// is `ignored` give 0.
import { rowMoment } from "./moment";
import { loadUpTo, storeUpTo } from "./rest";
import { lanes, multiplyAdd } from "./simd";
import { exponentialSum, logarithmOfSum, rowMaximum } from "./softmax";

/** The value of a row at the place that a target names. */
@inline
function at(target: usize, row: usize, size: usize): usize {
  return row + <usize>load<i32>(target) * size;
}

/** The sum of x - maximum over a row, where two equal infinities differ by 0. */
function distancesBelow<T>(x: usize, count: i32, maximum: f64): f64 {
  if (maximum < Infinity) return rowMoment<T>(false, x, count, maximum);
  for (; count > 0; count--, x += sizeof<T>()) {
    if (<f64>load<T>(x) != maximum) return -Infinity;
  }
  return 0;
}

/** out[r] = -Σ over the classes of the target distribution times the logarithm of the row's softmax. */
function crossEntropy<T>(
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  for (; rows > 0; rows--, x += <usize>count * sizeof<T>(), target += 4, out += sizeof<T>()) {
    let loss: f64 = 0;
    if (load<i32>(target) != ignored) {
      const maximum = rowMaximum<T>(x, count);
      const subtracted = <f64>v128.extract_lane<T>(maximum, 0);
      const sum = exponentialSum<T>(x, 0, count, maximum);
      // A row of -∞ stays one.
      loss = sum == 0 ? 0 : logarithmOfSum(sum);
      const logit = <f64>load<T>(at(target, x, sizeof<T>()));
      // Also where both are infinite.
      if (logit != subtracted) loss -= (1 - smoothing) * (logit - subtracted);
      if (smoothing > 0) loss -= (smoothing / <f64>count) * distancesBelow<T>(x, count, subtracted);
    }
    store<T>(out, <T>loss);
  }
}

/** out[r] = g[r] (softmax of the row - target distribution), and 0 where g[r] is 0. */
function crossEntropyBackward<T>(
  g: usize,
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  const size = <usize>count * sizeof<T>();
  for (; rows > 0; rows--, g += sizeof<T>(), x += size, target += 4, out += size) {
    const cotangent = load<T>(g);
    if (cotangent == 0 || load<i32>(target) == ignored) {
      memory.fill(out, 0, size);
      continue;
    }
    const sum = exponentialSum<T>(x, out, count, rowMaximum<T>(x, count));
    const factor = v128.splat<T>(sum == 0 ? 0 : <T>(<f64>cotangent / sum));
    const uniform = v128.splat<T>(<T>((-smoothing / <f64>count) * <f64>cotangent));
    let left = count;
    let offset: usize = 0;
    for (; left >= lanes<T>(); left -= lanes<T>(), offset += 16) {
      v128.store(out + offset, multiplyAdd<T>(v128.load(out + offset), factor, uniform));
    }
    if (left > 0) {
      const power = loadUpTo<T>(out + offset, left, uniform);
      storeUpTo<T>(out + offset, multiplyAdd<T>(power, factor, uniform), left);
    }
    const place = at(target, out, sizeof<T>());
    store<T>(place, <T>(<f64>load<T>(place) - (1 - smoothing) * <f64>cotangent));
  }
}

export function crossEntropy_f32(
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  crossEntropy<f32>(x, target, out, rows, count, ignored, smoothing);
}

export function crossEntropyBackward_f32(
  g: usize,
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  crossEntropyBackward<f32>(g, x, target, out, rows, count, ignored, smoothing);
}

export function crossEntropy_f64(
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  crossEntropy<f64>(x, target, out, rows, count, ignored, smoothing);
}

export function crossEntropyBackward_f64(
  g: usize,
  x: usize,
  target: usize,
  out: usize,
  rows: i32,
  count: i32,
  ignored: i32,
  smoothing: f64,
): void {
  crossEntropyBackward<f64>(g, x, target, out, rows, count, ignored, smoothing);
}
