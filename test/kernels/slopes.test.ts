// Backward passes of elementwise functions: g · f′(x), against the derivatives in double precision.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KernelName } from '../../src/runtime/kernels.generated.js'
import { complementaryError } from './error-function.js'
import { guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Floats = Float32Array | Float64Array
type Type = 'f32' | 'f64'

const infinity = Number.POSITIVE_INFINITY
const units = { f32: 2 ** -24, f64: 2 ** -53 }
const smallestNormals = { f32: 2 ** -126, f64: 2 ** -1022 }
const arrayOf = { f32: Float32Array, f64: Float64Array }

function run<T extends Floats>(bench: Bench, name: KernelName, g: T, x: T, inPlace?: 0 | 1): T {
  const mark = bench.reserve(0)
  const places = [guarded(bench, g), guarded(bench, x)] as const
  const out = inPlace === undefined ? guarded(bench, g.byteLength) : places[inPlace]
  bench.kernels[name](places[0].address, places[1].address, out.address, g.length)
  for (const place of [...places, out]) expect(place.intact()).toBe(true)
  const result = g instanceof Float32Array ? bench.float32(out.address, g.length) : bench.float64(out.address, g.length)
  bench.reset(mark)
  return result as T
}

interface Slope {
  /** The derivative in double precision. */
  readonly value: (x: number) => number
  /** What it is the sum of: the sizes of the summands, each with its relative error in roundings. */
  readonly error: (x: number) => number
}

const logistic = (z: number): number => 1 / (1 + Math.exp(-z))
/** σ′ */
const bump = (z: number): number => Math.exp(-Math.abs(z)) / (1 + Math.exp(-Math.abs(z))) ** 2
const distribution = (x: number): number => complementaryError(-x * Math.SQRT1_2) / 2
const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
const times = (x: number, vanishing: number): number => (vanishing === 0 ? 0 : x * vanishing)
const exponent = (x: number): number => 2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)
const exponentSlope = (x: number): number => 2 * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x)

// An exponential e^-z has an error of 1 ulp, two roundings, and those that z has times z.
const slopes: Record<string, Slope> = {
  relu: { value: (x) => (x > 0 ? 1 : 0), error: () => 0 },
  sigmoid: { value: (y) => y * (1 - y), error: (y) => 3 * Math.abs(y * (1 - y)) },
  tanh: { value: (y) => (1 - y) * (1 + y), error: (y) => 4 * Math.abs((1 - y) * (1 + y)) },
  erf: {
    value: (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x),
    error: (x) => times(5 + x * x, Math.exp(-x * x)) * 2,
  },
  gelu: {
    value: (x) => distribution(x) + times(x, density(x)),
    error: (x) => {
      const y = Math.abs(x)
      return times(8 + x * x, distribution(-y) + times(y, density(y))) + (x > 0 ? 2 : 0)
    },
  },
  softplus: { value: logistic, error: (x) => 6 * logistic(x) },
  silu: {
    value: (x) => logistic(x) + times(x, bump(x)),
    error: (x) => 6 * logistic(x) + 12 * times(Math.abs(x), bump(x)),
  },
  geluTanh: {
    value: (x) => logistic(exponent(x)) + times(x * exponentSlope(x), bump(exponent(x))),
    error: (x) => {
      const z = exponent(x)
      return (12 + 4 * Math.abs(z)) * times(1 + Math.abs(x * exponentSlope(x)), bump(z)) + 6 * logistic(z)
    },
  },
}

/** Doubles and floats of every size, and many of the sizes at which the slopes are not trivial. */
function points(type: Type): Floats {
  const values = [0, -0]
  for (let exponent = -140; exponent < 127; exponent += 3) values.push(2 ** exponent, -(2 ** exponent))
  for (const size of [1, 6, 20, 100, 800]) {
    for (let i = -2000; i <= 2000; i++) values.push((i / 2000) * size + i * 1e-9)
  }
  return new arrayOf[type](values)
}

for (const bench of benches) {
  describe.each(['f32', 'f64'] as const)(`${bench.fused ? 'fused' : 'plain'} build, %s`, (type) => {
    const unit = units[type]

    it.each(Object.entries(slopes))('%s: the derivative to a few roundings', (operation, { value, error }) => {
      // What tanh and sigmoid return lies between -1 and 1.
      const largest = operation === 'tanh' || operation === 'sigmoid' ? 1 : infinity
      const x = points(type).filter((at) => Math.abs(at) <= largest)
      const name = `${operation}Backward_${type}` as KernelName
      const ones = new arrayOf[type](x.length).fill(1)
      const results = run<Floats>(bench, name, ones, x)
      // The references are as exact as their error function, 1e-14. An exponential below the normal numbers may be taken
      // for 0 before it is multiplied with what is less than 3000.
      const reference = type === 'f32' ? 1e-14 : 4e-14
      x.forEach((at, i) => {
        const wanted = value(at)
        const allowed = unit * error(at) + reference * Math.abs(wanted) + 3000 * smallestNormals[type]
        const got = results[i] as number
        if (!Number.isFinite(wanted)) return
        if (!(Math.abs(got - wanted) <= allowed))
          expect.fail(`${got} instead of ${wanted} at ${at}, allowed ${allowed}`)
      })
    })

    it('goes to its limits at infinity, and keeps NaN', () => {
      const x = new arrayOf[type]([-infinity, infinity, Number.NaN])
      const ones = new arrayOf[type]([1, 1, 1])
      for (const operation of ['gelu', 'geluTanh', 'silu', 'softplus']) {
        const got = run<Floats>(bench, `${operation}Backward_${type}` as KernelName, ones, x)
        expect([Math.abs(got[0] as number), got[1], got[2]], operation).toEqual([0, 1, Number.NaN])
      }
      const bell = run<Floats>(bench, `erfBackward_${type}`, ones, x)
      expect([...bell]).toEqual([0, 0, Number.NaN])
    })

    it('is the cotangent times the derivative, 0 where the cotangent is, at every position, in place or not', () => {
      const any = fc.oneof(
        fc.double({ min: -9, max: 9, noNaN: true }),
        fc.constantFrom(0, -0, infinity, -infinity, Number.NaN, 1e30, -1e30),
      )
      const property = fc.property(
        fc.constantFrom(...Object.keys(slopes)),
        fc.array(fc.tuple(any, any), { maxLength: 40 }),
        fc.constantFrom(undefined, 0 as const, 1 as const),
        (operation, pairs, inPlace) => {
          const name = `${operation}Backward_${type}` as KernelName
          const g = new arrayOf[type](pairs.map(([value]) => value))
          const x = new arrayOf[type](pairs.map(([, value]) => value))
          const got = run<Floats>(bench, name, g, x, inPlace)
          const one = new arrayOf[type]([1])
          pairs.forEach((_, i) => {
            const slope = run<Floats>(bench, name, one, x.slice(i, i + 1) as Floats)[0] as number
            const cotangent = g[i] as number
            if (cotangent === 0) expect(Math.abs(got[i] as number)).toBe(0)
            else if (operation !== 'relu') {
              const product = type === 'f32' ? Math.fround(cotangent * slope) : cotangent * slope
              expect(got[i]).toBe(product)
            } else expect(got[i]).toBe((x[i] as number) > 0 ? cotangent : 0)
          })
        },
      )
      fc.assert(property)
    })
  })
}
