import { paragraph, type Section, table } from '../support/document.js'
import { linePlot } from '../support/line-plot.js'
import type { Earth } from './earth.js'
import { type Errors, groundOf } from './errors.js'
import { DISTANCES, type Gazes, GROUNDS, type Shares } from './gaze.js'
import { summarise } from './gaze-summary.js'
import { EMBED_DIM, HEADS } from './model.js'
import { stepPicture, tilePicture } from './pictures.js'
import { GRID, type Longitudes, PATCH, TEST, TILE, TRAIN } from './tiles.js'
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

/** In a sentence: what came out. */
export function outcome(ranked: readonly Ranked[]): string {
  const told = ranked.map(({ name, errors }) => `${name} ${(100 * errors.absolute).toFixed(1)}`)
  return `Mean absolute error on held-out longitudes, in percentage points of water: ${told.join(', ')}.`
}
