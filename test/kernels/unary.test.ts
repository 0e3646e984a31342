import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KernelName } from '../../src/runtime/kernels.generated.js'
import * as exact from './elementary.js'
import { complementaryError, error } from './error-function.js'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Floats = Float32Array | Float64Array
type Type = 'f32' | 'f64'

const infinity = Number.POSITIVE_INFINITY
const types: readonly Type[] = ['f32', 'f64']
const floats = (type: Type, values: Iterable<number>): Floats =>
  type === 'f32' ? Float32Array.from(values) : Float64Array.from(values)

/** Runs a kernel on values between guard bytes. */
function run<T extends Floats | Int32Array>(bench: Bench, name: KernelName, values: T, inPlace = false): T {
  const mark = bench.reserve(0)
  const input = guarded(bench, values)
  const output = inPlace ? input : guarded(bench, values.byteLength)
  bench.kernels[name](input.address, output.address, values.length)
  expect(input.intact()).toBe(true)
  expect(output.intact()).toBe(true)
  const result =
    values instanceof Float32Array
      ? bench.float32(output.address, values.length)
      : values instanceof Float64Array
        ? bench.float64(output.address, values.length)
        : bench.int32(output.address, values.length)
  bench.reset(mark)
  return result as T
}

const round = (x: number): number => {
  const floor = Math.floor(x)
  const rest = x - floor
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0)
  return up ? (floor < 0 && floor + 1 === 0 ? -0 : floor + 1) : floor
}

/** x / (1 + e^-z), which at -∞ falls to 0. */
const gate = (x: number, z: number): number => (x === -infinity ? -0 : x / (1 + Math.exp(-z)))

interface Approximated {
  /** In double precision, and right about zeros, infinities and NaN. */
  readonly reference: (x: number) => number
  readonly exact: (x: exact.Exact) => exact.Exact
  /** The greatest error in units in the last place, somewhat above what every 31st float32 shows. */
  readonly f32: number
  /** How many times as large it may be at x in float32; 1 everywhere if not given. */
  readonly tail?: (x: number) => number
  readonly f64: number
  /** Where `exact` is defined; outside, `reference` is exact as well. */
  readonly domain: readonly [number, number]
}

const everywhere = [-infinity, infinity] as const
const moderate = [-800, 800] as const
const approximated: Record<string, Approximated> = {
  exp: { reference: Math.exp, exact: exact.exp, f32: 1.1, f64: 1.2, domain: moderate },
  expm1: { reference: Math.expm1, exact: exact.expm1, f32: 2, f64: 3, domain: moderate },
  log: { reference: Math.log, exact: exact.log, f32: 1, f64: 1, domain: [0, infinity] },
  log1p: { reference: Math.log1p, exact: exact.log1p, f32: 1, f64: 1, domain: [-1, infinity] },
  rsqrt: {
    reference: (x) => 1 / Math.sqrt(x),
    exact: (x) => exact.reciprocal(exact.sqrt(x)),
    f32: 1.5,
    f64: 1.5,
    domain: [0, infinity],
  },
  sin: { reference: Math.sin, exact: exact.sin, f32: 0.6, f64: 1, domain: everywhere },
  cos: { reference: Math.cos, exact: exact.cos, f32: 0.6, f64: 1, domain: everywhere },
  tanh: { reference: Math.tanh, exact: exact.tanh, f32: 1.5, f64: 1.5, domain: moderate },
  erf: { reference: error, exact: exact.erf, f32: 1.5, f64: 1.5, domain: moderate },
  sigmoid: {
    reference: (x) => 1 / (1 + Math.exp(-x)),
    exact: exact.sigmoid,
    f32: 2.5,
    f64: 2.5,
    domain: moderate,
  },
  silu: { reference: (x) => gate(x, x), exact: exact.silu, f32: 3.5, f64: 3.5, domain: moderate },
  softplus: {
    reference: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
    exact: exact.softplus,
    f32: 2,
    f64: 2,
    domain: moderate,
  },
  gelu: {
    reference: (x) => (x === -infinity ? -0 : x * (complementaryError(-x * Math.SQRT1_2) / 2)),
    exact: exact.gelu,
    f32: 9,
    // The error is relative to Φ(x)^0.7, as far as that is of interest.
    tail: (x) => (x > 0 ? 1 : x > -5.5 ? complementaryError(-x * Math.SQRT1_2) ** -0.3 : infinity),
    f64: 4,
    domain: moderate,
  },
  geluTanh: {
    reference: (x) => gate(x, 2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)),
    exact: exact.geluTanh,
    f32: 3.5,
    // The error of an exponent is relative to it.
    tail: (x) => Math.max(1, -2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)),
    f64: 3.5,
    domain: moderate,
  },
}

