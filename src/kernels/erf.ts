// The error function and the exact GELU, from erfc(y / √2) / 2 = e^(-y²/2) h(y).
import { scaledExponential, timesScaledExponential, unscale } from "./exponential";
import { multiplyAdd } from "./simd";
import { entry, horner, leadingHalf, negativePartDropped, polynomial } from "./vector";

const ONE = 0;
const NEGATIVE_HALF = 1;
const SQRT_TWO = 2;
const ERF_LIMIT = 3; // erf rounds to 1
const GELU_LIMIT = 4; // gelu(-y) rounds to 0
const SLOPE = 5; // of 1 / h(y), √(2π) but for what makes up for the error of the quotient
const SINGLE = memory.data<f32>([1, -0.5, 1.4142135623730951, 4, 14.6, 2.5066325664520264]);
const DOUBLE = memory.data<f64>([1, -0.5, 1.4142135623730951, 6, 38.7, 2.5066282746310007]);

// With h(y) = e^(y²/2) erfc(y / √2) / 2, the reciprocal of h is √(2π) y plus what falls slowly from 2 to 0: for y up to
// 14.6 (f32) and 38.7 (f64) a quotient of polynomials, minimax (Remez). Error relative to h: 2^-25.2 and 2^-54.5. All
// coefficients are positive, so that nothing cancels, and the roundings of the quotient are small where it is; those
// for small y are least with the factor that both polynomials have in common.
const NUMERATOR_SINGLE = memory.data<f32>([1.75, 0.8186144232749939, 0.20607352256774902, 0.02199281007051468]);
const DENOMINATOR_SINGLE = memory.data<f32>([
  0.875, 0.807809054851532, 0.35140669345855713, 0.08161425590515137, 0.008799301460385323,
]);
const NUMERATOR_DOUBLE = memory.data<f64>([
  1.5, 1.8577896460169896, 1.1766046069999316, 0.48375630933904024, 0.14023051429648997, 0.029501314258590632,
  0.0044921414703156136, 0.00047798322953785576, 3.242645025981137e-5, 1.0813638521314103e-6,
]);
const DENOMINATOR_DOUBLE = memory.data<f64>([
  0.75, 1.2704670053929703, 1.0644457244636985, 0.5710677719010785, 0.2154040012493707, 0.05945044723070374,
  0.012148109646831773, 0.0018179776967693982, 0.00019155052367410028, 1.293628200536798e-5, 4.314017611477884e-7,
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

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** 1 / h(y) */
@inline
function inverseOfH<T>(y: v128): v128 {
  if (sizeof<T>() == 8) return inverseOfHOfDoubles(y);
  return addSlope<f32>(y, horner<f32>(y, NUMERATOR_SINGLE, 0, 3), horner<f32>(y, DENOMINATOR_SINGLE, 0, 4));
}

/** One function for both that need it, for the sake of size: float64 is not where speed is asked for. */
function inverseOfHOfDoubles(y: v128): v128 {
  const y2 = f64x2.mul(y, y);
  const numerator = polynomial<f64>(y, y2, 0, NUMERATOR_DOUBLE, 9);
  return addSlope<f64>(y, numerator, polynomial<f64>(y, y2, 0, DENOMINATOR_DOUBLE, 10));
}

@inline
function addSlope<T>(y: v128, numerator: v128, denominator: v128): v128 {
  return multiplyAdd<T>(y, scalar<T>(SLOPE), v128.div<T>(numerator, denominator));
}

/** erf x in each lane. */
@inline
export function errorFunction<T>(x: v128): v128 {
  const one = scalar<T>(ONE);
  const magnitude = v128.abs<T>(x);
  const a = v128.pmin<T>(magnitude, scalar<T>(ERF_LIMIT));
  const square = v128.mul<T>(a, a);
  const degree = sizeof<T>() == 4 ? 6 : 12;
  const series = polynomial<T>(square, v128.mul<T>(square, square), SMALL_SINGLE, SMALL_DOUBLE, degree);
  const small = multiplyAdd<T>(a, series, a);
  // 1 - 2 e^(-a²) h(√2 a)
  const e = unscale<T>(scaledExponential<T>(v128.neg<T>(square)));
  const tail = v128.div<T>(v128.add<T>(e, e), inverseOfH<T>(v128.mul<T>(a, scalar<T>(SQRT_TWO))));
  // A NaN is not below one and stays one in the tail.
  const result = v128.bitselect(small, v128.sub<T>(one, tail), v128.lt<T>(magnitude, one));
  return v128.or(result, v128.xor(x, magnitude));
}

/**
 * x (1 + erf(x / √2)) / 2 in each lane; -0 at -∞. It is max(x, 0) - |x| erfc(|x| / √2) / 2: for negative x only the
 * product is left, for positive x it is at most half of x.
 */
@inline
export function gelu<T>(x: v128): v128 {
  const y = v128.pmin<T>(v128.abs<T>(x), scalar<T>(GELU_LIMIT));
  // e^(-y²/2) needs the square to far more digits than it has: that of the leading half of y is exact.
  const high = leadingHalf<T>(y);
  const square = v128.mul<T>(v128.mul<T>(high, scalar<T>(NEGATIVE_HALF)), high);
  const squareLow = v128.mul<T>(v128.mul<T>(v128.sub<T>(y, high), scalar<T>(NEGATIVE_HALF)), v128.add<T>(y, high));
  const product = timesScaledExponential<T>(y, square, squareLow);
  return v128.sub<T>(negativePartDropped<T>(x), unscale<T>(v128.div<T>(product, inverseOfH<T>(y))));
}
