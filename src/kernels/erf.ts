// The error function and the exact GELU with its slope, from Φ(-y) = erfc(y / √2) / 2 = e^(-y²/2) h(y).
import { flushedExponential, ordinaryExponential, timesScaledExponential, unscale } from "./exponential";
import { multiplyAdd } from "./simd";
import { entry, horner, leadingHalf, negativePartDropped, polynomial } from "./vector";

const ONE = 0;
const NEGATIVE_HALF = 1;
const SQRT_TWO = 2;
const ERF_LIMIT = 3; // erf rounds to 1
const TAIL_LIMIT = 4; // y e^(-y²/2) rounds to 0
const SLOPE = 5; // of 1 / h(y), √(2π) but for what makes up for the error of the quotient
const DENSITY = 6; // 1 / √(2π)
const ERF_SLOPE = 7; // 2 / √π
const SINGLE = memory.data<f32>([
  1, -0.5, 1.4142135623730951, 4, 14.6, 2.5066325664520264, 0.3989422804014327, 1.1283791670955126,
]);
const DOUBLE = memory.data<f64>([
  1, -0.5, 1.4142135623730951, 6, 38.7, 2.5066282746310007, 0.3989422804014327, 1.1283791670955126,
]);

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

// The fourth root of Φ(-y) as a quotient of polynomials, for y up to 5.5: minimax (Lawson's iteration), where the error
// of Φ(-y) relative to Φ(-y)^0.7 is 2^-25.2, so that relative to Φ(-y) it grows from there to 1e-5. Beyond, its fourth
// power times y stays below 1e-12 and falls like y^-15.
const ROOT_NUMERATOR = memory.data<f32>([
  1.641850233078003, -0.5721237063407898, 0.0676775574684143, -0.0027168274391442537,
]);
const ROOT_DENOMINATOR = memory.data<f32>([
  1.9524999856948853, -0.2909061014652252, 0.13898220658302307, -0.0035174621734768152, 2.1441368517116643e-5,
  0.0009129167883656919, -0.0001216136006405577, 1.6301679352181964e-5,
]);
const ROOT_LIMIT = memory.data<f32>([10000]); // Φ(-y) is 0 there, without the quotient of two infinities

@inline
function scalar<T>(index: i32): v128 {
  return entry<T>(SINGLE, DOUBLE, index);
}

/** factor · h(y) for y between 0 and the limit of the tail. */
@inline
function timesH<T>(factor: v128, y: v128): v128 {
  return sizeof<T>() == 4 ? evaluateTimesH<f32>(factor, y) : timesHOfDoubles(factor, y);
}

@inline
function evaluateTimesH<T>(factor: v128, y: v128): v128 {
  let numerator: v128;
  let denominator: v128;
  if (sizeof<T>() == 4) {
    numerator = horner<T>(y, NUMERATOR_SINGLE, 0, 3);
    denominator = horner<T>(y, DENOMINATOR_SINGLE, 0, 4);
  } else {
    const y2 = v128.mul<T>(y, y);
    numerator = polynomial<T>(y, y2, 0, NUMERATOR_DOUBLE, 9);
    denominator = polynomial<T>(y, y2, 0, DENOMINATOR_DOUBLE, 10);
  }
  // h = 1 / (slope y + numerator / denominator)
  const slope = v128.mul<T>(y, scalar<T>(SLOPE));
  return v128.div<T>(v128.mul<T>(factor, denominator), multiplyAdd<T>(slope, denominator, numerator));
}

/** One function for all that need it, for the sake of size: float64 is not where speed is asked for. */
function timesHOfDoubles(factor: v128, y: v128): v128 {
  return evaluateTimesH<f64>(factor, y);
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
  const e = ordinaryExponential<T>(v128.neg<T>(square));
  const tail = timesH<T>(v128.add<T>(e, e), v128.mul<T>(a, scalar<T>(SQRT_TWO)));
  // A NaN is not below one and stays one in the tail.
  const result = v128.bitselect(small, v128.sub<T>(one, tail), v128.lt<T>(magnitude, one));
  return v128.or(result, v128.xor(x, magnitude));
}

/** 2 / √π e^(-x²), the derivative of erf, in each lane. */
@inline
export function errorFunctionSlope<T>(x: v128): v128 {
  return v128.mul<T>(flushedExponential<T>(v128.neg<T>(v128.mul<T>(x, x))), scalar<T>(ERF_SLOPE));
}

/**
 * x Φ(x) in each lane, as max(x, 0) - |x| Φ(-|x|); -0 at -∞. For negative x only the product is left, for positive x it
 * is at most half of x.
 */
@inline
export function gelu<T>(x: v128): v128 {
  return sizeof<T>() == 4 ? geluOfSingles(x) : geluOfDoubles(x);
}

/** Without an exponential. */
@inline
function geluOfSingles(x: v128): v128 {
  const y = f32x4.pmin(f32x4.abs(x), v128.load32_splat(ROOT_LIMIT));
  const root = f32x4.div(horner<f32>(y, ROOT_NUMERATOR, 0, 3), horner<f32>(y, ROOT_DENOMINATOR, 0, 7));
  const square = f32x4.mul(root, root);
  return lessTail(x, y, f32x4.mul(square, square));
}

/** max(x, 0) - y tail */
@inline
function lessTail(x: v128, y: v128, tail: v128): v128 {
  return multiplyAdd<f32>(f32x4.neg(tail), y, negativePartDropped<f32>(x));
}

