// Sine and cosine, after fdlibm (Sun Microsystems, e_rem_pio2.c, k_sin.c, k_cos.c).
import { multiplyAdd } from "./simd";
import { entry, polynomial, signBit } from "./vector";

const LIMIT: f64 = 4194304; // below 2^22, n has at most 22 bits
const LIMIT_ENTRY = 0;
const TWO_OVER_PI = 1;
const ROUND = 2; // 1.5 · 2^52: adding it rounds to an integer, which then stands in the low bits
const PART_1 = 3; // -π/2 in four parts, of which the first three have 31 bits, so that n times them is exact
const PART_2 = 4;
const PART_3 = 5;
const PART_4 = 6;
const PART_2_ROUNDED = 7; // PART_2 and what follows it
const ONE = 8;
const HALF = 9;
const TABLE = memory.data<f64>([
  LIMIT, 0.6366197723675814, 6755399441055744, -1.5707963267341256, -6.07710050359346e-11, -2.9127320548227e-20,
  -1.2706558760139879e-29, -6.077100506506192e-11, 1, 0.5,
]);

// (sin r - r) / r³ and (cos r - 1 + r²/2) / r⁴ in r², for |r| <= π/4, minimax (Remez). Error relative to sin r and
// cos r: 2^-28.0 and 2^-33.0 for results in float32, 2^-56.4 and 2^-59.6 for float64.
const SINE_SINGLE = memory.data<f64>([-0.1666665459493381, 0.008332159817973457, -0.000195151525512436]);
const COSINE_SINGLE = memory.data<f64>([0.041666645657328374, -0.001388731497842751, 2.4433008308406024e-5]);
const SINE_DOUBLE = memory.data<f64>([
  -0.1666666666666663, 0.008333333333322096, -0.0001984126982957078, 2.7557313614645432e-6, -2.5050746673115314e-8,
  1.5896165097549195e-10,
]);
const COSINE_DOUBLE = memory.data<f64>([
  0.041666666666666595, -0.0013888888888873025, 2.480158728883109e-5, -2.7557314173182925e-7, 2.087569999017494e-9,
  -1.1358491382274668e-11,
]);

// The bits of 2/π in 32-bit words, the last word first, so that an 8-byte load has a word and, below it, the next one.
const TWO_OVER_PI_WORDS: usize = 39;
const TWO_OVER_PI_BITS = memory.data<u32>([
  0xfc7b6bab, 0x56033046, 0x1f8d5d08, 0x6bfb5fb1, 0x8a5292ea, 0x3d0739f7, 0xebe5f17b, 0x7527bac7, 0x9e5fea2d,
  0x4f463f66, 0x27cb09b7, 0x6d367ecf, 0x5a0a6d1f, 0xef2f118b, 0xde05980f, 0x1ff897ff, 0xbdf9283b, 0x9c845f8b,
  0x835339f4, 0x3991d639, 0xb45f7e41, 0xe99c7026, 0x2ebb4484, 0xe88235f5, 0xb129a73e, 0xfe1deb1c, 0x09d1921c,
  0x06492eea, 0x424dd2e0, 0xb7246e3a, 0xdebbc561, 0xfe5163ab, 0x3c439041, 0xdb629599, 0xf534ddc0, 0xfc2757d1,
  0x4e441529, 0xa2f9836e, 0,
]);
const PI_OVER_TWO_BITS: u64 = 0xc90fdaa22168c234; // times 2^63

// What `reduceLarge` returns besides n. Globals of an instance belong to its thread.
let reducedHigh: f64 = 0;
let reducedLow: f64 = 0;

@inline
function scalar(index: i32): v128 {
  return entry<f64>(0, TABLE, index);
}

/** sin x in each lane. */
@inline
export function sine<T>(x: v128): v128 {
  return sinusoids<T>(x, 0);
}

/** cos x in each lane. */
@inline
export function cosine<T>(x: v128): v128 {
  return sinusoids<T>(x, 1);
}

@inline
function sinusoids<T>(x: v128, quarters: i64): v128 {
  if (sizeof<T>() == 8) return sinusoid<f64>(x, quarters);
  const low = sinusoid<f32>(f64x2.promote_low_f32x4(x), quarters);
  const high = sinusoid<f32>(f64x2.promote_low_f32x4(v128.shuffle<f64>(x, x, 1, 1)), quarters);
  return v128.shuffle<f64>(f32x4.demote_f64x2_zero(low), f32x4.demote_f64x2_zero(high), 0, 2);
}

/**
 * sin(x + quarters π/2) of two doubles: the sine for no quarters, the cosine for one. T = f32 means that x comes from
 * float32 and the result goes there, which is cheaper.
 */
