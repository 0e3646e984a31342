import { describe, expect, it } from 'vitest'
import { randomDirection, randomWeights, sample, seeded } from '../../src/testing/seeded.js'

describe('the generator of the checks', () => {
  it('gives the published numbers of mulberry32', () => {
    // The first three 32-bit results of the author's C code for seed 1.
    const uniform = seeded(1)
    expect([uniform(), uniform(), uniform()].map((value) => value * 2 ** 32)).toEqual([
      2693262067, 11749833, 2265367787,
    ])
  })

  it('is uniform', () => {
    const uniform = seeded(42)
    const counts = new Array<number>(10).fill(0)
    const draws = 100_000
    for (let i = 0; i < draws; i++) {
      const cell = Math.floor(uniform() * 10)
      counts[cell] = (counts[cell] ?? 0) + 1
    }
    // χ² with 9 degrees of freedom exceeds 27.9 once in 1,000 seeds; this seed is fixed.
    const chi = counts.reduce((total, count) => total + (count - draws / 10) ** 2 / (draws / 10), 0)
    expect(chi).toBeLessThan(27.9)
  })

  it('samples different places, ascending, each as often as another', () => {
    const uniform = seeded(7)
    const counts = new Array<number>(12).fill(0)
    for (let i = 0; i < 6000; i++) {
      const places = sample(4, 12, uniform)
      expect(new Set(places).size).toBe(4)
      expect(places).toEqual([...places].sort((a, b) => a - b))
      for (const place of places) counts[place] = (counts[place] ?? 0) + 1
    }
    // 2,000 expected each, standard deviation 37.
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(150)
  })

  it('samples all where no more are there', () => {
    expect(sample(5, 3, seeded(0))).toEqual([0, 1, 2])
    expect(sample(3, 3, seeded(0))).toEqual([0, 1, 2])
    expect(sample(3, 0, seeded(0))).toEqual([])
  })

  it('draws weights of both signs, none of them small, and directions of ±1', () => {
    const weights = randomWeights(1000, seeded(3))
    expect(weights.every((weight) => Math.abs(weight) >= 0.5 && Math.abs(weight) < 1.5)).toBe(true)
    expect(Math.abs(weights.filter((weight) => weight > 0).length - 500)).toBeLessThan(80)
    expect(new Set(randomDirection(1000, seeded(3)))).toEqual(new Set([1, -1]))
  })
})
