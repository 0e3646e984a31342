// Random numbers of their own: a check must not move the library's generator, which the checked function may use.
import type { Vector } from './layout.js'

/** Numbers uniform on [0, 1), always the same ones for the same seed. */
export type Uniform = () => number

/**
 * The generator mulberry32 (Tommy Ettinger, public domain): a counter with an odd step, mixed by multiplications. It
 * passes gjrand's tests and has a period of 2³², plenty for drawing places and weights.
 */
export function seeded(seed: number): Uniform {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Weights of either sign, 0.5 to 1.5 in size, so that none hides what it weighs. */
export function randomWeights(count: number, uniform: Uniform): Vector {
  return new Float64Array(count).map(() => randomSign(uniform) * (0.5 + uniform()))
}

/** A direction whose every entry is 1 or −1. */
export function randomDirection(count: number, uniform: Uniform): Vector {
  return new Float64Array(count).map(() => randomSign(uniform))
}

function randomSign(uniform: Uniform): number {
  return uniform() < 0.5 ? -1 : 1
}

/**
 * `count` different whole numbers below `size`, ascending; all of them where there are no more.
 *
 * Source: Floyd's algorithm, in J. Bentley, "Programming Pearls: a sample of brilliance", CACM 30(9), 1987.
 */
export function sample(count: number, size: number, uniform: Uniform): number[] {
  if (count >= size) return Array.from({ length: size }, (_, i) => i)
  const chosen = new Set<number>()
  for (let top = size - count; top < size; top++) {
    const candidate = Math.floor(uniform() * (top + 1))
    chosen.add(chosen.has(candidate) ? top : candidate)
  }
  return [...chosen].sort((a, b) => a - b)
}
