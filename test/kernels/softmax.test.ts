import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KernelName } from '../../src/runtime/kernels.generated.js'
import { sum } from './compensated.js'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Values = Float32Array | Float64Array

const arrayOf = { f32: Float32Array, f64: Float64Array }
const infinity = Number.POSITIVE_INFINITY

/** Half a unit in the last place of 1: the relative error of one rounding. */
const units = { f32: 2 ** -24, f64: 2 ** -53 }
/** Exponentials below the smallest normal number may be taken for 0. */
const smallestNormals = { f32: 2 ** -126, f64: 2 ** -1022 }
/**
 * The relative error of a sum of exponentials, in roundings: 2 for the exponential (1 ulp), 8 for adding in groups of
 * 8, and 2 for the exponential of the reference.
 */
const SUM = 12

/** Runs a kernel on arrays of rows; `inPlace` names the input that is the output as well. */
function run(bench: Bench, name: KernelName, inputs: Values[], rows: number, count: number, inPlace?: number): Values {
  const mark = bench.reserve(0)
  const size = (inputs[0] as Values).BYTES_PER_ELEMENT
  const length = name.startsWith('logsumexp') ? rows : rows * count
  const places = inputs.map((input) => guarded(bench, input))
  const out = places[inPlace ?? -1] ?? guarded(bench, length * size)
  bench.kernels[name](...places.map((place) => place.address), out.address, rows, count)
  for (const place of [...places, out]) expect(place.intact()).toBe(true)
  const result = size === 4 ? bench.float32(out.address, length) : bench.float64(out.address, length)
  bench.reset(mark)
  return result
}

const counts = fc.oneof({ weight: 5, arbitrary: fc.nat(40) }, fc.constantFrom(63, 64, 65, 127, 196, 257))

/** Rows of values, as many as wanted. */
function rowsOf(kind: 'f32' | 'f64', value: fc.Arbitrary<number>) {
  return fc
    .tuple(fc.nat(4), counts)
    .chain(([rows, count]) =>
      fc
        .array(value, { minLength: rows * count, maxLength: rows * count, size: 'max' })
        .map((values) => ({ rows, count, values: new arrayOf[kind](values) })),
    )
}

/** Calls with each row. */
function eachRow(rows: number, count: number, check: (from: number, to: number, row: number) => void): void {
  for (let row = 0; row < rows; row++) check(row * count, (row + 1) * count, row)
}

