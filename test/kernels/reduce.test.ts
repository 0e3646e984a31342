import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KernelName } from '../../src/runtime/kernels.generated.js'
import { magnitude, ONE, toInteger } from './exact.js'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Kind = 'f32' | 'f64' | 'i32' | 'u8'
type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array

const arrayOf = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u8: Uint8Array }

/** [outer, count, inner] with strides for each, in elements. */
interface Geometry {
  readonly sizes: readonly [number, number, number]
  readonly strides: readonly [number, number, number]
}

function contiguous(outer: number, count: number, inner: number): Geometry {
  return { sizes: [outer, count, inner], strides: [count * inner, inner, 1] }
}

/** How many elements a geometry spans. */
function span({ sizes, strides }: Geometry): number {
  return sizes.includes(0) ? 0 : 1 + sizes.reduce((sum, size, axis) => sum + (size - 1) * (strides[axis] as number), 0)
}

/** The places of the values that result (o, i) is made of, in order. */
function places({ sizes, strides }: Geometry, o: number, i: number): number[] {
  return Array.from({ length: sizes[1] }, (_, r) => o * strides[0] + r * strides[1] + i * strides[2])
}

/** Axes in any order of storage, with gaps between them and some of them broadcast. */
const geometries = (smallestCount: number): fc.Arbitrary<Geometry> =>
  fc
    .record({
      sizes: fc.tuple(
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: smallestCount, max: 41 }),
        fc.integer({ min: 0, max: 37 }),
      ),
      order: fc.constantFrom([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]),
      gaps: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2)),
      dense: fc.boolean(),
      broadcast: fc.constantFrom(undefined, undefined, 0, 1, 2),
    })
    .map(({ sizes, order, gaps, dense, broadcast }) => {
      const strides: [number, number, number] = [0, 0, 0]
      let next = 1
      for (const axis of [...order].reverse()) {
        strides[axis as 0] = axis === broadcast ? 0 : next
        next = Math.max(next * (sizes[axis as 0] + (dense ? 0 : gaps[axis as 0])), 1)
      }
      return { sizes, strides }
    })

/** A memory image of a geometry: `values` where it has elements, over and over, and between them what would be noticed. */
function fill(kind: Kind, geometry: Geometry, values: ArrayLike<number>) {
  const poison = kind === 'f32' || kind === 'f64' ? Number.NaN : kind === 'i32' ? 0x5a5a5a5a : 0
  const image = new arrayOf[kind](span(geometry)).fill(poison)
  let next = 0
  for (let o = 0; o < geometry.sizes[0]; o++) {
    for (let i = 0; i < geometry.sizes[2]; i++) {
      for (const place of places(geometry, o, i)) image[place] = values[next++ % values.length] as number
    }
  }
  return image
}

function run(
  bench: Bench,
  name: KernelName,
  image: Numbers,
  { sizes, strides }: Geometry,
  result: Kind,
  ...more: number[]
): Numbers {
  const mark = bench.reserve(0)
  const x = bench.put(image)
  const length = sizes[0] * sizes[2]
  const bytes = length * arrayOf[result].BYTES_PER_ELEMENT
  const out = guarded(bench, bytes)
  bench.kernels[name](x, out.address, ...sizes, ...strides, ...more)
  expect(out.intact()).toBe(true)
  const raw = bench.bytes(out.address, bytes)
  bench.reset(mark)
  const Result = arrayOf[result] as new (buffer: ArrayBufferLike) => Numbers
  return new Result(raw.buffer)
}

/** Checks a kernel against a function of the values that make one result, in order. */
function checkAgainst(
  name: KernelName,
  kind: Kind,
  result: Kind,
  smallestCount: number,
  value: fc.Arbitrary<number>,
  reference: (values: number[]) => number,
): void {
  for (const bench of benches) {
    fc.assert(
      fc.property(geometries(smallestCount), fc.array(value, { minLength: 1, maxLength: 50 }), (geometry, values) => {
        const image = fill(kind, geometry, values)
        const got = run(bench, name, image, geometry, result)
        for (let o = 0, n = 0; o < geometry.sizes[0]; o++) {
          for (let i = 0; i < geometry.sizes[2]; i++, n++) {
            const wanted = reference(places(geometry, o, i).map((place) => image[place] as number))
            // Zeros of either sign are equal.
            expect((got[n] as number) + 0).toBe(wanted + 0)
          }
        }
      }),
    )
  }
}

