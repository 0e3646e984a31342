import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { benches, layoutBlock } from './harness.js'

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2,
  -2,
  3,
  -3,
  1e-40,
  -1e-40,
  1e38,
  -1e38,
  Infinity,
  -Infinity,
  Number.NaN,
]

/** Distance of neighbouring float32 numbers around x. */
const ulp = (x: number) => 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -126) - 23)

describe.each(benches)('powers of float32, fused: $fused', (bench) => {
  const layout = bench.put(layoutBlock([], []))
  function powers(bases: Float32Array, exponents: Float32Array): Float32Array {
    const mark = bench.reserve(0)
    const [a, b] = [bench.put(bases), bench.put(exponents)]
    const out = bench.reserve(bases.byteLength)
    bench.kernels.pow_f32(a, b, out, bases.length, 1, 1, layout)
    bench.reset(mark)
    return bench.float32(out, bases.length)
  }

  test('of and to zeros, infinities, subnormal and negative numbers and NaN', () => {
    const pairs = SPECIAL.flatMap((base) => SPECIAL.map((exponent) => [base, exponent] as const))
    const bases = Float32Array.from(pairs, ([base]) => base)
    const exponents = Float32Array.from(pairs, ([, exponent]) => exponent)
    expect(powers(bases, exponents)).toEqual(bases.map((base, i) => base ** (exponents[i] as number)))
  })

  test('are within 0.501 ulp', () => {
    const float = fc.float({ noNaN: true, noDefaultInfinity: true })
    const exponent = fc.oneof(fc.float({ min: -40, max: 40, noNaN: true }), fc.integer({ min: -40, max: 40 }))
    const property = fc.property(fc.array(fc.tuple(float, exponent), { minLength: 1, maxLength: 40 }), (pairs) => {
      const bases = Float32Array.from(pairs, ([base]) => base)
      const exponents = Float32Array.from(pairs, ([, value]) => value)
      powers(bases, exponents).forEach((result, i) => {
        const exact = (bases[i] as number) ** (exponents[i] as number)
        if (Math.fround(exact) === result || (Number.isNaN(exact) && Number.isNaN(result))) return
        expect(Math.abs(result - exact)).toBeLessThanOrEqual(0.501 * ulp(exact))
      })
    })
    fc.assert(property, { numRuns: 1000 })
  })
})
