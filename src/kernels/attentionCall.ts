// What a call of the kernels of attention is told, and the sizes of the blocks and packed operands that they work with.
import { panelStride, TILE_ROW } from "./tiles";

/**
 * Queries and keys of a block, at most: its scores and their cotangents (57 KiB each in f32) fit a second-level cache,
 * beside the packed operands.
 */
const BLOCK: i32 = 120;

/** Blocks are a multiple of this, where there are several: whole strips of 4 or 6 rows, and whole panels. */
const STRIPS: i32 = 24;

export const NO_MASK: i32 = 0;
export const BOOL_MASK: i32 = 1;

/**
 * What the caller writes: sizes, options and operands, strides in bytes. Matrices of a batch lie at offsets from the
 * addresses, which `Offsets` has for every position of the batch. The rows of Y, and of whatever is written, are
 * contiguous.
 */
@unmanaged
export class Attention {
  queries: i32;
  keys: i32;
  keyDim: i32;
  valueDim: i32;
  /** Whether query n sees only keys up to n. */
  causal: i32;
  /** 0 for none, 1 for bools that are true where attention is allowed, 2 for numbers to add to the scores. */
  maskKind: i32;
  factor: f64;
  /** What each weight is multiplied with unless it is dropped. */
  kept: f64;
  /** The probability with which a weight is dropped. */
  dropout: f32;
  seedLow: u32;
  seedHigh: u32;
  counterLow: u32;
  counterHigh: u32;
  /** Two numbers for each query, of all positions in turn. */
  statistics: usize;
  /** The Offsets of the first position. */
  offsets: usize;
  q: usize;
  qRow: usize;
  qColumn: usize;
  k: usize;
  kRow: usize;
  kColumn: usize;
  v: usize;
  vRow: usize;
  vColumn: usize;
  mask: usize;
  maskRow: usize;
  maskColumn: usize;
  y: usize;
  yRow: usize;
  yColumn: usize;
  /** The cotangent of Y. */
  g: usize;
  gRow: usize;
  gColumn: usize;
  /** The products of the cotangent with the Jacobians; address 0 where not wanted. */
  dq: usize;
  dqRow: usize;
  dqColumn: usize;
  dk: usize;
  dkRow: usize;
  dkColumn: usize;
  dv: usize;
  dvRow: usize;
  dvColumn: usize;
}

/** Where the matrices of a position of the batch lie. */
@unmanaged
export class Offsets {
  q: usize;
  k: usize;
  v: usize;
  mask: usize;
  y: usize;
  g: usize;
  dq: usize;
  dk: usize;
  dv: usize;
  /** Which matrix of weights this is among those that differ in what is dropped. */
  weights: i32;
}

/** Bytes of `count` values, as whole tiles. */
@inline
export function paddedBytes<T>(count: i32): usize {
  return (<usize>count * sizeof<T>() + TILE_ROW - 1) & ~(TILE_ROW - 1);
}

/** Bytes of packed panels. */
@inline
export function panelBytes<T>(columns: i32, depth: i32): usize {
  return paddedBytes<T>(columns) / TILE_ROW * panelStride(depth);
}

/** The size of blocks into which so many queries or keys are evenly divided. */
@inline
export function blockSize(count: i32): i32 {
  const blocks = (count + BLOCK - 1) / BLOCK;
  const size = (count + blocks - 1) / blocks;
  return min(count, (size + STRIPS - 1) / STRIPS * STRIPS);
}

/** Bytes of the random numbers for a row of a block. */
export const RANDOM: usize = 4 * (BLOCK + 8);
