// Normalised rows and their backward passes, against the formulas in double precision.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KernelName } from '../../src/runtime/kernels.generated.js'
import { sum } from './compensated.js'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Values = Float32Array | Float64Array

const arrayOf = { f32: Float32Array, f64: Float64Array }
const units = { f32: 2 ** -24, f64: 2 ** -53 }
const smallestNormals = { f32: 2 ** -126, f64: 2 ** -1022 }
const mean = (values: readonly number[]): number => sum(values) / values.length
const times = (a: number, b: number): number => (a === 0 ? 0 : a * b)

/** Runs a kernel; null is an operand that is not there, `inPlace` the one that is the output as well. */
function run(
  bench: Bench,
  name: KernelName,
  operands: readonly (Values | null)[],
  like: Values,
  numbers: readonly number[],
  inPlace?: number,
): Values {
  const mark = bench.reserve(0)
  const places = operands.map((operand) => (operand === null ? null : guarded(bench, operand)))
  const out = (inPlace === undefined ? null : places[inPlace]) ?? guarded(bench, like.byteLength)
  bench.kernels[name](...places.map((place) => place?.address ?? 0), out.address, ...numbers)
  for (const place of [...places, out]) expect(place?.intact() ?? true).toBe(true)
  const result =
    like instanceof Float32Array ? bench.float32(out.address, like.length) : bench.float64(out.address, like.length)
  bench.reset(mark)
  return result
}

