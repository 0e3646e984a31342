import * as Plot from '@observablehq/plot'
import { BLUE, ORANGE } from './figure.js'

/** What a model says at each point of a square of the plane, between 0 (orange) and 1 (blue). */
export interface Regions {
  /** The square's corners are (low, low) and (high, high). */
  readonly low: number
  readonly high: number
  /** How many points it has along each side. */
  readonly side: number
  /** Row by row from y = low, `side` numbers each. */
  readonly values: ArrayLike<number>
}

/**
 * The points of the square in the same order, pairs of x and y. The outermost lie a step outside of it, so that no area
 * is outlined along its sides.
 */
export function gridPoints({ low, high, side }: Omit<Regions, 'values'>): [number, number][] {
  const step = (high - low) / (side - 3)
  const at = (i: number) => low + (i - 1) * step
  return Array.from({ length: side * side }, (_, i) => [at(i % side), at(Math.floor(i / side))])
}

/** Areas in steps of 1/10, fading towards 1/2, and the line of 1/2, the decision boundary. */
export function regionMarks({ low, high, side, values }: Regions): Plot.Markish[] {
  const step = (high - low) / (side - 3)
  const [from, to] = [low - step, high + step]
  const shape = { x1: from, y1: from, x2: to, y2: to, width: side, height: side, clip: true }
  const contour = (options: Plot.ContourOptions) => Plot.contour(Array.from(values), { ...shape, ...options })
  const colour = (value: number) => {
    const strength = Math.round(Math.abs(value - 0.5) * 120)
    return `color-mix(in srgb, ${value < 0.5 ? ORANGE : BLUE} ${strength}%, var(--background))`
  }
  return [
    Plot.frame({ fill: colour(0.05) }),
    ...Array.from({ length: 9 }, (_, i) =>
      contour({ value: Plot.identity, thresholds: [(i + 1) / 10], fill: colour(i / 10 + 0.15), stroke: 'none' }),
    ),
    contour({ value: Plot.identity, thresholds: [0.5], fill: 'none', stroke: 'var(--text)', strokeWidth: 1.5 }),
  ]
}
