// Elementary functions of doubles whose results have the same bits in every build and on every engine: nothing here
// uses the fused operations of relaxed SIMD. Errors: below 1 ulp in the logarithm, below 2 in cosine and sine.

// In memory, because loading a constant is cheaper than an immediate vector.
const CONSTANTS = memory.data<f64>([
  1, 2, 0.5, 4, 1.5707963267948966, 0.6931471803691238, 1.9082149292705877e-10, 4503599627370496, 4503599627371519,
  1.1102230246251565e-16, 1.9342813118337666e25,
]);
const ONE = 0;
const TWO = 1;
const HALF = 2;
const FOUR = 3;
const QUARTER_TURN = 4; // ½ π
const LN2_HIGH = 5; // so few bits of ln 2 that its product with an exponent is exact
const LN2_LOW = 6; // what that lacks
const INTEGER = 7; // 2^52: an integer below it stands in the last places of their sum
const BIASED_INTEGER = 8; // 2^52 and the bias of exponents
const PLACE_53 = 9; // 2^-53
const UPPER_INTEGER = 10; // 2^84 + 2^52

/** 2/3, 2/5, ..., 2/19: ln((1 + s) / (1 - s)) = 2 s + s³ (2/3 + 2/5 s² + ...). */
const LOGARITHM = memory.data<f64>([
  0.6666666666666666, 0.4, 0.2857142857142857, 0.2222222222222222, 0.18181818181818182, 0.15384615384615385,
  0.13333333333333333, 0.11764705882352941, 0.10526315789473684,
]);
/** -1/3!, 1/5!, ..., 1/17! */
const SINE = memory.data<f64>([
  -0.16666666666666666, 0.008333333333333333, -0.0001984126984126984, 2.7557319223985893e-6, -2.505210838544172e-8,
  1.6059043836821613e-10, -7.647163731819816e-13, 2.8114572543455206e-15,
]);
/** 1/4!, -1/6!, ..., 1/16! */
const COSINE = memory.data<f64>([
  0.041666666666666664, -0.001388888888888889, 2.48015873015873e-5, -2.755731922398589e-7, 2.08767569878681e-9,
  -1.1470745597729725e-11, 4.779477332387385e-14,
]);

@inline
function constant(index: i32): v128 {
  return v128.load64_splat(CONSTANTS + 8 * index);
}

/** c[0] + c[1] x + ... + c[degree] x^degree. */
@inline
function polynomial(x: v128, coefficients: usize, degree: i32): v128 {
  let sum = v128.load64_splat(coefficients + 8 * degree);
  for (let address = coefficients + 8 * (degree - 1); address >= coefficients; address -= 8) {
    sum = f64x2.add(f64x2.mul(sum, x), v128.load64_splat(address));
  }
  return sum;
}

/** The upper 53 of 64 bits as an integer, times 2^-53: from [0, 1). */
export function unitDoubles(bits: v128): v128 {
  // Of the integer, the upper part stands in the last places of 2^84, the lower 32 bits in those of 2^52.
  const upper = v128.or(i64x2.shr_u(bits, 43), i64x2.splat(0x4530000000000000));
  const lower = v128.or(i64x2.shr_u(i64x2.shl(bits, 21), 32), constant(INTEGER));
  return f64x2.mul(f64x2.add(f64x2.sub(upper, constant(UPPER_INTEGER)), lower), constant(PLACE_53));
}

/** The natural logarithm of positive normal numbers. */
export function logarithm(x: v128): v128 {
  // x = 2^k (1 + f) with 1 + f from √½ to √2, whose upper words are 0x3fe6a09e and 0x3ff6a09e.
  const shifted = i64x2.add(x, i64x2.splat(0x3ff0000000000000 - 0x3fe6a09e00000000));
  const fraction = v128.and(shifted, i64x2.splat(0x000fffffffffffff));
  const f = f64x2.sub(i64x2.add(fraction, i64x2.splat(0x3fe6a09e00000000)), constant(ONE));
  const k = f64x2.sub(v128.or(i64x2.shr_u(shifted, 52), constant(INTEGER)), constant(BIASED_INTEGER));
  // With s = f / (2 + f), 1 + f = (1 + s) / (1 - s), and 2 s = f - s f = f - (f²/2 - s f²/2).
  const s = f64x2.div(f, f64x2.add(f, constant(TWO)));
  const z = f64x2.mul(s, s);
  const series = f64x2.mul(z, polynomial(z, LOGARITHM, 8));
  const half = f64x2.mul(constant(HALF), f64x2.mul(f, f));
  const small = f64x2.add(f64x2.mul(s, f64x2.add(half, series)), f64x2.mul(k, constant(LN2_LOW)));
  return f64x2.sub(f64x2.mul(k, constant(LN2_HIGH)), f64x2.sub(f64x2.sub(half, small), f));
}

/** What `cosineOfTurns` found besides. */
export let sine = i64x2(0, 0);

/** The cosine of x full turns, for x from 0 to 1; the sine is left in `sine`. */
export function cosineOfTurns(x: v128): v128 {
  const quarters = f64x2.mul(x, constant(FOUR));
  const nearest = f64x2.nearest(quarters);
  const angle = f64x2.mul(f64x2.sub(quarters, nearest), constant(QUARTER_TURN));
  const z = f64x2.mul(angle, angle);
  const s = f64x2.add(angle, f64x2.mul(f64x2.mul(angle, z), polynomial(z, SINE, 7)));
  const series = f64x2.mul(f64x2.mul(z, z), polynomial(z, COSINE, 6));
  const c = f64x2.add(f64x2.sub(constant(ONE), f64x2.mul(z, constant(HALF))), series);
  // Every quarter of a turn takes (cos, sin) to (-sin, cos); their number is now in the last places.
  const quadrant = f64x2.add(nearest, constant(INTEGER));
  const one = i64x2.splat(1);
  const odd = i64x2.eq(v128.and(quadrant, one), one);
  sine = v128.xor(v128.bitselect(c, s, odd), i64x2.shl(i64x2.shr_u(quadrant, 1), 63));
  return v128.xor(v128.bitselect(s, c, odd), i64x2.shl(i64x2.shr_u(i64x2.add(quadrant, one), 1), 63));
}