/**
 * gelu of sixteen floats in memory, to the bit what `gelu` gives. The four vectors go in step, so that a coefficient is
 * loaded once, and is gone before the next one: more would not fit into the registers.
 */
@inline
export function geluOfSixteen(x: usize, out: usize): void {
  let next = v128.load32_splat(ROOT_LIMIT);
  const a = f32x4.pmin(f32x4.abs(v128.load(x)), next);
  const b = f32x4.pmin(f32x4.abs(v128.load(x, 16)), next);
  const c = f32x4.pmin(f32x4.abs(v128.load(x, 32)), next);
  const d = f32x4.pmin(f32x4.abs(v128.load(x, 48)), next);
  next = v128.load32_splat(ROOT_NUMERATOR, 12);
  let aboveA = next;
  let aboveB = next;
  let aboveC = next;
  let aboveD = next;
  next = v128.load32_splat(ROOT_NUMERATOR, 8);
  aboveA = multiplyAdd<f32>(aboveA, a, next);
  aboveB = multiplyAdd<f32>(aboveB, b, next);
  aboveC = multiplyAdd<f32>(aboveC, c, next);
  aboveD = multiplyAdd<f32>(aboveD, d, next);
  next = v128.load32_splat(ROOT_NUMERATOR, 4);
  aboveA = multiplyAdd<f32>(aboveA, a, next);
  aboveB = multiplyAdd<f32>(aboveB, b, next);
  aboveC = multiplyAdd<f32>(aboveC, c, next);
  aboveD = multiplyAdd<f32>(aboveD, d, next);
  next = v128.load32_splat(ROOT_NUMERATOR);
  aboveA = multiplyAdd<f32>(aboveA, a, next);
  aboveB = multiplyAdd<f32>(aboveB, b, next);
  aboveC = multiplyAdd<f32>(aboveC, c, next);
  aboveD = multiplyAdd<f32>(aboveD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 28);
  let belowA = next;
  let belowB = next;
  let belowC = next;
  let belowD = next;
  next = v128.load32_splat(ROOT_DENOMINATOR, 24);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 20);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 16);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 12);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 8);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR, 4);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  next = v128.load32_splat(ROOT_DENOMINATOR);
  belowA = multiplyAdd<f32>(belowA, a, next);
  belowB = multiplyAdd<f32>(belowB, b, next);
  belowC = multiplyAdd<f32>(belowC, c, next);
  belowD = multiplyAdd<f32>(belowD, d, next);
  aboveA = f32x4.div(aboveA, belowA);
  aboveB = f32x4.div(aboveB, belowB);
  aboveC = f32x4.div(aboveC, belowC);
  aboveD = f32x4.div(aboveD, belowD);
  aboveA = f32x4.mul(aboveA, aboveA);
  aboveB = f32x4.mul(aboveB, aboveB);
  aboveC = f32x4.mul(aboveC, aboveC);
  aboveD = f32x4.mul(aboveD, aboveD);
  aboveA = f32x4.mul(aboveA, aboveA);
  aboveB = f32x4.mul(aboveB, aboveB);
  aboveC = f32x4.mul(aboveC, aboveC);
  aboveD = f32x4.mul(aboveD, aboveD);
  const first = lessTail(v128.load(x), a, aboveA);
  const second = lessTail(v128.load(x, 16), b, aboveB);
  const third = lessTail(v128.load(x, 32), c, aboveC);
  const fourth = lessTail(v128.load(x, 48), d, aboveD);
  v128.store(out, first);
  v128.store(out, second, 16);
  v128.store(out, third, 32);
  v128.store(out, fourth, 48);
}

/** With all digits in the tail, too. */
@inline
function geluOfDoubles(x: v128): v128 {
  const y = f64x2.pmin(f64x2.abs(x), scalar<f64>(TAIL_LIMIT));
  // e^(-y²/2) needs the square to far more digits than it has: that of the leading half of y is exact.
  const high = leadingHalf<f64>(y);
  const square = f64x2.mul(f64x2.mul(high, scalar<f64>(NEGATIVE_HALF)), high);
  const squareLow = f64x2.mul(f64x2.mul(f64x2.sub(y, high), scalar<f64>(NEGATIVE_HALF)), f64x2.add(y, high));
  const product = timesH<f64>(timesScaledExponential<f64>(y, square, squareLow), y);
  return f64x2.sub(negativePartDropped<f64>(x), unscale<f64>(product));
}

/** Φ(x) + x φ(x), the derivative of gelu, in each lane; 0 where φ(x) is below the normal numbers and x negative. */
@inline
export function geluSlope<T>(x: v128): v128 {
  const magnitude = v128.abs<T>(x);
  const y = v128.pmin<T>(magnitude, scalar<T>(TAIL_LIMIT));
  const e = flushedExponential<T>(v128.mul<T>(v128.mul<T>(y, scalar<T>(NEGATIVE_HALF)), y));
  // That of -y: e^(-y²/2) (h(y) - y / √(2π)); the two slopes at x and -x add up to 1.
  const slope = v128.sub<T>(timesH<T>(e, y), v128.mul<T>(v128.mul<T>(y, scalar<T>(DENSITY)), e));
  const isNegative = v128.lt<T>(x, i64x2.splat(0));
  return v128.bitselect(slope, v128.sub<T>(scalar<T>(ONE), slope), isNegative);
}
