import { describe, expect, it } from 'vitest'
import { extrapolate, extrapolateSides, type Level } from '../../src/testing/extrapolation.js'
import { noiseAlong } from '../../src/testing/noise.js'
import { type Line, slopesAlong } from '../../src/testing/numeric.js'
import { seeded } from '../../src/testing/seeded.js'

/** The line t ↦ f(t) of one component. */
function line(f: (t: number) => number): Line {
  return { at: (step) => ({ values: Float64Array.of(f(step)), step }) }
}

function levels(f: (t: number) => number, count: number, first = 2 ** -4): Level[] {
  return Array.from({ length: count }, (_, i) => {
    const step = first * 2 ** -i
    return { step, slopes: slopesAlong(line(f), step, Float64Array.of(f(0)), null) }
  })
}

describe('extrapolated differences', () => {
  const functions: [string, (t: number) => number, slope: number][] = [
    ['exp', Math.exp, 1],
    ['sin(3 + 5t)', (t) => Math.sin(3 + 5 * t), 5 * Math.cos(3)],
    ['1 / (0.2 + t)', (t) => 1 / (0.2 + t), -25],
    ['log(1 + t)', Math.log1p, 1],
    ['a polynomial', (t) => 3 + 2 * t - t ** 2 + 4 * t ** 3, 2],
  ]

  it.each(functions)('of %s are closer than their own estimate, which falls with every step', (_, f, slope) => {
    const errors = [2, 3, 4, 5].map((count) => {
      const { value, error } = extrapolate(levels(f, count), 0, Number.EPSILON * Math.abs(f(0)))
      expect(Math.abs(value - slope)).toBeLessThanOrEqual(error)
      return error
    })
    expect(errors).toEqual([...errors].sort((a, b) => b - a))
    expect(errors.at(-1)).toBeLessThan(1e-5 * Math.abs(slope))
  })

  it('know nothing from one step', () => {
    expect(extrapolate(levels(Math.exp, 1), 0, 0).error).toBe(Number.POSITIVE_INFINITY)
  })

  it('carry what rounding does', () => {
    const { error } = extrapolate(
      levels((t) => 2 * t, 3),
      0,
      1e-6,
    )
    expect(error).toBeGreaterThanOrEqual(1e-6 * 2 ** 5)
  })

  it('begin where steps no longer leave the domain', () => {
    const { value, error } = extrapolate(
      levels((t) => Math.log(0.02 + t), 8),
      0,
      1e-16,
    )
    expect(Math.abs(value - 50)).toBeLessThanOrEqual(error)
    expect(error).toBeLessThan(1e-4)
    expect(
      extrapolate(
        levels((t) => (t === 0 ? 1 : Number.NaN), 3),
        0,
        0,
      ).value,
    ).toBeNaN()
  })

  it('on each side know the derivative where the second one jumps, and none at a kink', () => {
    const bent = levels((t) => 3 * t + t * Math.abs(t), 4)
    expect(extrapolateSides(bent, 0, 0).value).toBeCloseTo(3, 12)
    expect(extrapolateSides(bent, 0, 0).error).toBeLessThan(1e-12)
    expect(extrapolate(bent, 0, 0).error).toBeGreaterThan(1e-4)
    expect(extrapolateSides(levels(Math.abs, 4), 0, 0).error).toBe(1)
  })
})

describe('noise', () => {
  const noiseOf = (f: (t: number) => number) => noiseAlong(line(f), null, 1)[0] as number
  const uniform = seeded(1)

  it('of a computation in double precision is its rounding', () => {
    for (const f of [Math.exp, (t: number) => Math.sin(1 + t), (t: number) => Math.sin(1 + 1000 * t)]) {
      expect(noiseOf(f)).toBeGreaterThan(1e-18)
      expect(noiseOf(f)).toBeLessThan(1e-15)
    }
  })

  it('that was added is found, in size', () => {
    for (const size of [1e-12, 1e-7, 1e-3]) {
      const deviation = (size * 2) / Math.sqrt(12)
      const noise = noiseOf((t) => Math.exp(t) + size * (2 * uniform() - 1))
      expect(noise).toBeGreaterThan(deviation / 5)
      expect(noise).toBeLessThan(deviation * 2)
    }
  })

  it('in steps is found too', () => {
    for (const size of [1e-10, 1e-7, 1e-5]) {
      const noise = noiseOf((t) => Math.round(Math.exp(t) / size) * size)
      expect(noise).toBeGreaterThan(size / 20)
      expect(noise).toBeLessThan(size)
    }
  })

  it('is no kink or jump at the point', () => {
    expect(noiseOf((t) => 1 + Math.abs(t))).toBeLessThan(1e-15)
    expect(noiseOf((t) => (t > 0 ? 2 : Math.cos(t)))).toBeLessThan(1e-15)
  })

  it('is 0 where there are no numbers', () => {
    expect(noiseOf(() => Number.NaN)).toBe(0)
  })
})
