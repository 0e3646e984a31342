import { quantile } from '../satellite-attention/statistics.js'
import { type Picture, paragraph, type Section, table } from '../support/document.js'
import { percent, position } from '../support/format.js'
import { heatmaps } from '../support/heat.js'
import { tileUri } from '../support/image.js'
import { linePlot } from '../support/line-plot.js'
import type { Earth } from './earth.js'
import { type Errors, type Ground, groundOf } from './errors.js'
import {
  byDistance,
  byGround,
  byStep,
  DISTANCES,
  EVEN,
  type Gazes,
  GROUNDS,
  meanRow,
  type Shares,
  STEPS,
} from './gaze.js'
import { EMBED_DIM, HEADS } from './model.js'
import { GRID, type Longitudes, PATCH, PATCHES, type Place, sharesOf, TEST, TILE, type Tile, TRAIN } from './tiles.js'
import type { Exam, Trained } from './training.js'

export function taskSection(places: number, exam: Exam): Section {
  const coasts = exam.truth.filter((share) => groundOf(share) === 'coast').length
  return {
    title: 'The task',
    parts: [
      paragraph(
        `A tile of ${TILE} × ${TILE} pixels of a satellite image of the Earth is cut into ${GRID} × ${GRID} patches of ${PATCH} × ${PATCH} pixels. One patch is hidden. Which share of it is water?`,
      ),
      paragraph(
        `Tiles to train with lie between ${range(TRAIN)} (${places} places for them), tiles to test with between ${range(TEST)}: no pixel is in both. All have 10 to 90 % of water. The test has ${exam.tiles.length} tiles; ${coasts} of the hidden patches are coast (5 to 95 % water).`,
      ),
    ],
  }
}

function range({ west, east }: Longitudes): string {
  const degrees = (longitude: number) => `${Math.abs(longitude)}° ${longitude < 0 ? 'W' : 'E'}`
  return `${degrees(west)} and ${degrees(east)}`
}

/** Someone who answers, and how far from the truth. */
export interface Ranked {
  readonly name: string
  readonly errors: Errors
}

export function errorSection(ranked: readonly Ranked[], trained: readonly Trained[], parameters: number): Section {
  const points = (value: number) => (100 * value).toFixed(1)
  return {
    title: 'Errors on the held-out tiles',
    parts: [
      paragraph(
        `The model: each patch becomes a vector of D = ${EMBED_DIM}, the hidden one a learned vector instead; positions are added; one transformer block with H = ${HEADS} heads; the row of the hidden patch becomes a number. ${parameters} parameters. The three differ in their positions alone: they start from the same weights and see the same tiles.`,
      ),
      table(
        'How far the answers are from the truth, in percentage points of water',
        [
          { head: 'answer', text: true },
          { head: 'mean absolute' },
          { head: 'root mean square' },
          { head: 'absolute, at coasts' },
        ],
        ranked.map(({ name, errors }) => [
          name,
          points(errors.absolute),
          points(errors.rootMeanSquare),
          points(errors.coast),
        ]),
      ),
      linePlot({
        title: 'Learning curves',
        x: 'steps',
        y: 'mean absolute error on held-out tiles, percentage points',
        lines: trained.map(({ kind, curve }) => ({
          name: positionName(kind),
          points: curve.map(([steps, error]) => [steps, 100 * error]),
        })),
        levels: ranked.slice(0, 2).map(({ name, errors }) => ({ name, value: 100 * errors.absolute })),
      }),
      paragraph(
        `${trained.map((one) => `${positionName(one.kind)}: ${one.stepsPerSecond.toFixed(1)} steps/s`).join(', ')}.`,
      ),
    ],
  }
}

export function positionName(kind: Trained['kind']): string {
  return kind === 'none' ? 'no position' : `${kind} position`
}

export function untrainedSection(): Section {
  return {
    title: 'Where the hidden patch looks',
    parts: [
      paragraph(
        'The model is hardly better than the mean: it has not learned enough for where it looks to tell anything. More steps are needed before there are heatmaps.',
      ),
    ],
  }
}

/** How many tiles are drawn. */
const DRAWN = 6

export async function gazeSection(
  earth: Earth,
  exam: Exam,
  given: Gazes,
  answers: readonly number[],
): Promise<Section> {
  const coasts = exam.truth.flatMap((share, i) => (groundOf(share) === 'coast' ? [i] : []))
  const drawn = Array.from({ length: Math.min(DRAWN, coasts.length) }, (_, i) => {
    return coasts[Math.floor(((i + 0.5) / DRAWN) * coasts.length)] as number
  })
  return {
    title: 'Where the hidden patch looks',
    parts: [
      paragraph(
        'Attention of the trained model with 2-D positions. As the pixels of the hidden patch are covered, it can only ask by its place; the others answer by their place and by what is to be seen in them.',
      ),
      ...gazeTables(earth, exam, given),
      stepPicture(exam, given, coasts),
      await tilePicture(earth, exam, given, answers, drawn),
    ],
  }
}

