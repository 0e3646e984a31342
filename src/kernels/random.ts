// Random numbers. Every value is a function of the seed, a counter of 64 bits and the value's place in `out` alone: the
// same in every build, on every engine, and in whatever portions `out` is filled. A counter yields one block of Philox,
// so n values use
//   ceil(n / 4) counters: randomUniform_f32, randomInteger_i32
//   ceil(n / 2) counters: randomUniform_f64, randomNormal_f32, randomNormal_f64
// and what follows starts with the next counter.
import { storeUpTo } from "./partial";
import { drawBlocks, takeBlock } from "./philox";
import { cosineOfTurns, logarithm, sine, unitDoubles } from "./reproducible";

// What the words of a block become.
const WORDS = 0;
const FLOATS = 1;
const DOUBLES = 2;

@inline
function counterOf(low: u32, high: u32): u64 {
  return (<u64>high << 32) | <u64>low;
}

/** The upper 24 of 32 bits as an integer, times 2^-24: from [0, 1). */
@inline
function unitFloats(bits: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.shr_u(bits, 8)), f32x4.splat(5.960464477539063e-8));
}

/** Fills `out` with n words of blocks, or with what they become. */
function fill(use: i32, out: usize, n: i32, seedLow: u32, seedHigh: u32, counter: u64): void {
  for (; n > 0; counter += 4) {
    drawBlocks(counter, 0, 0, seedLow, seedHigh);
    for (let i = 0; i < 4 && n > 0; i++, n -= 4, out += 16) {
      let words = takeBlock();
      if (use == DOUBLES) words = unitDoubles(words);
      if (use == FLOATS) words = unitFloats(words);
      storeUpTo<i32>(out, words, n);
    }
  }
}

/** Uniform on [0, 1), multiples of 2^-24. */
export function randomUniform_f32(
  out: usize,
  n: i32,
  seedLow: u32,
  seedHigh: u32,
  counterLow: u32,
  counterHigh: u32,
): void {
  fill(FLOATS, out, n, seedLow, seedHigh, counterOf(counterLow, counterHigh));
}

/** Uniform on [0, 1), multiples of 2^-53. */
export function randomUniform_f64(
  out: usize,
  n: i32,
  seedLow: u32,
  seedHigh: u32,
  counterLow: u32,
  counterHigh: u32,
): void {
  fill(DOUBLES, out, 2 * n, seedLow, seedHigh, counterOf(counterLow, counterHigh));
}

/** Two standard normal values of each block (Box and Muller, Ann. Math. Stat. 29 (1958)), rounded if `single`. */
function randomNormal(single: bool, out: usize, n: i32, seedLow: u32, seedHigh: u32, counter: u64): void {
  for (; n > 0; counter += 4) {
    drawBlocks(counter, 0, 0, seedLow, seedHigh);
    for (let i = 0; i < 2 && n > 0; i++, n -= 4, out += 16) {
      const a = takeBlock();
      const b = takeBlock();
      // On (0, 1], where the logarithm is finite.
      const chance = f64x2.sub(f64x2.splat(1), unitDoubles(v128.shuffle<i64>(a, b, 0, 2)));
      const radius = f64x2.sqrt(f64x2.mul(f64x2.splat(-2), logarithm(chance)));
      const x = f64x2.mul(radius, cosineOfTurns(unitDoubles(v128.shuffle<i64>(a, b, 1, 3))));
      const y = f64x2.mul(radius, sine);
      if (single) {
        const both = v128.shuffle<f32>(f32x4.demote_f64x2_zero(x), f32x4.demote_f64x2_zero(y), 0, 4, 1, 5);
        storeUpTo<f32>(out, both, n);
      } else {
        storeUpTo<f64>(out, v128.shuffle<f64>(x, y, 0, 2), n);
        out += 16;
        if (n > 2) storeUpTo<f64>(out, v128.shuffle<f64>(x, y, 1, 3), n - 2);
      }
    }
  }
}

/** Standard normal: the values of `randomNormal_f64`, rounded. */
export function randomNormal_f32(
  out: usize,
  n: i32,
  seedLow: u32,
  seedHigh: u32,
  counterLow: u32,
  counterHigh: u32,
): void {
  randomNormal(true, out, n, seedLow, seedHigh, counterOf(counterLow, counterHigh));
}

/** Standard normal. */
export function randomNormal_f64(
  out: usize,
  n: i32,
  seedLow: u32,
  seedHigh: u32,
  counterLow: u32,
  counterHigh: u32,
): void {
  randomNormal(false, out, n, seedLow, seedHigh, counterOf(counterLow, counterHigh));
}

/**
 * Uniform on [low, high), for low < high, without bias: a word times the span, over 2^32 (Lemire, "Fast random
 * integer generation in an interval", ACM TOMACS 29 (2019)). A word that would favour some value is replaced by the
 * first word of the block whose third counter word is the number of the attempt, and the fourth the word's place.
 */
export function randomInteger_i32(
  out: usize,
  n: i32,
  seedLow: u32,
  seedHigh: u32,
  counterLow: u32,
  counterHigh: u32,
  low: i32,
  high: i32,
): void {
  const span = <u32>(high - low);
  const excess: u32 = (<u32>0 - span) % span;
  const counter = counterOf(counterLow, counterHigh);
  fill(WORDS, out, n, seedLow, seedHigh, counter);
  for (let i = 0; i < n; i++, out += 4) {
    let product = <u64>load<u32>(out) * <u64>span;
    for (let attempt = 1; <u32>product < excess; attempt++) {
      drawBlocks(counter + (i >> 2), attempt, i & 3, seedLow, seedHigh);
      product = <u64>(<u32>i32x4.extract_lane(takeBlock(), 0)) * <u64>span;
    }
    store<i32>(out, low + <i32>(product >> 32));
  }
}
