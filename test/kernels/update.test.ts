// Optimisers' kernels against plain loops, at every length around a vector's, between guard bytes.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

const kinds = [
  { suffix: 'f32', array: Float32Array, read: 'float32', round: Math.fround, tolerance: 1e-6 },
  { suffix: 'f64', array: Float64Array, read: 'float64', round: (value: number) => value, tolerance: 1e-14 },
] as const
type Kind = (typeof kinds)[number]

const moderate = fc.double({ min: -2, max: 2, noNaN: true })
const fraction = fc.double({ min: 0, max: 0.99, noNaN: true })
const columns = (count: number) =>
  fc.array(fc.tuple(...Array<typeof moderate>(count).fill(moderate)), { maxLength: 11 })

/** Runs a kernel over the columns of `rows`, and returns them as it left them; an empty column is at address 0. */
function run(
  { suffix, array, read }: Kind,
  bench: Bench,
  kernel: 'sgd' | 'adam' | 'rmsprop',
  rows: readonly (readonly number[])[],
  absent: readonly number[],
  settings: readonly number[],
): number[][] {
  const width = { sgd: 3, adam: 4, rmsprop: 5 }[kernel]
  const mark = bench.reserve(0)
  const places = Array.from({ length: width }, (_, c) =>
    guarded(bench, array.from(rows.map((row) => row[c] as number))),
  )
  const addresses = places.map(({ address }, c) => (absent.includes(c) ? 0 : address))
  bench.kernels[`${kernel}_${suffix}`](...addresses, rows.length, ...settings)
  for (const place of places) expect(place.intact()).toBe(true)
  const left = places.map(({ address }) => [...bench[read](address, rows.length)])
  bench.reset(mark)
  return left
}

function expectColumns(found: readonly number[][], wanted: readonly number[][], tolerance: number): void {
  wanted.forEach((column, c) => {
    column.forEach((value, i) => {
      const error = Math.abs((found[c]?.[i] as number) - value)
      expect(error, `column ${c}, row ${i}`).toBeLessThanOrEqual(tolerance * (1 + Math.abs(value)))
    })
  })
}

/** The columns of what a function makes of each row. */
function columnsOf(rows: readonly (readonly number[])[], width: number, fn: (row: readonly number[]) => number[]) {
  const made = rows.map(fn)
  return Array.from({ length: width }, (_, c) => made.map((row) => row[c] as number))
}

describe.each(kinds)('$suffix', (kind) => {
  const { round, tolerance } = kind

  it('sgd', () => {
    const settings = fc.tuple(fraction, fraction, fraction, fraction, fc.boolean(), fc.boolean())
    for (const bench of benches) {
      fc.assert(
        fc.property(columns(3), settings, (given, [rate, momentum, share, decay, nesterov, plain]) => {
          const rows = given.map((row) => row.map(round))
          const numbers = [rate, momentum, share, decay, Number(nesterov)]
          const found = run(kind, bench, 'sgd', rows, plain ? [2] : [], numbers)
          const wanted = columnsOf(rows, 3, (row) => {
            const [x, g, b] = row as [number, number, number]
            const d = g + decay * x
            if (plain) return [x - rate * d, g, b]
            const next = momentum * b + share * d
            return [x - rate * (nesterov ? d + momentum * next : next), g, next]
          })
          expectColumns(found, wanted, tolerance)
        }),
      )
    }
  })

  it('adam', () => {
    const settings = fc.tuple(fraction, fraction, fraction, fraction, fraction)
    for (const bench of benches) {
      fc.assert(
        fc.property(columns(4), settings, (given, [rate, beta1, beta2, decay, shrinks]) => {
          const rows = given.map(([x = 0, g = 0, m = 0, v = 0]) => [x, g, m, Math.abs(v)].map(round))
          const numbers = [rate, beta1, beta2, 0.75, 0.125, decay, 1 - shrinks]
          const found = run(kind, bench, 'adam', rows, [], numbers)
          const wanted = columnsOf(rows, 4, (row) => {
            const [given, g, m, v] = row as [number, number, number, number]
            const x = (1 - shrinks) * given
            const d = g + decay * x
            const first = beta1 * m + (1 - beta1) * d
            const second = beta2 * v + (1 - beta2) * d * d
            return [x - (rate * first) / (Math.sqrt(second) / 0.75 + 0.125), g, first, second]
          })
          expectColumns(found, wanted, 4 * tolerance)
        }),
      )
    }
  })

  it('rmsprop', () => {
    // The centred spread is at least alpha, so that its roundings do not matter.
    const keeping = fc.double({ min: 0.3, max: 0.99, noNaN: true })
    const settings = fc.tuple(fraction, keeping, fraction, fraction, fc.subarray([3, 4]))
    for (const bench of benches) {
      fc.assert(
        fc.property(columns(5), settings, (given, [rate, alpha, decay, momentum, absent]) => {
          const rows = given.map(([x = 0, g = 0, , b = 0, a = 0]) => [x, g, a * a + 1, b, a].map(round))
          const found = run(kind, bench, 'rmsprop', rows, absent, [rate, alpha, 0.125, decay, momentum])
          const wanted = columnsOf(rows, 5, (row) => {
            const [x, g, s, b, a] = row as [number, number, number, number, number]
            const d = g + decay * x
            const squares = alpha * s + (1 - alpha) * d * d
            const mean = absent.includes(4) ? a : alpha * a + (1 - alpha) * d
            const spread = absent.includes(4) ? squares : squares - mean * mean
            const direction = d / (Math.sqrt(spread) + 0.125)
            const next = absent.includes(3) ? direction : momentum * b + direction
            return [x - rate * next, g, squares, absent.includes(3) ? b : next, mean]
          })
          expectColumns(found, wanted, 40 * tolerance)
        }),
      )
    }
  })

  it('no weight decay leaves gradients alone, also where a parameter is infinite', () => {
    for (const bench of benches) {
      const found = run(kind, bench, 'sgd', [[Number.POSITIVE_INFINITY, 1, 0]], [], [0.5, 0.5, 1, 0, 0])
      expect(found).toEqual([[Number.POSITIVE_INFINITY], [1], [1]])
    }
  })

  it('both builds give the same bits', () => {
    const rows = Array.from({ length: 9 }, (_, i) => [Math.sin(i), Math.cos(i), Math.sin(3 * i), 1 + Math.cos(2 * i)])
    const results = benches.map((bench) => [
      run(kind, bench, 'sgd', rows, [], [0.1, 0.9, 0.7, 0.01, 1]),
      run(kind, bench, 'adam', rows, [], [0.1, 0.9, 0.99, 0.3, 1e-8, 0.01, 0.99]),
    ])
    for (const result of results) expect(result).toEqual(results[0])
  })
})