/** The attention of all heads together. */
function together(heads: readonly (readonly number[])[]): number[] {
  return meanRow(heads)
}

/** Attention by distance and by ground, as tables of per cent. */
export function summarise(earth: Earth, { tiles, truth }: Exam, given: Gazes) {
  const indices = (ground: Ground) => truth.flatMap((share, i) => (groundOf(share) === ground ? [i] : []))
  const distance = (of: readonly number[], weights: (i: number) => readonly number[]): Shares =>
    meanRow(of.map((i) => byDistance(weights(i), tiles[i]?.hidden ?? 0)))
  const ground = (of: readonly number[], weights: (i: number) => readonly number[]): Shares =>
    meanRow(of.map((i) => byGround(weights(i), sharesOf(earth, tiles[i] as Tile))))
  const all = (i: number) => together(given[i] ?? [])
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

function gazeTables(earth: Earth, exam: Exam, given: Gazes) {
  const rows = summarise(earth, exam, given)
  const percentages = (shares: Shares) => shares.map((share) => (100 * share).toFixed(1))
  const columns = (heads: readonly string[]) => [
    { head: 'hidden patch', text: true },
    ...heads.map((head) => ({ head })),
  ]
  return [
    table(
      'Its attention by distance from it, in per cent',
      columns(DISTANCES),
      rows.map((row) => [row.name, ...percentages(row.byDistance)]),
    ),
    table(
      'Its attention by what the patches are that it looks at, in per cent',
      columns(GROUNDS),
      rows.map((row) => [row.name, ...percentages(row.byGround)]),
    ),
  ]
}

/** Attention by the step from the hidden patch. */
function stepPicture({ tiles }: Exam, given: Gazes, coasts: readonly number[]): Picture {
  const hidden = coasts.map((i) => tiles[i]?.hidden ?? 0)
  const maps = Array.from({ length: HEADS }, (_, head) =>
    byStep(
      coasts.map((i) => given[i]?.[head] ?? []),
      hidden,
    ),
  )
  const title =
    'Where a hidden coast looks on average: the step from it (framed), rows downwards and columns to the right'
  const html = heatmaps({
    label: title,
    heads: maps.map((_, head) => `head ${head + 1}`),
    rows: [
      maps.map((weights) => ({
        label: [`most: ${percent(Math.max(...weights))}`],
        weights,
        framed: [(STEPS * STEPS - 1) / 2],
      })),
    ],
    grid: STEPS,
    top: Math.max(...maps.flat()),
    quantity: `attention weight, mean over the tiles (evenly: ${(1 / PATCHES).toFixed(3)})`,
  })
  return { kind: 'picture', title, html }
}

/** Held-out tiles and where their hidden patch looks. */
async function tilePicture(
  earth: Earth,
  { tiles, truth }: Exam,
  given: Gazes,
  answers: readonly number[],
  drawn: readonly number[],
): Promise<Picture> {
  const title =
    'Six held-out tiles whose hidden patch (framed) is coast: its share of water, what the model told, and where it looks'
  const rows = await Promise.all(
    drawn.map(async (i) => {
      const tile = tiles[i] as Tile
      const sides = sharesOf(earth, tile).map((share) => share > 0.5)
      const framed = [tile.hidden]
      const told = `${percent(truth[i] ?? 0)}, told ${percent(answers[i] ?? 0)}`
      return [
        { label: [placeName(earth, tile), told], image: await photograph(earth, tile), framed },
        ...(given[i] ?? []).map((weights) => ({
          label: [`most: ${percent(Math.max(...weights))}`],
          weights,
          framed,
          sides,
        })),
      ]
    }),
  )
  const html = heatmaps({
    label: title,
    heads: ['the tile', ...Array.from({ length: HEADS }, (_, head) => `head ${head + 1}`)],
    rows,
    grid: GRID,
    top: quantile(drawn.flatMap((i) => given[i] ?? []).flat(), 0.99),
    quantity: `attention weight (evenly: ${(1 / PATCHES).toFixed(3)}); white lines: between land and water`,
  })
  return { kind: 'picture', title, html }
}

function placeName({ width, height }: Earth, { left, top }: Place): string {
  return position(90 - ((top + TILE / 2) / height) * 180, ((left + TILE / 2) / width) * 360 - 180)
}

async function photograph({ width, pixels }: Earth, { left, top }: Place): Promise<string> {
  const rows = Array.from({ length: TILE }, (_, y) => {
    const start = ((top + y) * width + left) * 3
    return [...pixels.subarray(start, start + TILE * 3)]
  })
  return await tileUri({ name: 'tile', width: TILE, height: TILE, pixels: Uint8Array.from(rows.flat()) })
}

/** In a sentence: what came out. */
export function outcome(ranked: readonly Ranked[]): string {
  const told = ranked.map(({ name, errors }) => `${name} ${(100 * errors.absolute).toFixed(1)}`)
  return `Mean absolute error on held-out longitudes, in percentage points of water: ${told.join(', ')}.`
}
