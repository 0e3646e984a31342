// Where the hidden patch of a tile looks.
import { noGrad, where } from 'wengert'
import { type Ground, groundOf, meanOf, neighboursOf } from './errors.js'
import type { HiddenPatchModel } from './model.js'
import { GRID, PATCHES } from './tiles.js'
import type { Exam } from './training.js'

/** For each tile, for each head: the attention that its hidden patch pays to each patch. */
export type Gazes = readonly (readonly (readonly number[])[])[]

export function gazes(model: HiddenPatchModel, { questions }: Exam): Gazes {
  return noGrad(() =>
    questions.flatMap((question) => {
      // (B, 1, N, 1): all rows of A but the hidden patch's are replaced by 0, and so their sum is that row.
      const rows = where(question.hidden.unsqueeze(1), model.attention(question), 0).sum({ axis: -2 })
      return rows.toArray() as number[][][]
    }),
  )
}

/** Parts of a tile by their distance from a patch, in patches, diagonal steps counting one. */
export const DISTANCES = ['itself', 'beside', 'diagonal', '2 away', 'farther'] as const

/** Which of the distances it is from one patch to another. */
export function distanceOf(from: number, to: number): number {
  const down = Math.abs(Math.floor(from / GRID) - Math.floor(to / GRID))
  const right = Math.abs((from % GRID) - (to % GRID))
  if (Math.max(down, right) <= 1) return down + right
  return Math.min(4, Math.max(down, right) + 1)
}

/** Shares of something, which add up to 1. */
export type Shares = readonly number[]

/** How attention is spread over the distances. */
export function byDistance(weights: readonly number[], hidden: number): Shares {
  return DISTANCES.map((_, distance) => sumWhere(weights, (patch) => distanceOf(hidden, patch) === distance))
}

/** How attention is spread over patches of each ground. */
export function byGround(weights: readonly number[], shares: readonly number[]): Shares {
  return GROUNDS.map((ground) => sumWhere(weights, (patch) => groundOf(shares[patch] ?? 0) === ground))
}

export const GROUNDS: readonly Ground[] = ['coast', 'water', 'land']

function sumWhere(weights: readonly number[], is: (patch: number) => boolean): number {
  return weights.reduce((sum, weight, patch) => (is(patch) ? sum + weight : sum), 0)
}

/** Attention that knows of nothing: the same to each patch. */
export const EVEN: readonly number[] = new Array(PATCHES).fill(1 / PATCHES)

/** The mean of several rows of as many numbers. */
export function meanRow(rows: readonly (readonly number[])[]): number[] {
  return (rows[0] ?? []).map((_, i) => meanOf(rows.map((row) => row[i] ?? Number.NaN)))
}

/** Places along a side of the map of all steps from one patch of a tile to another. */
export const STEPS = 2 * GRID - 1

/** The mean attention to what lies so many rows and columns away, by that step: (2 GRID − 1)² of them, row by row. */
export function byStep(rows: readonly (readonly number[])[], hidden: readonly number[]): number[] {
  const sums = new Float64Array(STEPS * STEPS)
  const counts = new Float64Array(STEPS * STEPS)
  rows.forEach((row, i) => {
    const from = hidden[i] ?? 0
    row.forEach((weight, to) => {
      const down = Math.floor(to / GRID) - Math.floor(from / GRID)
      const right = (to % GRID) - (from % GRID)
      const step = (down + GRID - 1) * STEPS + right + GRID - 1
      sums[step] = (sums[step] ?? 0) + weight
      counts[step] = (counts[step] ?? 0) + 1
    })
  })
  return Array.from(sums, (sum, step) => sum / Math.max(1, counts[step] ?? 0))
}

/** The mean of the shares around a patch. */
export function meanAround(shares: readonly number[], patch: number): number {
  return meanOf(neighboursOf(patch).map((other) => shares[other] ?? Number.NaN))
}