const float32 = (options: fc.FloatConstraints = {}) => fc.float(options)
const numbers = {
  f32: float32({ min: -1e6, max: 1e6, noNaN: true }),
  f64: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  i32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
}
const special = fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 0, -0, 1, 2.5)
const mostlyFinite = (kind: 'f32' | 'f64') => fc.oneof({ weight: 9, arbitrary: numbers[kind] }, special)
const bytes = fc.integer({ min: 0, max: 1 })

/** A reproducible stream of numbers in [0, 1). */
function stream(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe.each([
  // Every value is rounded twice in its group of four, the rest is exact to a few parts of 2^-53 (float64: compensated,
  // so of second order), and the result is rounded once.
  ['f32', 3, 24n],
  ['f64', 3, 53n],
] as const)('sum_%s', (kind, roundings, digits) => {
  const exactSum = (values: readonly number[]) => values.reduce((sum, value) => sum + toInteger(value), 0n)
  const exactMagnitude = (values: readonly number[]) => values.reduce((sum, v) => sum + magnitude(toInteger(v)), 0n)

  it('is within a few roundings of the exact sum', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(geometries(0), fc.array(numbers[kind], { minLength: 1, maxLength: 50 }), (geometry, values) => {
          const image = fill(kind, geometry, values)
          const got = run(bench, `sum_${kind}`, image, geometry, kind)
          for (let o = 0, n = 0; o < geometry.sizes[0]; o++) {
            for (let i = 0; i < geometry.sizes[2]; i++, n++) {
              const summands = places(geometry, o, i).map((place) => image[place] as number)
              const error = magnitude(toInteger(got[n] as number) - exactSum(summands))
              expect(error << digits <= BigInt(roundings) * exactMagnitude(summands)).toBe(true)
            }
          }
        }),
      )
    }
  })

  it('carries infinities and NaN to the results that they belong to', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(
          geometries(0),
          fc.array(mostlyFinite(kind), { minLength: 1, maxLength: 300 }),
          (geometry, values) => {
            const image = fill(kind, geometry, values)
            const got = run(bench, `sum_${kind}`, image, geometry, kind)
            for (let o = 0, n = 0; o < geometry.sizes[0]; o++) {
              for (let i = 0; i < geometry.sizes[2]; i++, n++) {
                const sum = places(geometry, o, i).reduce((total, place) => total + (image[place] as number), 0)
                if (Number.isFinite(sum)) expect(Number.isFinite(got[n] as number)).toBe(true)
                else expect(got[n]).toBe(sum)
              }
            }
          },
        ),
      )
    }
  })

  it('has the same bits every time and in both builds', () => {
    const next = stream(1)
    for (const geometry of [
      contiguous(3, 1009, 1),
      contiguous(2, 61, 67),
      { ...contiguous(1, 50, 9), strides: [1, 19, 2] },
    ]) {
      const image = new arrayOf[kind](span(geometry as Geometry)).map(() => next() - 0.5)
      const results = [...benches, ...benches].map((b) => run(b, `sum_${kind}`, image, geometry as Geometry, kind))
      for (const result of results) expect(result).toEqual(results[0])
    }
  })

  it('of 10^7 values of similar size is within 2 units in the last place', () => {
    const next = stream(2)
    const image = new arrayOf[kind](1e7).map(() => 0.5 + next())
    const unit = kind === 'f32' ? 2 ** -24 : 2 ** -53
    // Neighbouring values side by side, each column 10^6 long, and all of them in one row.
    const across: Geometry = { sizes: [1, 1e6, 10], strides: [0, 10, 1] }
    const rows = [
      { geometry: contiguous(1, 1e7, 1), columns: 1 },
      { geometry: across, columns: 10 },
    ]
    for (const bench of benches) {
      for (const { geometry, columns } of rows) {
        const got = run(bench, `sum_${kind}`, image, geometry, kind)
        for (let column = 0; column < columns; column++) {
          // Multiples of 2^-32, whose upper and lower parts add up exactly.
          let upper = 0
          let lower = 0
          for (let k = column; k < image.length; k += columns) {
            const scaled = (image[k] as number) * 2 ** 16
            upper += Math.floor(scaled)
            lower += scaled - Math.floor(scaled)
          }
          const wanted = (upper + lower) / 2 ** 16
          expect(Math.abs((got[column] as number) - wanted)).toBeLessThanOrEqual(4 * unit * wanted)
        }
      }
    }
  })
})

