import { GRID } from './tiles.js'

/** How far predictions are from the truth. */
export interface Errors {
  /** Mean of |prediction − share|. */
  readonly absolute: number
  /** Root of the mean of (prediction − share)². */
  readonly rootMeanSquare: number
  /** The mean absolute error where the hidden patch has a coast: land and water of at least 5 %. */
  readonly coast: number
}

/** What is in a patch, by its share of water. */
export type Ground = 'coast' | 'water' | 'land'

export function groundOf(share: number): Ground {
  if (share < 0.05) return 'land'
  return share > 0.95 ? 'water' : 'coast'
}

export function errorsOf(predictions: readonly number[], truth: readonly number[]): Errors {
  const differences = truth.map((share, i) => Math.abs((predictions[i] ?? Number.NaN) - share))
  const atCoasts = differences.filter((_, i) => groundOf(truth[i] ?? 0) === 'coast')
  return {
    absolute: meanOf(differences),
    rootMeanSquare: Math.sqrt(meanOf(differences.map((difference) => difference ** 2))),
    coast: meanOf(atCoasts),
  }
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The patches around one, those at the edge of the tile having fewer than eight. */
export function neighboursOf(patch: number): number[] {
  const [row, column] = [Math.floor(patch / GRID), patch % GRID]
  const around = [-1, 0, 1]
  return around.flatMap((down) =>
    around.flatMap((right) => {
      const [r, c] = [row + down, column + right]
      const inside = r >= 0 && r < GRID && c >= 0 && c < GRID
      return inside && (down !== 0 || right !== 0) ? [r * GRID + c] : []
    }),
  )
}