/** Rounded correctly, so their results are known to the bit. */
const correct: Record<string, (x: number) => number> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: Math.sign,
  square: (x) => x * x,
  sqrt: Math.sqrt,
  reciprocal: (x) => 1 / x,
  relu: (x) => (Number.isNaN(x) || x >= 0 ? x : 0),
  floor: Math.floor,
  ceil: Math.ceil,
  round,
}

const specials = [0, -0, infinity, -infinity, Number.NaN]
const nameOf = (operation: string, type: Type | 'i32') => `${operation}_${type}` as KernelName

/** Whether two results are the same value, where zeros differ by sign and all NaN are one. */
const isSame = Object.is

/** The error of a float32 in units in the last place of the nearest float32. */
function errorOfSingle(actual: number, reference: number): number {
  const nearest = Math.fround(reference)
  if (nearest === 0 || actual === 0 || !Number.isFinite(nearest) || !Number.isFinite(actual)) {
    // Beside 0 and beside the largest number there may still be a rounding between the two.
    if (isSame(actual, nearest)) return 0
    if (Number.isNaN(actual) || Number.isNaN(nearest) || isSame(actual, -nearest)) return infinity
  }
  const exponent = Math.floor(Math.log2(Math.min(Math.max(Math.abs(nearest), 2 ** -126), 2 ** 127)))
  return Math.abs(actual - reference) / 2 ** (exponent - 23)
}

/** The same for float64, against an exact value. */
function errorOfDouble(actual: number, expected: exact.Exact): number {
  if (expected.m === 0n) return actual === 0 ? 0 : infinity
  if (exact.leading(expected) >= 1024) return actual === infinity ? 0 : infinity
  if (!Number.isFinite(actual)) return infinity
  const unit = Math.max(exact.leading(expected), -1022) - 52
  return Math.abs(exact.inUnits(exact.difference(exact.exactly(actual), expected), unit))
}

/** Doubles of every exponent, and many of the sizes at which the functions change. */
function sampleOfDoubles(): Float64Array {
  let state = 0x9e3779b9
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  const words = Uint32Array.from({ length: 2400 }, next)
  const values = [...specials, ...new Float64Array(words.buffer)]
  for (const size of [2 ** -20, 0.1, 1, 3, 10, 50, 750, 1e5, 1e7]) {
    for (let i = 0; i < 160; i++) values.push((next() / 2 ** 31 - 1 + next() / 2 ** 63) * size)
  }
  for (let exponent = -1074; exponent < 1024; exponent += 7) values.push(2 ** exponent, -(2 ** exponent))
  // Bounds of the kernels' cases and of the range of results.
  for (const bound of [0.625, 1, Math.SQRT1_2, Math.SQRT2, Math.PI / 4, Math.LN2 / 2, 6, 21.7, 38.7, 709.78, 745.13]) {
    for (const near of [bound * (1 - 2 ** -52), bound, bound * (1 + 2 ** -52)]) values.push(near, -near)
  }
  for (let n = 1; n < 40; n++) values.push((n * Math.PI) / 2, n, n + 0.5, -n, -n - 0.5)
  // The double nearest to a multiple of π/2.
  values.push(6381956970095103 * 2 ** 797, 4194304, 4194305, Number.MAX_VALUE)
  return Float64Array.from(values)
}
const sample = sampleOfDoubles()

