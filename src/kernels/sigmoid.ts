// The logistic function, the activations that contain it, and their slopes.
import {
  exponential, exponentialOfNegative, flushedExponential, isBelowOrdinary, ordinaryExponential, scaledExponential,
  timesScaledExponential, unscale,
} from "./exponential";
import { logarithmOnePlusFraction } from "./logarithm";
import { multiplyAdd } from "./simd";
import { entry, leadingHalf, negativePartDropped } from "./vector";

const ONE = 0;
const SILU_LIMIT = 1; // silu(x) rounds to 0
const GELU_LIMIT = 2; // geluTanh(x) rounds to 0
// geluTanh(x) = x / (1 + e^-z) with z = 2 √(2/π) (x + 0.044715 x³); each coefficient in a part of few bits and a rest.
const LINEAR_HIGH = 3;
const LINEAR_LOW = 4;
const CUBIC_HIGH = 5;
const CUBIC_LOW = 6;
const LINEAR = 7;
const CUBIC = 8;
const THRICE_CUBIC = 9;
const SINGLE = memory.data<f32>([
  1, -110, -11, 1.595703125, 6.599660264328122e-5, 0.07135009765625, 4.718616310128709e-6, 1.5957691216057308,
  0.07135481627260025, 0.21406444881780074,
]);
const DOUBLE = memory.data<f64>([
  1, -760, -21.7, 1.5957691073417664, 1.426396435433791e-8, 0.071354815736413, 5.361872467621785e-10,
  1.5957691216057308, 0.07135481627260025, 0.21406444881780074,
]);

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** 0 - x: cheaper than a change of sign. */
@inline
function opposite<T>(x: v128): v128 {
  return v128.sub<T>(i64x2.splat(0), x);
}

/** x / (1 + e^-z) where e^z and e^-z are normal numbers, to the bit what `gate` gives. */
@inline
export function ordinaryGate<T>(x: v128, z: v128): v128 {
  return v128.div<T>(x, v128.add<T>(scalar<T>(ONE), ordinaryExponential<T>(opposite<T>(z))));
}

/** x / (1 + e^-z) for z not below -154 (f32) or -775 (f64). */
@inline
export function gate<T>(x: v128, z: v128): v128 {
  const isLow = isBelowOrdinary<T>(z);
  const low = unscale<T>(v128.mul<T>(x, scaledExponential<T>(z)));
  const high = v128.div<T>(x, v128.add<T>(scalar<T>(ONE), exponential<T>(opposite<T>(z))));
  return v128.bitselect(low, high, isLow);
}

/** log(1 + e^x) in each lane. */
@inline
export function softplus<T>(x: v128): v128 {
  const e = exponentialOfNegative<T>(v128.neg<T>(v128.abs<T>(x)));
  return v128.add<T>(negativePartDropped<T>(x), logarithmOnePlusFraction<T>(e));
}

/** x, but not below where silu(x), and so the logistic function as well, rounds to 0. */
@inline
export function aboveSiluLimit<T>(x: v128): v128 {
  return v128.pmax<T>(x, scalar<T>(SILU_LIMIT));
}

/** x, but not below where geluTanh(x) rounds to 0. */
@inline
export function aboveGeluLimit<T>(x: v128): v128 {
  return v128.pmax<T>(x, scalar<T>(GELU_LIMIT));
}

/** The z of geluTanh(x) = x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2 = x / (1 + e^-z). */
@inline
export function geluTanhExponent<T>(x: v128): v128 {
  return v128.mul<T>(x, multiplyAdd<T>(v128.mul<T>(x, x), scalar<T>(CUBIC), scalar<T>(LINEAR)));
}

/** geluTanh with all digits in the tail, too: max(x, 0) - y e^-z / (1 + e^-z), where y is |x| and z that of y. */
@inline
export function geluTanhOfDoubles(x: v128): v128 {
  const y = f64x2.pmin(f64x2.abs(x), f64x2.neg(scalar<f64>(GELU_LIMIT)));
  // e^-z needs z to far more digits than it has. Factors of half the length have exact products (Dekker): here
  // y = yHigh + yLow, y² = square + squareLow, and z / y = ratio + ratioLow.
  const linear = scalar<f64>(LINEAR_HIGH);
  const cubic = scalar<f64>(CUBIC_HIGH);
  const yHigh = leadingHalf<f64>(y);
  const yLow = f64x2.sub(y, yHigh);
  const yHighSquare = f64x2.mul(yHigh, yHigh);
  const square = leadingHalf<f64>(yHighSquare);
  const squareLow = multiplyAdd<f64>(yLow, f64x2.add(y, yHigh), f64x2.sub(yHighSquare, square));
  const cubicTerm = f64x2.mul(cubic, square);
  const ratio = leadingHalf<f64>(f64x2.add(linear, cubicTerm));
  const rests = multiplyAdd<f64>(scalar<f64>(CUBIC_LOW), f64x2.mul(y, y), scalar<f64>(LINEAR_LOW));
  const ratioLow = f64x2.add(f64x2.add(f64x2.sub(linear, ratio), cubicTerm), multiplyAdd<f64>(cubic, squareLow, rests));
  const z = f64x2.mul(ratio, yHigh);
  const zLow = multiplyAdd<f64>(ratio, yLow, f64x2.mul(ratioLow, y));
  const e = timesScaledExponential<f64>(scalar<f64>(ONE), f64x2.neg(z), f64x2.neg(zLow));
  const passed = f64x2.div(f64x2.mul(y, e), f64x2.add(scalar<f64>(ONE), unscale<f64>(e)));
  return f64x2.sub(negativePartDropped<f64>(x), unscale<f64>(passed));
}

/** σ(z) + factor · σ'(z) in each lane, σ(z) = 1 / (1 + e^-z), taken for 0 where it is below the normal numbers. */
@inline
export function gateSlope<T>(z: v128, factor: v128): v128 {
  const one = scalar<T>(ONE);
  const e = flushedExponential<T>(v128.neg<T>(v128.abs<T>(z)));
  const inverse = v128.div<T>(one, v128.add<T>(one, e));
  const small = v128.mul<T>(e, inverse);
  const value = v128.bitselect(small, inverse, v128.lt<T>(z, i64x2.splat(0)));
  return multiplyAdd<T>(v128.mul<T>(small, inverse), factor, value);
}

/** x, but between the limits beyond which silu and its slope have nothing of the exponential; NaN stays. */
@inline
export function withinSiluLimits<T>(x: v128): v128 {
  return v128.pmin<T>(aboveSiluLimit<T>(x), opposite<T>(scalar<T>(SILU_LIMIT)));
}

/** The same for geluTanh. */
@inline
export function withinGeluLimits<T>(x: v128): v128 {
  return v128.pmin<T>(aboveGeluLimit<T>(x), opposite<T>(scalar<T>(GELU_LIMIT)));
}

/** The derivative of the z of geluTanh. */
@inline
export function geluTanhExponentSlope<T>(x: v128): v128 {
  return multiplyAdd<T>(v128.mul<T>(x, x), scalar<T>(THRICE_CUBIC), scalar<T>(LINEAR));
}
