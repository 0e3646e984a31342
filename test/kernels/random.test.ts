import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Words = readonly [number, number, number, number]
type Pair = readonly [number, number]

/** Philox4x32-10, as in the paper: words and keys are unsigned 32-bit integers. */
function philox(counter: Words, key: Pair): Words {
  let [c0, c1, c2, c3] = counter
  let [k0, k1] = key
  for (let round = 0; round < 10; round++) {
    const p0 = 0xd2511f53n * BigInt(c0)
    const p1 = 0xcd9e8d57n * BigInt(c2)
    const high = (product: bigint) => Number(product >> 32n)
    const low = (product: bigint) => Number(product & 0xffffffffn)
    const next: Words = [(high(p1) ^ c1 ^ k0) >>> 0, low(p1), (high(p0) ^ c3 ^ k1) >>> 0, low(p0)]
    ;[c0, c1, c2, c3] = next
    k0 = (k0 + 0x9e3779b9) >>> 0
    k1 = (k1 + 0xbb67ae85) >>> 0
  }
  return [c0, c1, c2, c3]
}

/** Word `i` of the blocks from a 64-bit counter on. */
function word(seed: Pair, counter: Pair, i: number): number {
  const [low, high] = blockCounter(counter, Math.floor(i / 4))
  return philox([low, high, 0, 0], seed)[i % 4] as number
}

function blockCounter([low, high]: Pair, block: number): Pair {
  const sum = low + block
  return [sum >>> 0, (high + Math.floor(sum / 2 ** 32)) >>> 0]
}

/** Words 2 i and 2 i + 1 as one integer of 64 bits, of which the upper 53 make a number from [0, 1). */
function unitDouble(seed: Pair, counter: Pair, i: number): number {
  const bits = BigInt(word(seed, counter, 2 * i)) | (BigInt(word(seed, counter, 2 * i + 1)) << 32n)
  return Number(bits >> 11n) / 2 ** 53
}

type Name = 'randomUniform_f32' | 'randomUniform_f64' | 'randomNormal_f32' | 'randomNormal_f64' | 'randomInteger_i32'

function draw(bench: Bench, name: Name, n: number, seed: Pair, counter: Pair, ...more: number[]) {
  const mark = bench.reserve(0)
  const out = guarded(bench, n * (name.endsWith('f64') ? 8 : 4))
  bench.kernels[name](out.address, n, ...seed, ...counter, ...more)
  expect(out.intact()).toBe(true)
  const values = name.endsWith('f64')
    ? bench.float64(out.address, n)
    : name.endsWith('f32')
      ? bench.float32(out.address, n)
      : bench.int32(out.address, n)
  bench.reset(mark)
  return values
}

const word32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32 - 3))
const seeds = fc.tuple(word32, word32)
const counters = fc.tuple(word32, word32)
const lengths = fc.nat(70)

describe('the reference generator', () => {
  it('gives the known answers of Random123', () => {
    const all = 0xffffffff
    expect(philox([0, 0, 0, 0], [0, 0])).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])
    expect(philox([all, all, all, all], [all, all])).toEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd])
    expect(philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])).toEqual([
      0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1,
    ])
  })
})

describe('the kernels draw from the reference generator', () => {
  it('randomUniform_f32: 24 bits of a word', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(lengths, seeds, counters, (n, seed, counter) => {
          const wanted = Array.from({ length: n }, (_, i) => (word(seed, counter, i) >>> 8) / 2 ** 24)
          expect(Array.from(draw(bench, 'randomUniform_f32', n, seed, counter))).toEqual(wanted)
        }),
      )
    }
  })

  it('randomUniform_f64: 53 bits of two words', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(lengths, seeds, counters, (n, seed, counter) => {
          const wanted = Array.from({ length: n }, (_, i) => unitDouble(seed, counter, i))
          expect(Array.from(draw(bench, 'randomUniform_f64', n, seed, counter))).toEqual(wanted)
        }),
      )
    }
  })

  it('randomNormal_f64: two values from two uniform ones, and randomNormal_f32 the same rounded', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(lengths, seeds, counters, (n, seed, counter) => {
          const values = draw(bench, 'randomNormal_f64', n, seed, counter)
          for (let i = 0; i < n; i++) {
            const pair = i - (i % 2)
            const radius = Math.sqrt(-2 * Math.log(1 - unitDouble(seed, counter, pair)))
            const turns = unitDouble(seed, counter, pair + 1)
            const wanted = radius * (i % 2 === 0 ? Math.cos(2 * Math.PI * turns) : Math.sin(2 * Math.PI * turns))
            // The reference rounds its angle, of up to 2 π, and π itself: 2^-50 in the sine.
            expect(Math.abs((values[i] as number) - wanted)).toBeLessThanOrEqual(2 ** -49 * radius)
          }
          const rounded = draw(bench, 'randomNormal_f32', n, seed, counter)
          expect(Array.from(rounded)).toEqual(Array.from(values, Math.fround))
        }),
      )
    }
  })

  it('randomInteger_i32: the upper word of a product, and other words where it would be biased', () => {
    const ends = fc.oneof(
      fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.integer({ min: 1, max: 1000 })),
      // Spans just above a power of two, where up to half of all words are refused, and the largest.
      fc.constantFrom<Pair>(
        [-(2 ** 31), 2 ** 31 + 1],
        [-(2 ** 31), 2 ** 32 - 1],
        [-5, 2 ** 31],
        [7, 2 ** 30 + 1],
        [9, 1],
      ),
    )
    for (const bench of benches) {
      fc.assert(
        fc.property(lengths, seeds, counters, ends, (n, seed, counter, [low, span]) => {
          const size = BigInt(span)
          const wanted = Array.from({ length: n }, (_, i) => {
            let product = BigInt(word(seed, counter, i)) * size
            for (let attempt = 1; (product & 0xffffffffn) < 2n ** 32n % size; attempt++) {
              const place: Words = [...blockCounter(counter, Math.floor(i / 4)), attempt, i % 4]
              product = BigInt(philox(place, seed)[0]) * size
            }
            return low + Number(product >> 32n)
          })
          expect(Array.from(draw(bench, 'randomInteger_i32', n, seed, counter, low, low + span))).toEqual(wanted)
        }),
      )
    }
  })
})