function sinusoid<T>(x: v128, quarters: i64): v128 {
  const precise = sizeof<T>() == 8;
  const magnitude = f64x2.abs(x);
  let rounded = multiplyAdd<f64>(magnitude, scalar(TWO_OVER_PI), scalar(ROUND));
  const n = f64x2.sub(rounded, scalar(ROUND));
  // r + low = |x| - n π/2
  let r = multiplyAdd<f64>(n, scalar(PART_1), magnitude);
  let low = f64x2.splat(0);
  if (precise) {
    const product2 = f64x2.mul(n, scalar(PART_2));
    const product3 = f64x2.mul(n, scalar(PART_3));
    const second = f64x2.add(r, product2);
    const third = f64x2.add(second, product3);
    const lost2 = f64x2.add(f64x2.sub(r, second), product2);
    const lost3 = f64x2.add(f64x2.sub(second, third), product3);
    const rest = multiplyAdd<f64>(n, scalar(PART_4), f64x2.add(lost2, lost3));
    r = f64x2.add(third, rest);
    low = f64x2.add(f64x2.sub(third, r), rest);
  } else {
    r = multiplyAdd<f64>(n, scalar(PART_2_ROUNDED), r);
  }
  if (!i64x2.all_true(f64x2.le(magnitude, scalar(LIMIT_ENTRY)))) {
    const first = f64x2.extract_lane(magnitude, 0);
    if (!(first <= LIMIT)) {
      rounded = i64x2.replace_lane(rounded, 0, reduceLarge(first));
      r = f64x2.replace_lane(r, 0, reducedHigh);
      low = f64x2.replace_lane(low, 0, reducedLow);
    }
    const second = f64x2.extract_lane(magnitude, 1);
    if (!(second <= LIMIT)) {
      rounded = i64x2.replace_lane(rounded, 1, reduceLarge(second));
      r = f64x2.replace_lane(r, 1, reducedHigh);
      low = f64x2.replace_lane(low, 1, reducedLow);
    }
  }

  const z = f64x2.mul(r, r);
  const z2 = f64x2.mul(z, z);
  const halfZ = f64x2.mul(z, scalar(HALF));
  const head = f64x2.sub(scalar(ONE), halfZ);
  const sineSeries = polynomial<f64>(z, z2, 0, precise ? SINE_DOUBLE : SINE_SINGLE, precise ? 5 : 2);
  const cosineSeries = polynomial<f64>(z, z2, 0, precise ? COSINE_DOUBLE : COSINE_SINGLE, precise ? 5 : 2);
  let sineRest = f64x2.mul(f64x2.mul(z, r), sineSeries);
  let cosineRest = f64x2.mul(z2, cosineSeries);
  if (precise) {
    // sin(r + low) = sin r + low (1 - r²/2), cos(r + low) = cos r - r low, and what the subtraction 1 - r²/2 lost
    sineRest = f64x2.add(sineRest, f64x2.sub(low, f64x2.mul(halfZ, low)));
    const lost = f64x2.sub(f64x2.sub(scalar(ONE), head), halfZ);
    cosineRest = f64x2.add(cosineRest, f64x2.sub(lost, f64x2.mul(r, low)));
  }
  const quadrant = i64x2.add(rounded, i64x2.splat(quarters));
  const isOdd = i64x2.lt_s(i64x2.shl(quadrant, 63), i64x2.splat(0));
  const sign = i64x2.shl(i64x2.shr_u(quadrant, 1), 63);
  const result = v128.xor(v128.bitselect(f64x2.add(head, cosineRest), f64x2.add(r, sineRest), isOdd), sign);
  // The sine is odd in x.
  return quarters ? result : v128.xor(result, signBit<f64>(x));
}

/**
 * n modulo 4, with x = n π/2 + reducedHigh + reducedLow, for large x > 0 (Payne and Hanek, "Radian reduction for
 * trigonometric functions", SIGNUM Newsletter 18 (1983)).
 */
function reduceLarge(x: f64): i64 {
  if (!(x < Infinity)) {
    reducedHigh = NaN;
    reducedLow = NaN;
    return 0;
  }
  // x = significand · 2^(exponent - 1075). Of its product with 2/π all multiples of 4 are left out: the bits of 2/π
  // start where they contribute 2, and go on for 192, of which the last two words serve only for their carries.
  const bits = reinterpret<u64>(x);
  const significand = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const start = (bits >> 52) - 1045;
  let word = TWO_OVER_PI_BITS + 4 * (TWO_OVER_PI_WORDS - 7 - (<usize>start >> 5));
  let high: u64 = 0;
  let low: u64 = 0;
  let carry: u64 = 0;
  for (let i = 0; i < 6; i++) {
    const factor = (load<u64>(word) << (start & 31)) >> 32;
    const product = (significand & 0xffffffff) * factor;
    const sum = (product & 0xffffffff) + (carry & 0xffffffff);
    carry = (carry >> 32) + (product >> 32) + (sum >> 32) + (significand >> 32) * factor;
    low = (low >> 32) | (high << 32);
    high = (high >> 32) | (sum << 32);
    word += 4;
  }
  // Two bits of integer and 126 of fraction; the fraction is rounded to nearest, so it may be negative.
  const fraction = (high << 2) | (low >> 62);
  const negative = <u64>(<i64>fraction >> 63);
  const leading = fraction ^ negative;
  // No double is so close to a multiple of π/2 that `leading` would be 0.
  const zeros = clz(leading);
  const normalized = (leading << zeros) | (((low << 2) ^ negative) >> (64 - zeros));
  const product = highProduct(normalized, PI_OVER_TWO_BITS);
  const scale = reinterpret<f64>(((960 - zeros) << 52) | (negative << 63));
  reducedHigh = <f64>(product & ~0x7ff) * scale;
  reducedLow = <f64>(product & 0x7ff) * scale;
  return <i64>((high >> 62) - negative);
}

/** a · b / 2^64, up to the last bit or two. */
@inline
function highProduct(a: u64, b: u64): u64 {
  return (a >> 32) * (b >> 32) + (((a >> 32) * (b & 0xffffffff)) >> 32) + (((a & 0xffffffff) * (b >> 32)) >> 32);
}
