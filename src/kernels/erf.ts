// The error function and the exact GELU, from erfc(y / √2) / 2 = e^(-y²/2) h(y).
import { scaledExponential, scaledExponentialOfSum, unscale } from "./exponential";
import { multiplyAdd } from "./simd";
import { entry, leadingHalf, negativePartDropped, polynomial } from "./vector";

const ONE = 0;
const NEGATIVE_HALF = 1;
const SQRT_TWO = 2;
const ERF_LIMIT = 3; // erf rounds to 1
const GELU_LIMIT = 4; // gelu(-y) rounds to 0
const SINGLE = memory.data<f32>([1, -0.5, 1.4142135623730951, 4, 14.6]);
const DOUBLE = memory.data<f64>([1, -0.5, 1.4142135623730951, 6, 38.7]);

// h(y) = e^(y²/2) erfc(y / √2) / 2 for 0 <= y <= 14.6 (f32) and 38.7 (f64) as a quotient of polynomials, minimax
// (Remez). Relative error: 2^-26.3 and 2^-53.4. All coefficients are positive, so that nothing cancels.
const NUMERATOR_SINGLE = memory.data<f32>([
  0.5, 0.43859729170799255, 0.18345947563648224, 0.04070894420146942, 0.00412757508456707,
]);
const DENOMINATOR_SINGLE = memory.data<f32>([
  1, 1.675079584121704, 1.2034341096878052, 0.4700630009174347, 0.10204852372407913, 0.010346179828047752,
]);
const NUMERATOR_DOUBLE = memory.data<f64>([
  0.5, 0.7747229296968975, 0.5938278085375223, 0.2891768033146797, 0.09762950111278272, 0.023601114513650694,
  0.004084793528435908, 0.0004897646777937854, 3.7194976344108266e-5, 1.3830710397732973e-6,
]);
const DENOMINATOR_DOUBLE = memory.data<f64>([
  1, 2.347330420196651, 2.560554318453172, 1.7136766745855656, 0.7815975710108547, 0.25477344709230487,
  0.06037994568246671, 0.010332292922441096, 0.0012311248344501835, 9.32339793761961e-5, 3.4668449741295925e-6,
]);

// erf(x) / x - 1 in x², for |x| <= 1, minimax (Remez). Error relative to erf(x) / x: 2^-27.3 and 2^-56.3.
const SMALL_SINGLE = memory.data<f32>([
  0.12837916612625122, -0.3761262595653534, 0.1128358468413353, -0.026853807270526886, 0.005188318435102701,
  -0.0008010102319531143, 7.853531133150682e-5,
]);
const SMALL_DOUBLE = memory.data<f64>([
  0.1283791670955126, -0.3761263890318375, 0.11283791670954857, -0.026866170645072837, 0.0052239776247802894,
  -0.000854832697870775, 0.0001205533103559784, -1.4925593474578097e-5, 1.6460972283013143e-6, -1.6350019403783528e-7,
  1.4657839698941362e-8, -1.1365507110909795e-9, 5.944987123356707e-11,
]);

// @ts-ignore: decorator
@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** factor · h(y) */
// @ts-ignore: decorator
@inline
function timesH<T>(factor: v128, y: v128): v128 {
  const y2 = v128.mul<T>(y, y);
  const degree = sizeof<T>() == 4 ? 5 : 10;
  const numerator = polynomial<T>(y, y2, NUMERATOR_SINGLE, NUMERATOR_DOUBLE, degree - 1);
  const denominator = polynomial<T>(y, y2, DENOMINATOR_SINGLE, DENOMINATOR_DOUBLE, degree);
  return v128.div<T>(v128.mul<T>(factor, numerator), denominator);
}

/** erf x in each lane. */
// @ts-ignore: decorator
@inline
export function errorFunction<T>(x: v128): v128 {
  const one = scalar<T>(ONE);
  const magnitude = v128.abs<T>(x);
  const a = v128.pmin<T>(magnitude, scalar<T>(ERF_LIMIT));
  const square = v128.mul<T>(a, a);
  const degree = sizeof<T>() == 4 ? 6 : 12;
  const series = polynomial<T>(square, v128.mul<T>(square, square), SMALL_SINGLE, SMALL_DOUBLE, degree);
  const small = multiplyAdd<T>(a, series, a);
  const e = unscale<T>(scaledExponential<T>(v128.neg<T>(square)));
  const complement = timesH<T>(v128.add<T>(e, e), v128.mul<T>(a, scalar<T>(SQRT_TWO)));
  // A NaN is not below one and stays one in the complement.
  const result = v128.bitselect(small, v128.sub<T>(one, complement), v128.lt<T>(magnitude, one));
  return v128.or(result, v128.xor(x, magnitude));
}

/**
 * x (1 + erf(x / √2)) / 2 in each lane; -0 at -∞. It is max(x, 0) - |x| erfc(|x| / √2) / 2: for negative x only the
 * product is left, for positive x it is at most half of x.
 */
// @ts-ignore: decorator
@inline
export function gelu<T>(x: v128): v128 {
  const y = v128.pmin<T>(v128.abs<T>(x), scalar<T>(GELU_LIMIT));
  // e^(-y²/2) needs the square to far more digits than it has: that of the leading half of y is exact.
  const high = leadingHalf<T>(y);
  const square = v128.mul<T>(v128.mul<T>(high, scalar<T>(NEGATIVE_HALF)), high);
  const squareLow = v128.mul<T>(v128.mul<T>(v128.sub<T>(y, high), scalar<T>(NEGATIVE_HALF)), v128.add<T>(y, high));
  const e = scaledExponentialOfSum<T>(square, squareLow);
  return v128.sub<T>(negativePartDropped<T>(x), unscale<T>(timesH<T>(v128.mul<T>(y, e), y)));
}
