// Derivatives from central differences with steps h, h/2, h/4, …, extrapolated to step 0.
import type { Slopes } from './numeric.js'

/** A derivative by differences, with an estimate of its error. */
export interface Extrapolated {
  readonly value: number
  readonly error: number
  /**
   * Whether the last differences come together as those of a smooth function do over short enough steps. Else the
   * estimate means little: the steps pass over waves or kinks of the function, or what they show is noise.
   */
  readonly converged: boolean
}

/** Slopes over one step. */
export interface Level {
  readonly step: number
  readonly slopes: Slopes
}

/** Columns of a table: every one takes away one more term of the error. */
const COLUMNS = 5
/** When the step is halved, the changes of a smooth function's differences fall by the ratio, or this part of it. */
const LEAST_FALL = 0.7

/**
 * The derivative of one component. The error of a central difference is a₂h² + a₄h⁴ + …; each column of Romberg's table
 * T takes one term away. The error of an entry is estimated by the larger of its distances from the two entries it was
 * made of, plus what rounding does to its finest difference, and the entry with the smallest estimate is taken.
 *
 * Source: C. J. F. Ridders, "Accurate computation of F′(x) and F′(x) F″(x)", Advances in Engineering Software 4(2),
 * 1982, with steps halved rather than divided by 1.4.
 *
 * @param levels each with half the step of the one before
 * @param rounding what rounding or noise may do to the difference of two values of this component
 */
export function extrapolate(levels: readonly Level[], component: number, rounding: number): Extrapolated {
  return limitOf(levels, ({ central }) => central[component] as number, 4, rounding)
}

/**
 * The same from the differences left and right, whose errors are a₁h + a₂h² + … on each side: for a function whose second
 * derivative jumps, as that of relu(x)² at 0. Their distance counts as an error.
 */
export function extrapolateSides(levels: readonly Level[], component: number, rounding: number): Extrapolated {
  const left = limitOf(levels, (slopes) => slopes.left[component] as number, 2, rounding)
  const right = limitOf(levels, (slopes) => slopes.right[component] as number, 2, rounding)
  return {
    value: (left.value + right.value) / 2,
    error: Math.max(left.error, right.error) + Math.abs(right.value - left.value) / 2,
    converged: left.converged && right.converged,
  }
}

/** @param ratio by which each column divides the error's first term when the step is halved */
function limitOf(
  levels: readonly Level[],
  quotient: (slopes: Slopes) => number,
  ratio: number,
  rounding: number,
): Extrapolated {
  let value = Number.NaN
  let error = Number.POSITIVE_INFINITY
  let row: number[] = []
  const differences: number[] = []
  for (const { step, slopes } of levels) {
    const above = row
    const difference = quotient(slopes)
    if (!Number.isFinite(difference)) {
      // A step that leaves the function's domain: the table begins behind it.
      row = []
      differences.length = 0
      if (Number.isNaN(value)) value = difference
      continue
    }
    row = [difference]
    differences.push(difference)
    if (error === Number.POSITIVE_INFINITY) value = difference
    const columns = Math.min(above.length, COLUMNS - 1)
    for (let column = 0; column < columns; column++) {
      const left = row[column] as number
      const corner = above[column] as number
      const entry = left + (left - corner) / (ratio ** (column + 1) - 1)
      row.push(entry)
      const estimate = Math.max(Math.abs(entry - left), Math.abs(entry - corner)) + rounding / step
      if (estimate < error) {
        value = entry
        error = estimate
      }
    }
  }
  const drowned = rounding / (levels.at(-1)?.step ?? 1)
  return { value, error, converged: comesTogether(differences.slice(-3), drowned, LEAST_FALL * ratio) }
}

/** Whether the second of two changes is smaller than the first by a factor, or no more than rounding makes. */
function comesTogether(differences: readonly number[], drowned: number, factor: number): boolean {
  if (differences.length < 3) return false
  const [first, second, third] = differences as [number, number, number]
  const change = Math.abs(third - second)
  return change <= 2 * drowned || factor * change <= Math.abs(second - first)
}