describe('the same numbers', () => {
  const perBlock = {
    randomUniform_f32: 4,
    randomUniform_f64: 2,
    randomNormal_f32: 2,
    randomNormal_f64: 2,
    randomInteger_i32: 4,
  }
  const names = Object.keys(perBlock) as Name[]

  it('come in whatever portions they are drawn, the counter advancing by the blocks used', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(fc.constantFrom(...names), lengths, lengths, seeds, counters, (name, a, b, seed, counter) => {
          const first = a - (a % perBlock[name])
          const whole = draw(bench, name, first + b, seed, counter, -3, 1000)
          const next = blockCounter(counter, first / perBlock[name])
          const parts = [
            ...draw(bench, name, first, seed, counter, -3, 1000),
            ...draw(bench, name, b, seed, next, -3, 1000),
          ]
          expect(parts).toEqual(Array.from(whole))
        }),
      )
    }
  })

  it('come from every build and every engine', () => {
    // Multiply-and-add hashes of the bits of 100,000 values, as Node 20 on x86-64 first gave them.
    const hashes: Record<Name, number> = {
      randomUniform_f32: 145228652,
      randomUniform_f64: 4181375639,
      randomNormal_f32: 1221981538,
      randomNormal_f64: 1934699468,
      randomInteger_i32: 3439041875,
    }
    for (const bench of benches) {
      const found = Object.fromEntries(
        names.map((name) => {
          const values = draw(bench, name, 100_000, [2024, 7], [2 ** 32 - 1000, 3], -(2 ** 31), 2)
          const bits = new Uint32Array(values.buffer)
          return [name, bits.reduce((hash, value) => (Math.imul(hash, 16777619) + value) >>> 0, 0)]
        }),
      )
      expect(found).toEqual(hashes)
    }
  })
})