describe.each(['f32', 'f64'] as const)('%s', (type) => {
  const unit = units[type]
  const ArrayType = arrayOf[type]
  const value = fc.double({ min: -50, max: 50, noNaN: true })
  const array = (length: number, element: fc.Arbitrary<number> = value) =>
    fc
      .array(element, { minLength: length, maxLength: length, size: 'max' })
      .map((values): Values => new ArrayType(values))
  const scene = fc
    .record({
      rows: fc.nat(3),
      count: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.constantFrom(63, 64, 65, 257)),
      eps: fc.constantFrom(1e-5, 0.5, 2 ** -23),
      centred: fc.boolean(),
      offset: fc.constantFrom(0, 0, 1000),
    })
    .chain((settings) => {
      const { rows, count, offset } = settings
      return fc.record({
        ...Object.fromEntries(Object.entries(settings).map(([key, one]) => [key, fc.constant(one)])),
        x: array(rows * count).map((values) => values.map((one) => one + offset) as Values),
        g: array(rows * count, fc.oneof({ weight: 4, arbitrary: value }, fc.constant(0))),
        weight: fc.option(array(count)),
        bias: fc.option(array(count)),
      }) as fc.Arbitrary<typeof settings & { x: Values; g: Values; weight: Values | null; bias: Values | null }>
    })

  /** The row's normalised values, their factor, and how many roundings of 1 they may be away. */
  function analyse(row: Values, eps: number, centred: boolean) {
    const values = Array.from(row)
    const middle = centred ? mean(values) : 0
    const distances = values.map((one) => one - middle)
    const factor = 1 / Math.sqrt(mean(distances.map((one) => one * one)) + eps)
    const normal = distances.map((one) => one * factor)
    // The error of the mean: of adding doubles for float32, of a rounding, here and in the reference, for float64.
    const lost = (type === 'f32' ? row.length * 2 ** -29 : 4) * mean(values.map(Math.abs))
    // Distance, square, sum, quotient, sum with eps, root, reciprocal and product are rounded, for float64 twice.
    return { normal, factor, error: (y: number) => 16 * Math.abs(y) + lost * factor }
  }

  function close(got: number, wanted: number, tolerance: number): void {
    // Beside the roundings of normal numbers there are those of subnormal ones, times weights of up to 50.
    const allowed = tolerance + 64 * smallestNormals[type]
    if (!(Math.abs(got - wanted) <= allowed)) expect.fail(`${got} instead of ${wanted}, allowed ${allowed}`)
  }

  it('normalise: mean 0 and mean square 1, times the weight, plus the bias', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, eps, centred, x, weight, bias: given }) => {
          const bias = weight === null ? null : given
          const got = run(bench, `normalise_${type}`, [x, weight, bias], x, [rows, count, eps, Number(centred)])
          for (let row = 0; row < rows; row++) {
            const { normal, error } = analyse(x.subarray(row * count, (row + 1) * count), eps, centred)
            normal.forEach((y, j) => {
              const scale = weight?.[j] ?? 1
              const wanted = y * scale + (bias?.[j] ?? 0)
              const tolerance = unit * (error(y) * Math.abs(scale) + 2 * Math.abs(wanted) + 2 * Math.abs(y * scale))
              close(got[row * count + j] as number, wanted, tolerance)
            })
          }
        }),
      )
    }
  })

  it('normaliseBackward: r (h - mean(h) - y mean(h y)) with h = g · weight', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, eps, centred, x, g, weight }) => {
          const got = run(bench, `normaliseBackward_${type}`, [g, x, weight], x, [rows, count, eps, Number(centred)])
          for (let row = 0; row < rows; row++) {
            const from = row * count
            const { normal, factor, error } = analyse(x.subarray(from, from + count), eps, centred)
            const h = normal.map((_, j) => (g[from + j] as number) * (weight?.[j] ?? 1))
            const across = centred ? mean(h) : 0
            const along = mean(normal.map((y, j) => (h[j] as number) * y))
            const size = mean(h.map(Math.abs))
            const product = mean(normal.map((y, j) => Math.abs(h[j] as number) * (error(y) + 4 * Math.abs(y))))
            normal.forEach((y, j) => {
              const wanted = factor * ((h[j] as number) - across - y * along)
              const parts = 8 * Math.abs(h[j] as number) + 8 * size + 8 * Math.abs(y * along)
              const tolerance = unit * factor * (parts + Math.abs(y) * product + error(y) * Math.abs(along))
              close(got[from + j] as number, wanted, tolerance)
            })
          }
        }),
      )
    }
  })

  it('normaliseProduct: g times the normalised values', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, eps, centred, x, g }) => {
          const numbers = [rows, count, eps, Number(centred)]
          const normal = run(bench, `normalise_${type}`, [x, null, null], x, numbers)
          const got = run(bench, `normaliseProduct_${type}`, [g, x], x, numbers)
          const round = type === 'f32' ? Math.fround : (one: number) => one
          expect(got).toEqual(normal.map((y, i) => round(times(g[i] as number, y))))
        }),
      )
    }
  })

  it('cotangents of zeros give zeros for rows of NaN and infinity, and their neighbours what they give alone', () => {
    for (const bench of benches) {
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
        for (const count of [1, 3, 4, 19]) {
          const good = Array.from({ length: count }, (_, j) => Math.sin(j + 1))
          const g = new ArrayType([...new Array<number>(count).fill(0), ...good])
          const x = new ArrayType([...new Array<number>(count).fill(bad), ...good.map((one) => one * 3 + 1)])
          for (const centred of [0, 1]) {
            const both = run(bench, `normaliseBackward_${type}`, [g, x, null], x, [2, count, 1e-5, centred])
            const product = run(bench, `normaliseProduct_${type}`, [g, x], x, [2, count, 1e-5, centred])
            expect(both.subarray(0, count).every((one) => one === 0)).toBe(true)
            expect(product.subarray(0, count).every((one) => one === 0)).toBe(true)
            const [ownG, ownX] = [g.slice(count), x.slice(count)] as const
            const alone = run(bench, `normaliseBackward_${type}`, [ownG, ownX, null], ownX, [1, count, 1e-5, centred])
            expect(both.subarray(count)).toEqual(alone)
          }
        }
      }
    }
  })

  it('works in place', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, eps, centred, x, g, weight }) => {
          const numbers = [rows, count, eps, Number(centred)]
          const calls = [
            [`normalise_${type}`, [x, weight, null], [0]],
            [`normaliseBackward_${type}`, [g, x, weight], [0, 1]],
            [`normaliseProduct_${type}`, [g, x], [0, 1]],
          ] as const
          for (const [name, operands, places] of calls) {
            const apart = run(bench, name, operands, x, numbers)
            for (const place of places) expect(run(bench, name, operands, x, numbers, place)).toEqual(apart)
          }
        }),
        { numRuns: 30 },
      )
    }
  })
})