describe.each(['f32', 'f64'] as const)('variance_%s', (kind) => {
  const correction = fc.constantFrom(0, 1, 2, 0.5)

  it('is the exact variance but for a few roundings, whatever the mean', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(
          geometries(3),
          fc.array(numbers[kind], { minLength: 2, maxLength: 50 }),
          fc.constantFrom(0, 2 ** 20),
          correction,
          (geometry, values, offset, c) => {
            const image = fill(kind, geometry, values).map((value) => value + offset)
            const got = run(bench, `variance_${kind}`, image, geometry, kind, c)
            for (let o = 0, n = 0; o < geometry.sizes[0]; o++) {
              for (let i = 0; i < geometry.sizes[2]; i++, n++) {
                const xs = places(geometry, o, i).map((place) => toInteger(image[place] as number))
                const count = BigInt(xs.length)
                const total = xs.reduce((sum, x) => sum + x, 0n)
                const squares = xs.reduce((sum, x) => sum + x * x, 0n)
                let largest = 0n
                for (const x of xs) if (magnitude(x) > largest) largest = magnitude(x)
                // Exactly: Σ(x - mean)² = (n Σx² - (Σx)²) / n; all integers below have the factor n · 2^2148.
                const exact = count * squares - total * total
                const computed = (toInteger((got[n] as number) * (xs.length - c)) * count * ONE) as bigint
                // Each square has three roundings and the sum, the quotient and the product above one each: less than
                // 8 of 2^-53, and for float32 one of 2^-24 besides. The mean's own rounding, of 2^-52 of the largest
                // value at most, enters squared, as does its interplay with the roundings of the distances. What is
                // subnormal in the result or above has an absolute error instead.
                const relative = (exact >> 50n) + (kind === 'f32' ? exact >> 24n : 0n)
                const mean = (count * count * largest * largest) >> 102n
                const subnormal = count * count * ONE * (kind === 'f32' ? ONE >> 148n : 4n)
                expect(magnitude(computed - exact) <= relative + mean + subnormal).toBe(true)
              }
            }
          },
        ),
      )
    }
  })

  it('is NaN or infinite where nothing is left to divide by', () => {
    for (const bench of benches) {
      const one = new arrayOf[kind]([3])
      const two = new arrayOf[kind]([1, 3])
      expect(run(bench, `variance_${kind}`, one, contiguous(1, 1, 1), kind, 1)).toEqual(new arrayOf[kind]([Number.NaN]))
      expect(run(bench, `variance_${kind}`, one, contiguous(1, 1, 1), kind, 2)).toEqual(new arrayOf[kind]([Number.NaN]))
      expect(run(bench, `variance_${kind}`, one, contiguous(1, 1, 1), kind, 0)).toEqual(new arrayOf[kind]([0]))
      expect(run(bench, `variance_${kind}`, two, contiguous(1, 2, 1), kind, 2)).toEqual(
        new arrayOf[kind]([Number.POSITIVE_INFINITY]),
      )
      const none = run(bench, `variance_${kind}`, two, contiguous(2, 0, 3), kind, 0)
      expect(none).toEqual(new arrayOf[kind](6).fill(Number.NaN))
    }
  })

  it('of equal values is 0 but for the rounding of their mean, and float32 has none', () => {
    for (const bench of benches) {
      for (const geometry of [contiguous(2, 101, 1), contiguous(1, 33, 21)]) {
        const image = new arrayOf[kind](span(geometry)).fill(12345.678)
        const got = run(bench, `variance_${kind}`, image, geometry, kind, 1)
        const rounding = kind === 'f32' ? 0 : (12345.678 * 2 ** -52) ** 2
        expect(got.every((value) => value >= 0 && value <= rounding * 1.1)).toBe(true)
      }
    }
  })

  it('has the same bits in both builds', () => {
    const next = stream(3)
    for (const geometry of [contiguous(3, 1009, 1), contiguous(2, 61, 67)]) {
      const image = new arrayOf[kind](span(geometry)).map(() => next())
      const results = benches.map((bench) => run(bench, `variance_${kind}`, image, geometry, kind, 1))
      for (const result of results) expect(result).toEqual(results[0])
    }
  })
})

