// How noisy a function is: by how much its values are off from any smooth curve.
import type { Vector } from './layout.js'
import { type Line, project, type Weights } from './numeric.js'

/** Differences of this order: of a smooth function over so small distances, nothing is left of it in them. */
const ORDER = 6
/** Values on each side of the point. */
const COUNT = 13
/** Distances between them, in units of the line: shorter ones for functions that change so quickly that a part is left. */
const DISTANCES = [2 ** -14, 2 ** -18, 2 ** -22]
/**
 * That part falls by 2⁻²⁴ from one distance to the next, and then this much of it stays at most and at least. Noise does
 * not fall, or all at once, as it often comes in steps: too short a distance does not see more than one of them.
 */
const LEAST_FALL = 2 ** -14
const MOST_FALL = 2 ** -32
/** √((6!)² / 12!): noise of standard deviation 1 has sixth differences of standard deviation 1/γ. */
const GAMMA = 720 / Math.sqrt(479_001_600)

/**
 * The standard deviation of every component's noise: √(mean of squared sixth differences) · γ, the lesser of those left
 * and right of the point: a kink or a jump at the point is no noise. Rounding is noise, too.
 *
 * Source: J. J. Moré, S. M. Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33(3), 2011.
 *
 * @param components how many there are
 */
export function noiseAlong(line: Line, weights: Weights, components: number): Vector {
  const pairs = DISTANCES.map((distance) => [deviations(line, -distance, weights), deviations(line, distance, weights)])
  return new Float64Array(components).map((_, component) => {
    const levels = pairs.map((sides) => sides.map((side) => side[component] as number).filter(Number.isFinite))
    let noise = Math.min(...(levels[0] as number[]))
    for (let i = 1; i < levels.length; i++) {
      const before = Math.min(...(levels[i - 1] as number[]))
      const falls = levels[i]?.every((side) => side <= LEAST_FALL * before && side >= MOST_FALL * before)
      if (falls) noise = Math.min(...(levels[i] as number[]))
    }
    return Number.isFinite(noise) ? noise : 0
  })
}

/** By the values at distance, 2 · distance, … */
function deviations(line: Line, distance: number, weights: Weights): Vector {
  let table = Array.from({ length: COUNT }, (_, i) => line.at((i + 1) * distance).values)
  for (let order = 0; order < ORDER; order++) {
    table = table.slice(1).map((next, i) => next.map((value, c) => value - ((table[i] as Vector)[c] as number)))
  }
  const projected = table.map((values) => project(values, weights))
  return (projected[0] as Vector).map((_, component) => {
    const squares = projected.reduce((total, values) => total + (values[component] as number) ** 2, 0)
    return GAMMA * Math.sqrt(squares / projected.length)
  })
}
