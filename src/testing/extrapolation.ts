// Derivatives from central differences with steps h, h/2, h/4, …, extrapolated to step 0.
import type { Slopes } from './numeric.js'

/** A derivative by differences, with an estimate of its error. */
export interface Extrapolated {
  readonly value: number
  readonly error: number
}

/** Slopes over one step. */
export interface Level {
  readonly step: number
  readonly slopes: Slopes
}

/** Columns of a table: every one takes away one more term of the error. */
const COLUMNS = 5

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
  for (const { step, slopes } of levels) {
    const above = row
    const difference = quotient(slopes)
    if (!Number.isFinite(difference)) {
      // A step that leaves the function's domain: the table begins behind it.
      row = []
      if (Number.isNaN(value)) value = difference
      continue
    }
    row = [difference]
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
  return { value, error }
}