const largest = (values: number[]) => values.reduce((a, b) => Math.max(a, b))
const smallest = (values: number[]) => values.reduce((a, b) => Math.min(a, b))

/** The first place of NaN, or else of the extreme. */
function firstOf(extreme: (values: number[]) => number): (values: number[]) => number {
  return (values) => {
    const wanted = extreme(values)
    return values.findIndex((value) => value === wanted || (Number.isNaN(wanted) && Number.isNaN(value)))
  }
}

describe.each(['f32', 'f64'] as const)('extremes of %s', (kind) => {
  it('max', () => checkAgainst(`max_${kind}`, kind, kind, 1, mostlyFinite(kind), largest))
  it('min', () => checkAgainst(`min_${kind}`, kind, kind, 1, mostlyFinite(kind), smallest))
  it('argmax', () => checkAgainst(`argmax_${kind}`, kind, 'i32', 1, mostlyFinite(kind), firstOf(largest)))
  it('argmin', () => checkAgainst(`argmin_${kind}`, kind, 'i32', 1, mostlyFinite(kind), firstOf(smallest)))

  it('of few different values, so that there are ties', () => {
    const few = fc.constantFrom(-1, 0, 1, 1, 1)
    checkAgainst(`argmax_${kind}`, kind, 'i32', 1, few, firstOf(largest))
    checkAgainst(`argmin_${kind}`, kind, 'i32', 1, few, firstOf(smallest))
  })

  it('finds NaN and infinities wherever they are', () => {
    for (const bench of benches) {
      for (const count of [1, 2, 3, 4, 5, 7, 8, 9, 16, 17]) {
        for (let place = 0; place < count; place++) {
          const image = new arrayOf[kind](count).fill(Number.NEGATIVE_INFINITY)
          const row = contiguous(1, count, 1)
          expect(run(bench, `max_${kind}`, image, row, kind)[0]).toBe(Number.NEGATIVE_INFINITY)
          image[place] = Number.NaN
          for (const name of ['max', 'min'] as const) {
            expect(run(bench, `${name}_${kind}`, image, row, kind)[0]).toBe(Number.NaN)
          }
          for (const name of ['argmax', 'argmin'] as const) {
            expect(run(bench, `${name}_${kind}`, image, row, 'i32')[0]).toBe(place)
          }
        }
      }
    }
  })
})

describe('extremes of i32', () => {
  const value = fc.oneof(numbers.i32, fc.constantFrom(0, 1, -(2 ** 31), 2 ** 31 - 1))
  it('max', () => checkAgainst('max_i32', 'i32', 'i32', 1, value, largest))
  it('min', () => checkAgainst('min_i32', 'i32', 'i32', 1, value, smallest))
  it('argmax', () => checkAgainst('argmax_i32', 'i32', 'i32', 1, value, firstOf(largest)))
  it('argmin', () => checkAgainst('argmin_i32', 'i32', 'i32', 1, value, firstOf(smallest)))
})

describe('folds in order', () => {
  it('sum_i32 wraps around', () => {
    checkAgainst('sum_i32', 'i32', 'i32', 0, numbers.i32, (values) => values.reduce((a, b) => (a + b) | 0, 0))
  })

  it('prod_f32', () => {
    const factors = fc.oneof(float32({ min: -4, max: 4, noNaN: true }), special)
    const product = (values: number[]) => values.reduce((a, b) => Math.fround(a * b), 1)
    checkAgainst('prod_f32', 'f32', 'f32', 0, factors, product)
  })

  it('prod_f64', () => {
    const factors = fc.oneof(fc.double({ min: -4, max: 4, noNaN: true }), special)
    checkAgainst('prod_f64', 'f64', 'f64', 0, factors, (values) => values.reduce((a, b) => a * b, 1))
  })

  it('prod_i32 wraps around', () => {
    checkAgainst('prod_i32', 'i32', 'i32', 0, numbers.i32, (values) => values.reduce((a, b) => Math.imul(a, b), 1))
  })

  it('any_u8', () => {
    const rarely = fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, bytes)
    checkAgainst('any_u8', 'u8', 'u8', 0, rarely, (values) => (values.includes(1) ? 1 : 0))
  })

  it('all_u8', () => {
    const mostly = fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, bytes)
    checkAgainst('all_u8', 'u8', 'u8', 0, mostly, (values) => (values.includes(0) ? 0 : 1))
  })
})
