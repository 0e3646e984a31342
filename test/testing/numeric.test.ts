import { describe, expect, it } from 'vitest'
import { classify, type Line, quotientsOf, roundingOf, slopesAlong } from '../../src/testing/numeric.js'

/** The line t ↦ f(t) of one component. */
function line(f: (t: number) => number): Line {
  return { at: (step) => ({ values: Float64Array.of(f(step)), step }) }
}

function kindOf(f: (t: number) => number, rounding = 1e-8): string {
  const center = Float64Array.of(f(0))
  const quotients = (h: number) => quotientsOf(slopesAlong(line(f), h, center, null), 0)
  return classify([quotients(1e-6), quotients(5e-7), quotients(2.5e-7)], 1e-5, rounding)
}

describe('difference quotients', () => {
  it('are those of each component, or of their weighted sum', () => {
    const both: Line = { at: (step) => ({ values: Float64Array.of(2 * step, 5 + step * step), step }) }
    const center = Float64Array.of(0, 5)
    const each = slopesAlong(both, 0.5, center, null)
    expect([...each.left, ...each.right, ...each.central]).toEqual([2, -0.5, 2, 0.5, 2, 0])
    const sum = slopesAlong(both, 0.5, center, Float64Array.of(3, -2))
    expect([...sum.left, ...sum.right, ...sum.central]).toEqual([7, 5, 6])
  })

  it('are 0 where an output stays infinite', () => {
    const { central } = slopesAlong(
      line(() => Number.POSITIVE_INFINITY),
      1,
      Float64Array.of(Number.POSITIVE_INFINITY),
      null,
    )
    expect(central).toEqual(Float64Array.of(0))
  })

  it('suffer from rounding by the size of the outputs, whatever the sign of their weights', () => {
    const [each] = roundingOf(Float64Array.of(-1), 1e-6, null)
    expect(each).toBeGreaterThan(1e-10)
    expect(each).toBeLessThan(1e-8)
    const [weighted] = roundingOf(Float64Array.of(1, 1), 1e-6, Float64Array.of(1, -1))
    expect(weighted).toBeCloseTo(2 * (each as number), 15)
  })
})

describe('a function along a line is told to be', () => {
  it.each<[string, (t: number) => number]>([
    ['a line', (t) => 3 * t + 1],
    ['a parabola', (t) => 1e4 * t * t],
    ['a bent curve', (t) => Math.exp(2000 * t)],
    ['|t|^1.5, which has a derivative', (t) => Math.abs(t) ** 1.5],
    ['a kink further away than the step', (t) => Math.abs(t - 1.01e-6)],
  ])('smooth: %s', (_, f) => {
    expect(kindOf(f)).toBe('smooth')
  })

  it.each<[string, (t: number) => number]>([
    ['|t|', Math.abs],
    ['a change of slope', (t) => (t > 0 ? 2 * t : 1.9 * t)],
    ['a kink on a curve', (t) => Math.max(Math.exp(t), 1 + 3 * t)],
  ])('one with a kink: %s', (_, f) => {
    expect(kindOf(f)).toBe('kink')
  })

  it.each<[string, (t: number) => number]>([
    ['a step up', (t) => Number(t > 0)],
    ['a step down', (t) => Number(t < 0)],
    ['the sign', Math.sign],
    ['√|t|', (t) => Math.sqrt(Math.abs(t))],
    ['∛t', Math.cbrt],
    ['a step on a slope', (t) => t + 0.01 * Number(t > 0)],
  ])('one with a jump or a vertical tangent: %s', (_, f) => {
    expect(kindOf(f)).toBe('jump')
  })

  it('smooth where rounding is all that is seen', () => {
    const noise = [3e-5, -2e-5, 4e-5, -5e-5, 1e-5]
    let call = 0
    const noisy = (t: number) => t + (noise[call++ % noise.length] as number) * 1e-6
    expect(kindOf(noisy, 1e-4)).toBe('smooth')
  })
})