describe.each(['f32', 'f64'] as const)('%s', (kind) => {
  const unit = units[kind]
  const smallestNormal = smallestNormals[kind]
  const round = kind === 'f32' ? Math.fround : (x: number) => x
  const moderate = fc.double({ min: -100, max: 100, noNaN: true })
  const masked = fc.oneof({ weight: 2, arbitrary: moderate }, fc.constant(-infinity))
  const wild = fc.oneof(
    { weight: 30, arbitrary: masked },
    kind === 'f32'
      ? fc.float({ noNaN: true, noDefaultInfinity: true })
      : fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-1e38, 1e38, 0, -0),
  )
  const unbounded = fc.oneof({ weight: 20, arbitrary: moderate }, fc.constantFrom(infinity, -infinity, Number.NaN))

  /** The differences from the maximum, rounded as the kernels must, and what their exponentials add up to. */
  function analyse(row: Values) {
    const maximum = Array.from(row).reduce((a, b) => Math.max(a, b), -infinity)
    const differences = Array.from(row, (x) => round(x - (maximum === -infinity ? 0 : maximum)))
    const total = sum(differences.map(Math.exp))
    return { maximum, differences, total }
  }

  function close(got: number, wanted: number, tolerance: number): void {
    if (!Number.isFinite(wanted)) expect(got).toBe(wanted)
    else if (!(Math.abs(got - wanted) <= tolerance)) expect.fail(`${got} instead of ${wanted}, allowed ${tolerance}`)
  }

  it('softmax is the exponentials over their sum', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(rowsOf(kind, wild), ({ rows, count, values }) => {
          const got = run(bench, `softmax_${kind}`, [values], rows, count)
          eachRow(rows, count, (from, to) => {
            const { maximum, differences, total } = analyse(values.subarray(from, to))
            differences.forEach((d, j) => {
              if (d === -infinity || maximum === -infinity) expect(got[from + j]).toBe(0)
              const wanted = maximum === -infinity ? 0 : Math.exp(d) / total
              // Beyond the sum: 4 for the two exponentials, 2 for the quotient.
              close(got[from + j] as number, wanted, (SUM + 6) * unit * wanted + smallestNormal)
            })
          })
        }),
      )
    }
  })

  it('logSoftmax is the differences less the logarithm of the sum', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(rowsOf(kind, wild), ({ rows, count, values }) => {
          const got = run(bench, `logSoftmax_${kind}`, [values], rows, count)
          eachRow(rows, count, (from, to) => {
            const { maximum, differences, total } = analyse(values.subarray(from, to))
            const logarithm = Math.log(total)
            differences.forEach((d, j) => {
              const wanted = maximum === -infinity ? -infinity : d - logarithm
              // A relative error of the sum is an absolute one of its logarithm; both logarithms and the difference
              // have an error of 1 ulp at most.
              close(got[from + j] as number, wanted, unit * (SUM + 5 * logarithm + 2 * Math.abs(wanted)))
            })
          })
        }),
      )
    }
  })

  it('logsumexp is the maximum and the logarithm of the sum', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(rowsOf(kind, wild), ({ rows, count, values }) => {
          const got = run(bench, `logsumexp_${kind}`, [values], rows, count)
          eachRow(rows, count, (from, to, row) => {
            const { maximum, total } = analyse(values.subarray(from, to))
            const wanted = count === 0 ? -infinity : round(maximum + Math.log(total))
            close(got[row] as number, wanted, unit * (SUM + 5 * Math.log(total) + 2 * Math.abs(wanted)))
          })
        }),
      )
    }
  })

  it('NaN makes a row NaN, infinities share it equally, and its other rows are none of their business', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(rowsOf(kind, unbounded), ({ rows, count, values }) => {
          const soft = run(bench, `softmax_${kind}`, [values], rows, count)
          const log = run(bench, `logSoftmax_${kind}`, [values], rows, count)
          const sums = run(bench, `logsumexp_${kind}`, [values], rows, count)
          eachRow(rows, count, (from, to, row) => {
            const inputs = values.subarray(from, to)
            const shares = inputs.filter((value) => value === infinity).length
            if (inputs.some(Number.isNaN)) {
              expect(soft.subarray(from, to).every(Number.isNaN)).toBe(true)
              expect(log.subarray(from, to).every(Number.isNaN)).toBe(true)
              expect(sums[row]).toBeNaN()
            } else if (shares > 0) {
              inputs.forEach((value, i) => {
                const share = value === infinity ? 1 / shares : 0
                close(soft[from + i] as number, share, 2 * unit * share)
                close(log[from + i] as number, Math.log(share), share === 0 ? 0 : 2 * unit * -Math.log(share))
              })
              expect(sums[row]).toBe(infinity)
            } else {
              expect(soft.subarray(from, to).some(Number.isNaN)).toBe(false)
              expect(sums[row]).not.toBeNaN()
            }
          })
        }),
      )
    }
  })

  it('a row of one value is exactly 1, its logarithm 0, its logsumexp the value', () => {
    for (const bench of benches) {
      const values = new arrayOf[kind]([3.7, -1e30, 0, 1e30, -87.5])
      expect(run(bench, `softmax_${kind}`, [values], 5, 1)).toEqual(new arrayOf[kind](5).fill(1))
      expect(run(bench, `logSoftmax_${kind}`, [values], 5, 1)).toEqual(new arrayOf[kind](5))
      expect(run(bench, `logsumexp_${kind}`, [values], 5, 1)).toEqual(values)
    }
  })

  it('a row of equal values is their reciprocal number, however long', () => {
    for (const bench of benches) {
      for (const count of [2, 3, 16, 1000, 4096, 1_000_003]) {
        const values = new arrayOf[kind](count).fill(-12.25)
        const got = run(bench, `softmax_${kind}`, [values], 1, count)
        // 1 / count to one rounding, as float64 has no more of them than float32.
        expect(got.every((value) => Math.abs(value * count - 1) <= 2 * unit)).toBe(true)
      }
    }
  })

  describe('backward', () => {
    const cotangents = fc.oneof({ weight: 4, arbitrary: moderate }, fc.constant(0))
    const probabilities = fc.oneof({ weight: 4, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) }, fc.constant(0))
    const pairs = (output: fc.Arbitrary<number>, cotangent = cotangents) =>
      rowsOf(kind, output).chain(({ rows, count, values }) =>
        fc
          .array(cotangent, { minLength: values.length, maxLength: values.length, size: 'max' })
          .map((g) => ({ rows, count, a: values, g: new arrayOf[kind](g) })),
      )
    const product = (g: number, a: number) => (g === 0 || a === 0 ? 0 : g * a)

    it('softmaxBackward is a ⊙ (g - Σ g a)', () => {
      for (const bench of benches) {
        fc.assert(
          fc.property(pairs(probabilities), ({ rows, count, a, g }) => {
            const got = run(bench, `softmaxBackward_${kind}`, [g, a], rows, count)
            eachRow(rows, count, (from, to) => {
              const terms = Array.from(a.subarray(from, to), (value, j) => product(g[from + j] as number, value))
              const total = sum(terms)
              const size = sum(terms.map(Math.abs))
              for (let j = from; j < to; j++) {
                const [gj, aj] = [g[j] as number, a[j] as number]
                // The terms, the sum, the difference and the product are rounded once, and for float64 the terms, the
                // difference and the product of the reference as well.
                const tolerance = unit * aj * (5 * size + 4 * Math.abs(gj)) + smallestNormal * (count + 1)
                close(got[j] as number, product(aj, gj - total), tolerance)
              }
            })
          }),
        )
      }
    })

    it('logSoftmaxBackward is g - e^y Σ g', () => {
      const logarithms = fc.oneof(
        { weight: 4, arbitrary: fc.double({ min: -90, max: 0, noNaN: true }) },
        fc.constant(-infinity),
      )
      for (const bench of benches) {
        fc.assert(
          fc.property(pairs(logarithms), ({ rows, count, a: y, g }) => {
            const got = run(bench, `logSoftmaxBackward_${kind}`, [g, y], rows, count)
            eachRow(rows, count, (from, to) => {
              const total = sum(g.subarray(from, to))
              // What is left of larger numbers that cancel: the error of adding doubles, or compensated ones.
              const cancelled = sum(g.subarray(from, to).map(Math.abs)) * count * unit ** 2
              for (let j = from; j < to; j++) {
                const [gj, power] = [g[j] as number, Math.exp(y[j] as number)]
                const part = product(power, total)
                if (power === 0) expect(got[j]).toBe(gj)
                // 2 for each exponential, one for the sum and for either product, one for either difference.
                const tolerance =
                  unit * (7 * Math.abs(part) + 2 * Math.abs(gj - part)) + smallestNormal * Math.abs(total)
                close(got[j] as number, gj - part, tolerance + power * cancelled + smallestNormal)
              }
            })
          }),
        )
      }
    })

    it('what is exactly 0 annihilates infinities and NaN', () => {
      const wildFactor = fc.oneof(fc.constantFrom(infinity, -infinity, Number.NaN, 0, 0, 0), moderate)
      for (const bench of benches) {
        fc.assert(
          fc.property(pairs(wildFactor, wildFactor), ({ rows, count, a, g }) => {
            const got = run(bench, `softmaxBackward_${kind}`, [g, a], rows, count)
            eachRow(rows, count, (from, to) => {
              const total = Array.from(a.subarray(from, to)).reduce(
                (partial, value, j) => partial + product(g[from + j] as number, value),
                0,
              )
              for (let j = from; j < to; j++) {
                if (a[j] === 0) expect(got[j]).toBe(0)
                else if (!Number.isFinite(total)) expect(got[j]).toBe(product(a[j] as number, (g[j] as number) - total))
              }
            })
          }),
        )
      }
    })

    it('a cotangent of zeros gives zeros whatever the output', () => {
      for (const bench of benches) {
        for (const bad of [Number.NaN, infinity, -infinity]) {
          const a = new arrayOf[kind](2 * 19).fill(bad)
          const zeros = new arrayOf[kind](2 * 19)
          expect(run(bench, `softmaxBackward_${kind}`, [zeros, a], 2, 19)).toEqual(zeros)
          expect(run(bench, `logSoftmaxBackward_${kind}`, [zeros, a], 2, 19)).toEqual(zeros)
        }
      }
    })
  })

  it('every kernel works in place', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(rowsOf(kind, masked), ({ rows, count, values }) => {
          const other = values.map((value) => (value === -infinity ? 0 : Math.abs(value) / 100))
          for (const name of [`softmax_${kind}`, `logSoftmax_${kind}`] as const) {
            const apart = run(bench, name, [values], rows, count)
            expect(run(bench, name, [values], rows, count, 0)).toEqual(apart)
          }
          for (const name of [`softmaxBackward_${kind}`, `logSoftmaxBackward_${kind}`] as const) {
            const apart = run(bench, name, [other, other], rows, count)
            expect(run(bench, name, [other, other], rows, count, 0)).toEqual(apart)
            expect(run(bench, name, [other, other], rows, count, 1)).toEqual(apart)
          }
        }),
      )
    }
  })
})
