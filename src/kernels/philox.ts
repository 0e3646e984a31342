// The counter-based generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3" (SC 2011): a block of four random words is a function of a counter of four words and a key of two.

/** The two multipliers and the increments of the two key words. */
const CONSTANTS = memory.data<u32>([0xd2511f53, 0xcd9e8d57, 0x9e3779b9, 0xbb67ae85]);

// The blocks drawn and not yet taken.
let block0 = i64x2(0, 0);
let block1 = i64x2(0, 0);
let block2 = i64x2(0, 0);
let block3 = i64x2(0, 0);

/** The lower words of four products, of which `lower` has those of lanes 0 and 1, `upper` those of lanes 2 and 3. */
@inline
function lowWords(lower: v128, upper: v128): v128 {
  return v128.shuffle<i32>(lower, upper, 0, 2, 4, 6);
}

@inline
function highWords(lower: v128, upper: v128): v128 {
  return v128.shuffle<i32>(lower, upper, 1, 3, 5, 7);
}

/** The next of the blocks that were drawn last. */
export function takeBlock(): v128 {
  const block = block0;
  block0 = block1;
  block1 = block2;
  block2 = block3;
  return block;
}

/** Computes the blocks of four successive counters, of which the first two words are a 64-bit integer. */
export function drawBlocks(counter: u64, third: u32, fourth: u32, seedLow: u32, seedHigh: u32): void {
  const low = <u32>counter;
  const high = <u32>(counter >> 32);
  let c0 = i32x4.add(i32x4.splat(low), i32x4(0, 1, 2, 3));
  // The comparison is -1 where the low word wrapped around.
  let c1 = i32x4.sub(i32x4.splat(high), i32x4.lt_u(c0, i32x4.splat(low)));
  let c2 = i32x4.splat(third);
  let c3 = i32x4.splat(fourth);
  let key0 = i32x4.splat(seedLow);
  let key1 = i32x4.splat(seedHigh);
  const multiplier0 = v128.load32_splat(CONSTANTS);
  const multiplier1 = v128.load32_splat(CONSTANTS, 4);
  for (let round = 0; round < 10; round++) {
    const a = i64x2.extmul_low_i32x4_u(c0, multiplier0);
    const b = i64x2.extmul_high_i32x4_u(c0, multiplier0);
    const c = i64x2.extmul_low_i32x4_u(c2, multiplier1);
    const d = i64x2.extmul_high_i32x4_u(c2, multiplier1);
    c0 = v128.xor(v128.xor(highWords(c, d), c1), key0);
    c1 = lowWords(c, d);
    c2 = v128.xor(v128.xor(highWords(a, b), c3), key1);
    c3 = lowWords(a, b);
    key0 = i32x4.add(key0, v128.load32_splat(CONSTANTS, 8));
    key1 = i32x4.add(key1, v128.load32_splat(CONSTANTS, 12));
  }
  // From the same word of four blocks to the four words of one block.
  const a = v128.shuffle<i32>(c0, c1, 0, 4, 1, 5);
  const b = v128.shuffle<i32>(c2, c3, 0, 4, 1, 5);
  const c = v128.shuffle<i32>(c0, c1, 2, 6, 3, 7);
  const d = v128.shuffle<i32>(c2, c3, 2, 6, 3, 7);
  block0 = v128.shuffle<i64>(a, b, 0, 2);
  block1 = v128.shuffle<i64>(a, b, 1, 3);
  block2 = v128.shuffle<i64>(c, d, 0, 2);
  block3 = v128.shuffle<i64>(c, d, 1, 3);
}
