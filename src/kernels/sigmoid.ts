// The logistic function and the activations that contain it. All of them rest on e^-|x|, which cannot overflow.
import { exponentialOfNegative, scaledExponential, timesScaledExponential, unscale } from "./exponential";
import { logarithmOnePlusFraction } from "./logarithm";
import { multiplyAdd } from "./simd";
import { entry, leadingHalf, negativePartDropped } from "./vector";

const ONE = 0;
const SILU_LIMIT = 1; // silu(-x) rounds to 0
const GELU_LIMIT = 2; // geluTanh(-x) rounds to 0
// geluTanh(x) = x / (1 + e^-z) with z = 2 √(2/π) (x + 0.044715 x³); each coefficient in a part of few bits and a rest.
const LINEAR_HIGH = 3;
const LINEAR_LOW = 4;
const CUBIC_HIGH = 5;
const CUBIC_LOW = 6;
const SINGLE = memory.data<f32>([
  1, 110, 11, 1.595703125, 6.599660264328122e-5, 0.07135009765625, 4.718616310128709e-6,
]);
const DOUBLE = memory.data<f64>([
  1, 760, 21.7, 1.5957691073417664, 1.426396435433791e-8, 0.071354815736413, 5.361872467621785e-10,
]);

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** 1 / (1 + e^-x) in each lane. */
@inline
export function sigmoid<T>(x: v128): v128 {
  const one = scalar<T>(ONE);
  const e = exponentialOfNegative<T>(v128.neg<T>(v128.abs<T>(x)));
  return v128.div<T>(v128.bitselect(e, one, v128.lt<T>(x, i64x2.splat(0))), v128.add<T>(one, e));
}

/** log(1 + e^x) in each lane. */
@inline
export function softplus<T>(x: v128): v128 {
  const e = exponentialOfNegative<T>(v128.neg<T>(v128.abs<T>(x)));
  return v128.add<T>(negativePartDropped<T>(x), logarithmOnePlusFraction<T>(e));
}

/**
 * x / (1 + e^-z) from y = |x|, bounded where the result for -y is 0, and e = 2^100 e^-|z|, as max(x, 0) - y e^-|z| /
 * (1 + e^-|z|): for negative x only the product is left, for positive x it is at most half of x.
 */
@inline
function gated<T>(x: v128, y: v128, e: v128): v128 {
  const passed = v128.div<T>(v128.mul<T>(y, e), v128.add<T>(scalar<T>(ONE), unscale<T>(e)));
  return v128.sub<T>(negativePartDropped<T>(x), unscale<T>(passed));
}

/** x / (1 + e^-x) in each lane; -0 at -∞. */
@inline
export function silu<T>(x: v128): v128 {
  const y = v128.pmin<T>(v128.abs<T>(x), scalar<T>(SILU_LIMIT));
  return gated<T>(x, y, scaledExponential<T>(v128.neg<T>(y)));
}

/** x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2 in each lane; -0 at -∞. */
@inline
export function geluTanh<T>(x: v128): v128 {
  const y = v128.pmin<T>(v128.abs<T>(x), scalar<T>(GELU_LIMIT));
  // e^-z needs z to far more digits than it has. Factors of half the length have exact products (Dekker): here
  // y = yHigh + yLow, y² = square + squareLow, and z / y = ratio + ratioLow.
  const linear = scalar<T>(LINEAR_HIGH);
  const cubic = scalar<T>(CUBIC_HIGH);
  const yHigh = leadingHalf<T>(y);
  const yLow = v128.sub<T>(y, yHigh);
  const yHighSquare = v128.mul<T>(yHigh, yHigh);
  const square = leadingHalf<T>(yHighSquare);
  const squareLow = multiplyAdd<T>(yLow, v128.add<T>(y, yHigh), v128.sub<T>(yHighSquare, square));
  const cubicTerm = v128.mul<T>(cubic, square);
  const ratio = leadingHalf<T>(v128.add<T>(linear, cubicTerm));
  const rests = multiplyAdd<T>(scalar<T>(CUBIC_LOW), v128.mul<T>(y, y), scalar<T>(LINEAR_LOW));
  const ratioLow = v128.add<T>(
    v128.add<T>(v128.sub<T>(linear, ratio), cubicTerm),
    multiplyAdd<T>(cubic, squareLow, rests),
  );
  const z = v128.mul<T>(ratio, yHigh);
  const zLow = multiplyAdd<T>(ratio, yLow, v128.mul<T>(ratioLow, y));
  return gated<T>(x, y, timesScaledExponential<T>(scalar<T>(ONE), v128.neg<T>(z), v128.neg<T>(zLow)));
}