// Each comparison below would fail by chance for about one seed in 10^5: 4.42 is that quantile of the normal
// distribution, both sides together. The seeds are fixed, so none fails by chance.
describe('the distributions', () => {
  const bench = benches[0] as Bench
  const n = 1_000_000
  const seed: Pair = [0x12345678, 0x9abcdef0]

  function mean(values: ArrayLike<number>, f: (x: number, i: number) => number): number {
    let total = 0
    for (let i = 0; i < values.length; i++) total += f(values[i] as number, i)
    return total / values.length
  }

  function increment(counts: Int32Array, cell: number): void {
    counts[cell] = (counts[cell] as number) + 1
  }

  /** The counts, all equally likely, are neither too uneven nor too even: χ², by Wilson and Hilferty's approximation. */
  function expectEven(counts: ArrayLike<number>): void {
    const cells = counts.length
    const expected = Array.from(counts).reduce((a, b) => a + b) / cells
    const statistic = Array.from(counts).reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    const spread = 2 / (9 * (cells - 1))
    const quantile = (z: number) => (cells - 1) * (1 - spread + z * Math.sqrt(spread)) ** 3
    expect(statistic).toBeLessThan(quantile(4.42))
    expect(statistic).toBeGreaterThan(quantile(-4.42))
  }

  /** Kolmogorov and Smirnov: the empirical distribution is close to `cumulative`; P(√n D > x) is about 2 e^(-2 x²). */
  function expectDistribution(values: Float32Array | Float64Array, cumulative: (x: number) => number): void {
    let distance = 0
    values
      .slice()
      .sort()
      .forEach((x, i) => {
        const probability = cumulative(x)
        distance = Math.max(distance, Math.abs(probability - i / n), Math.abs(probability - (i + 1) / n))
      })
    expect(distance * Math.sqrt(n)).toBeLessThan(Math.sqrt(Math.log(2e5) / 2))
  }

  describe.each(['f32', 'f64'] as const)('randomUniform_%s', (kind) => {
    const values = draw(bench, `randomUniform_${kind}`, n, seed, [0, 0]) as Float32Array | Float64Array

    it('is at least 0 and less than 1', () => {
      expect(values.every((x) => x >= 0 && x < 1)).toBe(true)
    })

    it('has the moments of the uniform distribution', () => {
      for (const power of [1, 2, 3, 4]) {
        const exact = 1 / (power + 1)
        const deviation = Math.sqrt((1 / (2 * power + 1) - exact ** 2) / n)
        expect(Math.abs(mean(values, (x) => x ** power) - exact)).toBeLessThan(4.42 * deviation)
      }
    })

    it('has the uniform distribution', () => expectDistribution(values, (x) => x))

    it('fills intervals, and the squares of successive pairs, evenly', () => {
      const intervals = new Int32Array(1000)
      const squares = new Int32Array(1024)
      values.forEach((x, i) => {
        increment(intervals, Math.floor(x * 1000))
        if (i % 2 === 1) increment(squares, 32 * Math.floor((values[i - 1] as number) * 32) + Math.floor(x * 32))
      })
      expectEven(intervals)
      expectEven(squares)
    })

    it('has even low bits', () => {
      const scale = kind === 'f32' ? 2 ** 24 : 2 ** 53
      const low = new Int32Array(256)
      values.forEach((x) => {
        increment(low, (x * scale) % 256)
      })
      expectEven(low)
    })

    it('does not correlate with its neighbours or with other seeds', () => {
      const other = draw(bench, `randomUniform_${kind}`, n, [(seed[0] + 1) >>> 0, seed[1]], [0, 0])
      const correlation = (f: (i: number) => number) => 12 * mean(values, (x, i) => (x - 0.5) * (f(i) - 0.5))
      for (const lag of [1, 2, 3, 4, 8, 16]) {
        expect(Math.abs(correlation((i) => values[(i + lag) % n] as number))).toBeLessThan(4.42 / Math.sqrt(n))
      }
      expect(Math.abs(correlation((i) => other[i] as number))).toBeLessThan(4.42 / Math.sqrt(n))
    })
  })

  describe('randomNormal_f64', () => {
    const values = draw(bench, 'randomNormal_f64', n, seed, [0, 0]) as Float64Array

    /** Φ by the series of Marsaglia, "Evaluating the normal distribution" (J. Stat. Software 11, 2004). */
    function cumulative(x: number): number {
      let term = x
      let sum = x
      for (let k = 3; Math.abs(term) > 1e-17; k += 2) {
        term *= (x * x) / k
        sum += term
      }
      return 0.5 + sum * Math.exp(-0.5 * x * x - 0.9189385332046727)
    }

    it('has the moments of the normal distribution', () => {
      const moments = [1, 0, 1, 0, 3, 0, 15, 0, 105]
      for (const power of [1, 2, 3, 4]) {
        const exact = moments[power] as number
        const deviation = Math.sqrt(((moments[2 * power] as number) - exact ** 2) / n)
        expect(Math.abs(mean(values, (x) => x ** power) - exact)).toBeLessThan(4.42 * deviation)
      }
    })

    it('has the normal distribution', () => expectDistribution(values, cumulative))

    it('has the tails of the normal distribution', () => {
      for (const limit of [3, 3.5, 4]) {
        const probability = cumulative(-limit)
        for (const side of [1, -1]) {
          const share = mean(values, (x) => (side * x > limit ? 1 : 0))
          expect(Math.abs(share - probability)).toBeLessThan(4.42 * Math.sqrt(probability / n))
        }
      }
    })

    it('has independent neighbours', () => {
      for (const lag of [1, 2, 3, 4, 8]) {
        const correlation = mean(values, (x, i) => x * (values[(i + lag) % n] as number))
        expect(Math.abs(correlation)).toBeLessThan(4.42 / Math.sqrt(n))
        const squares = mean(values, (x, i) => (x * x - 1) * ((values[(i + lag) % n] as number) ** 2 - 1)) / 2
        expect(Math.abs(squares)).toBeLessThan(4.42 / Math.sqrt(n))
      }
    })
  })

  describe('randomInteger_i32', () => {
    it.each([2, 7, 10, 100, 1000])('takes each of %i values equally often', (span) => {
      const counts = new Int32Array(span)
      draw(bench, 'randomInteger_i32', n, seed, [0, 0], -3, -3 + span).forEach((value) => {
        increment(counts, value + 3)
      })
      expectEven(counts)
    })

    it('is even over a span for which a quarter of all words are refused', () => {
      // A word times this span, over 2^32, gives every third value twice as often.
      const span = 3 * 2 ** 30
      const intervals = new Int32Array(96)
      const remainders = new Int32Array(3)
      draw(bench, 'randomInteger_i32', n, seed, [0, 0], -(2 ** 31), -(2 ** 31) + span).forEach((value) => {
        increment(intervals, Math.floor((value + 2 ** 31) / 2 ** 25))
        increment(remainders, (value + 2 ** 31) % 3)
      })
      expectEven(intervals)
      expectEven(remainders)
    })
  })
})
