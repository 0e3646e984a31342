// The numeric side: difference quotients along a line through the point, and what their behaviour for smaller steps
// tells about the function.
import type { Vector } from './layout.js'

/** A line through the point. */
export interface Line {
  /** f at `step` along the line, and how far that is after rounding. */
  at(step: number): { readonly values: Vector; readonly step: number }
}

/** Difference quotients of every component: (f(0) − f(−h))/h, (f(h) − f(0))/h and (f(h) − f(−h))/2h. */
export interface Slopes {
  readonly left: Vector
  readonly right: Vector
  readonly central: Vector
  /** f at both ends. */
  readonly ends: readonly [behind: Vector, ahead: Vector]
}

/**
 * The components of f that are compared: each output entry by itself (null), or ⟨weights, f⟩ alone. Differences are
 * weighted, not weighted sums subtracted: less is lost to rounding.
 */
export type Weights = Vector | null

/** The slopes of all components over a step h to either side. */
export function slopesAlong(line: Line, h: number, center: Vector, weights: Weights): Slopes {
  const ahead = line.at(h)
  const behind = line.at(-h)
  return {
    left: quotients(center, behind.values, -behind.step, weights),
    right: quotients(ahead.values, center, ahead.step, weights),
    central: quotients(ahead.values, behind.values, ahead.step - behind.step, weights),
    ends: [behind.values, ahead.values],
  }
}

/** Equal values have slope 0, infinite ones too. */
function quotients(to: Vector, from: Vector, step: number, weights: Weights): Vector {
  return project(
    to.map((value, i) => (value === from[i] ? 0 : (value - (from[i] as number)) / step)),
    weights,
  )
}

/** How much rounding alone may falsify a quotient of step h: outputs carry some ulps, the quotient carries them over h. */
export function roundingOf(values: Vector, h: number, weights: Weights): Vector {
  const ulps = 16
  return project(
    values.map((value) => (ulps * Number.EPSILON * Math.abs(value)) / h),
    weights?.map(Math.abs) ?? null,
  )
}

/** The components compared, of values or differences of all outputs. */
export function project(values: Vector, weights: Weights): Vector {
  if (weights === null) return values
  let total = 0
  for (let i = 0; i < values.length; i++) total += (weights[i] as number) * (values[i] as number)
  return Float64Array.of(total)
}

/** One component's quotients for one step. */
export interface Quotients {
  readonly left: number
  readonly right: number
  readonly central: number
}

export function quotientsOf({ left, right, central }: Slopes, component: number): Quotients {
  return {
    left: left[component] as number,
    right: right[component] as number,
    central: central[component] as number,
  }
}

/**
 * Tells a smooth function from one with a kink (slopes that differ left and right) or a jump (or a vertical tangent:
 * slopes that grow without bound) within h of the point, by the quotients for h, h/2 and h/4. What a smooth function's
 * left and right slopes differ by is h · f″ and falls in proportion to the step. A kink at the point leaves it as it
 * is; one beside the point lets it fall, but not by the same factor twice.
 *
 * @param tolerance what slopes left and right may differ by unnoticed
 * @param rounding what rounding may do to the quotients for h; it doubles as the step is halved
 */
export function classify(
  [whole, half, quarter]: readonly [Quotients, Quotients, Quotients],
  tolerance: number,
  rounding: number,
): 'smooth' | 'kink' | 'jump' {
  const least = tolerance + rounding
  if (grows(whole.left, half.left, quarter.left, least) || grows(whole.right, half.right, quarter.right, least)) {
    return 'jump'
  }
  const gaps = [whole, half, quarter].map(({ left, right }) => right - left) as [number, number, number]
  return Math.abs(gaps[0]) <= least || falls(...gaps, rounding) ? 'smooth' : 'kink'
}

/** Whether a slope rises by one factor each time the step is halved: 2 at a jump, √2 for √x at 0. */
function grows(whole: number, half: number, quarter: number, least: number): boolean {
  const factor = 1.3
  return (
    Math.abs(whole) > least &&
    half / whole > factor &&
    quarter / half > factor &&
    Math.abs(whole * quarter - half * half) <= 0.1 * half * half
  )
}

/** Whether a difference falls by one factor each time the step is halved, about 1/2. */
function falls(whole: number, half: number, quarter: number, rounding: number): boolean {
  const slack = rounding * (4 * Math.abs(whole) + 4 * Math.abs(half) + Math.abs(quarter))
  return (
    Math.abs(half) <= 0.8 * Math.abs(whole) + 2 * rounding &&
    Math.abs(half) >= 0.3 * Math.abs(whole) - 2 * rounding &&
    Math.abs(whole * quarter - half * half) <= 0.1 * half * half + slack
  )
}