for (const bench of benches) {
  describe(bench.fused ? 'fused build' : 'plain build', () => {
    describe.each(Object.entries(approximated))(
      '%s',
      (operation, { reference, exact: inExact, domain, tail = () => 1, ...limits }) => {
        it(`is exact to ${limits.f32} ulp over the range of float32`, () => {
          const STEP = 1009
          const patterns = new Uint32Array(2 ** 16)
          const name = nameOf(operation, 'f32')
          const mark = bench.reserve(0)
          let worst = 0
          let place = 0
          for (let start = 0; start < 2 ** 32; start += patterns.length * STEP) {
            for (let i = 0; i < patterns.length; i++) patterns[i] = start + i * STEP
            const values = new Float32Array(patterns.buffer)
            const input = bench.put(values)
            const output = bench.reserve(values.byteLength)
            bench.kernels[name](input, output, values.length)
            const results = bench.float32(output, values.length)
            bench.reset(mark)
            for (let i = 0; i < values.length; i++) {
              const x = values[i] as number
              const difference = errorOfSingle(results[i] as number, reference(x)) / tail(x)
              if (difference > worst) {
                worst = difference
                place = x
              }
            }
          }
          expect(worst, `at ${place}`).toBeLessThanOrEqual(limits.f32)
        })

        it(`is exact to ${limits.f64} ulp in float64`, () => {
          const results = run(bench, nameOf(operation, 'f64'), sample)
          let worst = 0
          let place = 0
          sample.forEach((x, i) => {
            const actual = results[i] as number
            const isInside = x !== 0 && Number.isFinite(x) && x > domain[0] && x < domain[1]
            const outside = () => (isSame(actual, reference(x)) ? 0 : infinity)
            const difference = isInside ? errorOfDouble(actual, inExact(exact.exactly(x))) : outside()
            if (difference > worst) {
              worst = difference
              place = x
            }
          })
          expect(worst, `at ${place}`).toBeLessThanOrEqual(limits.f64)
        })
      },
    )

    it('keeps gelu of float32 exact to 1e-11 where its digits are not', () => {
      const reference = (x: number) => (x * complementaryError(-x * Math.SQRT1_2)) / 2
      const values = Float32Array.from({ length: 17001 }, (_, i) => -5.5 * 1.005 ** i)
      const results = run(bench, 'gelu_f32', values)
      values.forEach((x, i) => {
        expect(Math.abs((results[i] as number) - reference(x)), `at ${x}`).toBeLessThan(1e-11)
        expect(results[i], `at ${x}`).toBeLessThanOrEqual(0)
      })
    })

    describe.each(Object.entries(correct))('%s', (operation, reference) => {
      it.each(types)('is rounded correctly in %s', (type) => {
        const values = floats(type, [
          ...sample,
          0.5,
          1.5,
          2.5,
          -0.5,
          -1.5,
          2 ** 23 + 1,
          2 ** 52 + 1,
          4503599627370495.5,
        ])
        const expected = floats(type, Array.from(values, reference))
        expect(run(bench, nameOf(operation, type), values)).toEqual(expected)
      })
    })

    it.each(types)('takes zeros, infinities and NaN to their limits in %s', (type) => {
      const values = floats(type, specials)
      for (const [operation, { reference }] of Object.entries(approximated)) {
        expect(run(bench, nameOf(operation, type), values), operation).toEqual(floats(type, specials.map(reference)))
      }
    })

    it.each(types)('gives a value the same result at every position, in place or not, in %s', (type) => {
      const all = [...Object.keys(approximated), ...Object.keys(correct)]
      const value = fc.oneof(
        type === 'f32' ? fc.float() : fc.double(),
        fc.double({ min: -20, max: 20, noNaN: true }),
        fc.constantFrom(...specials),
      )
      const property = fc.property(
        fc.constantFrom(...all),
        fc.array(value, { maxLength: 40 }),
        fc.boolean(),
        (operation, list, inPlace) => {
          const name = nameOf(operation, type)
          const values = floats(type, list)
          const alone = Array.from(values, (x) => run(bench, name, floats(type, [x]))[0] as number)
          expect(run(bench, name, values, inPlace)).toEqual(floats(type, alone))
        },
      )
      fc.assert(property, { numRuns: 300 })
    })

    it('takes integers modulo 2^32', () => {
      const operations: Record<string, (x: number) => number> = {
        neg: (x) => -x,
        abs: Math.abs,
        sign: Math.sign,
        square: (x) => Math.imul(x, x),
      }
      const integers = fc.array(fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31))))
      const property = fc.property(
        fc.constantFrom(...Object.keys(operations)),
        integers,
        fc.boolean(),
        (operation, list, inPlace) => {
          const reference = operations[operation] as (x: number) => number
          const expected = Int32Array.from(list, (x) => reference(x) | 0)
          expect(run(bench, nameOf(operation, 'i32'), Int32Array.from(list), inPlace)).toEqual(expected)
        },
      )
      fc.assert(property)
    })
  })
}
