// Cross-entropy with class numbers and its backward pass, against the formulas in double precision.
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
const infinity = Number.POSITIVE_INFINITY
const IGNORED = -100

function run(
  bench: Bench,
  name: KernelName,
  operands: readonly (Values | Int32Array)[],
  length: number,
  numbers: readonly number[],
): Values {
  const mark = bench.reserve(0)
  const size = (operands[0] as Values).BYTES_PER_ELEMENT
  const places = operands.map((operand) => guarded(bench, operand))
  const out = guarded(bench, length * size)
  bench.kernels[name](...places.map(({ address }) => address), out.address, ...numbers)
  for (const place of [...places, out]) expect(place.intact()).toBe(true)
  const result = size === 4 ? bench.float32(out.address, length) : bench.float64(out.address, length)
  bench.reset(mark)
  return result
}

describe.each(['f32', 'f64'] as const)('%s', (type) => {
  const unit = units[type]
  const ArrayType = arrayOf[type]
  const scene = fc
    .record({
      rows: fc.nat(3),
      count: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.constantFrom(63, 64, 65, 257)),
      smoothing: fc.constantFrom(0, 0.1, 0.7),
    })
    .chain(({ rows, count, smoothing }) => {
      const logit = fc.oneof(
        { weight: 20, arbitrary: fc.double({ min: -100, max: 100, noNaN: true }) },
        fc.constantFrom(-1e4, 1e4),
      )
      const array = (length: number, element: fc.Arbitrary<number>) =>
        fc.array(element, { minLength: length, maxLength: length, size: 'max' })
      return fc.record({
        rows: fc.constant(rows),
        count: fc.constant(count),
        smoothing: fc.constant(smoothing),
        x: array(rows * count, logit).map((values): Values => new ArrayType(values)),
        g: array(rows, fc.constantFrom(0, 1, -2.5, 1e-3)).map((values): Values => new ArrayType(values)),
        target: array(rows, fc.oneof({ weight: 5, arbitrary: fc.nat(count - 1) }, fc.constant(IGNORED))).map((values) =>
          Int32Array.from(values),
        ),
      })
    })

  function analyse(row: Values) {
    const values = Array.from(row)
    const maximum = Math.max(...values)
    const powers = values.map((one) => Math.exp(one - maximum))
    const total = sum(powers)
    return {
      logarithms: values.map((one) => one - maximum - Math.log(total)),
      shares: powers.map((one) => one / total),
    }
  }

  function close(got: number, wanted: number, tolerance: number): void {
    if (!(Math.abs(got - wanted) <= tolerance)) expect.fail(`${got} instead of ${wanted}, allowed ${tolerance}`)
  }

  it('is minus the target distribution times the logarithms of the softmax', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, smoothing, x, target }) => {
          const got = run(bench, `crossEntropy_${type}`, [x, target], rows, [rows, count, IGNORED, smoothing])
          target.forEach((place, row) => {
            if (place === IGNORED) {
              expect(got[row]).toBe(0)
              return
            }
            const { logarithms } = analyse(x.subarray(row * count, (row + 1) * count))
            const own = -(1 - smoothing) * (logarithms[place] as number)
            const wanted = own - (smoothing / count) * sum(logarithms)
            // 20 roundings for the sum of exponentials, whose logarithm is at most that of the count. The products and
            // differences are those of doubles, and for float64 those of the reference have errors as well.
            const last = (type === 'f32' ? 2 : 8) * Math.abs(wanted)
            close(got[row] as number, wanted, unit * (24 + last + 16 * Math.log(count)))
          })
        }),
      )
    }
  })

  it('passes back the softmax less the target distribution', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(scene, ({ rows, count, smoothing, x, g, target }) => {
          const numbers = [rows, count, IGNORED, smoothing]
          const got = run(bench, `crossEntropyBackward_${type}`, [g, x, target], rows * count, numbers)
          target.forEach((place, row) => {
            const cotangent = g[row] as number
            const { shares } = analyse(x.subarray(row * count, (row + 1) * count))
            shares.forEach((share, j) => {
              const goal = smoothing / count + (j === place ? 1 - smoothing : 0)
              const wanted = cotangent === 0 || place === IGNORED ? 0 : cotangent * (share - goal)
              // The difference of two numbers that are each rounded; e^d of differences d down to -90, rounded before;
              // below the smallest normal number it is 0, before it is multiplied, and so may the result be.
              const lost = smallestNormals[type]
              const tolerance = Math.abs(cotangent) * (unit * (120 * share + 4 * goal) + lost) + lost
              close(got[row * count + j] as number, wanted, tolerance)
            })
          })
        }),
      )
    }
  })

  it('is infinite where the class is impossible, NaN where a logit is, and neither concerns other rows', () => {
    for (const bench of benches) {
      const x = new ArrayType([-infinity, 0, 0, 1, Number.NaN, 2, 3, 4, 5, -infinity, -infinity, -infinity])
      const target = Int32Array.from([0, 2, 2, 1])
      const got = run(bench, `crossEntropy_${type}`, [x, target], 4, [4, 3, IGNORED, 0])
      expect([got[0], got[1], got[3]]).toEqual([infinity, Number.NaN, infinity])
      close(got[2] as number, Math.log(1 + Math.exp(-1) + Math.exp(-2)), 4 * unit)
      const g = new ArrayType([1, 0, 1, 1])
      const back = run(bench, `crossEntropyBackward_${type}`, [g, x, target], 12, [4, 3, IGNORED, 0])
      expect([...back.subarray(0, 6)]).toEqual([-1, 0.5, 0.5, 0, 0, 0])
      expect([...back.subarray(9)]).toEqual([0, -1, 0])
    }
  })

  it('takes the limit where a logit is infinite: with smoothing as well, the classes that it outgrows are impossible', () => {
    for (const bench of benches) {
      const [x, target] = [
        new ArrayType([infinity, 0, -1, infinity, infinity, 0, infinity, infinity, infinity, infinity, Number.NaN, 0]),
        Int32Array.from([0, 1, 2, 0]),
      ]
      const plain = run(bench, `crossEntropy_${type}`, [x, target], 4, [4, 3, IGNORED, 0])
      expect(plain[0]).toBe(0)
      close(plain[1] as number, Math.LN2, 4 * unit)
      const smooth = run(bench, `crossEntropy_${type}`, [x, target], 4, [4, 3, IGNORED, 0.3])
      expect([smooth[0], smooth[1], smooth[3]]).toEqual([infinity, infinity, Number.NaN])
      // All three have the same share.
      close(smooth[2] as number, Math.log(3), 4 * unit)
    }
  })
})
