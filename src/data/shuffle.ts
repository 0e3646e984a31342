// Random orders that depend on a seed and a number alone, on every machine, whatever else draws random numbers.

/**
 * The numbers 0 … count − 1 in a random order, all orders alike (Fisher and Yates' shuffle).
 *
 * Source of the generator, sfc32: Doty-Humphrey, "PractRand", 2010, with its start of twelve rounds.
 */
export function permutation(count: number, seed: number, pass: number): Uint32Array {
  const next = generator(seed, pass)
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    // 53 random bits, so that the remainders of so few places do not matter.
    const j = Math.floor((((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53) * (i + 1))
    const kept = order[i] as number
    order[i] = order[j] as number
    order[j] = kept
  }
  return order
}

/** Random 32-bit numbers. */
function generator(seed: number, pass: number): () => number {
  let a = seed >>> 0
  let b = Math.floor(seed / 2 ** 32) >>> 0
  let c = pass >>> 0
  let counter = 1
  const next = () => {
    const result = (a + b + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + result) | 0
    return result >>> 0
  }
  for (let round = 0; round < 12; round++) next()
  return next
}
