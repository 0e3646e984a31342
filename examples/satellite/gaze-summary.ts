import type { Earth } from './earth.js'
import { type Ground, groundOf } from './errors.js'
import { byDistance, byGround, EVEN, type Gazes, meanRow, type Shares } from './gaze.js'
import { HEADS } from './model.js'
import { sharesOf, type Tile } from './tiles.js'
import type { Exam } from './training.js'

/** How hidden patches of a kind spread their attention, on average. */
export interface GazeSummary {
  readonly name: string
  readonly byDistance: Shares
  readonly byGround: Shares
}

/** Of coasts, for each head; of coasts, water and land, for all heads together; and what even attention would be. */
export function summarise(earth: Earth, { tiles, truth }: Exam, given: Gazes): GazeSummary[] {
  const indices = (ground: Ground) => truth.flatMap((share, i) => (groundOf(share) === ground ? [i] : []))
  const distance = (of: readonly number[], weights: (i: number) => readonly number[]): Shares =>
    meanRow(of.map((i) => byDistance(weights(i), tiles[i]?.hidden ?? 0)))
  const ground = (of: readonly number[], weights: (i: number) => readonly number[]): Shares =>
    meanRow(of.map((i) => byGround(weights(i), sharesOf(earth, tiles[i] as Tile))))
  const all = (i: number) => meanRow(given[i] ?? [])
  const [coast, water, land] = [indices('coast'), indices('water'), indices('land')]
  const rows = [
    ...Array.from({ length: HEADS }, (_, head) => ({
      name: `coast, head ${head + 1}`,
      of: coast,
      weights: (i: number) => given[i]?.[head] ?? [],
    })),
    { name: 'coast, all heads', of: coast, weights: all },
    { name: 'water, all heads', of: water, weights: all },
    { name: 'land, all heads', of: land, weights: all },
    { name: 'coast, if spread evenly', of: coast, weights: () => EVEN },
  ]
  return rows.map(({ name, of, weights }) => ({
    name,
    byDistance: distance(of, weights),
    byGround: ground(of, weights),
  }))
}
