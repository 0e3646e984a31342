import { binaryCrossEntropyWithLogits, manualSeed, noGrad, randint, tensor } from 'wengert'
import { DataLoader } from 'wengert/data'
import { AdamW, clipGradNorm, OneCycleLR } from 'wengert/optim'
import { endless } from '../support/batches.js'
import { train } from '../support/train.js'
import type { Earth } from './earth.js'
import { meanOf } from './errors.js'
import { HiddenPatchModel, type PositionKind } from './model.js'
import { type ColourStatistics, PATCHES, type Place, type Question, questionOf, sharesOf, type Tile } from './tiles.js'

const BATCH = 32
const RATE = 4e-3
/** How often the error on held-out tiles is measured while the model is trained, at most: it takes as long as many steps. */
const MEASUREMENTS = 12
/** Tiles that are looked at together, where nothing is learned. */
const CHUNK = 128

/** Tiles with questions and answers. */
export interface Exam {
  readonly tiles: readonly Tile[]
  /** In parts of a few tiles each. */
  readonly questions: readonly Question[]
  /** The share of water of each hidden patch. */
  readonly truth: readonly number[]
}

export function examOf(earth: Earth, tiles: readonly Tile[], colours: readonly ColourStatistics[]): Exam {
  return {
    tiles,
    questions: [...new DataLoader(tiles, { batchSize: CHUNK })].map((part) => questionOf(earth, part, colours)),
    truth: tiles.map((tile) => answerOf(earth, tile)),
  }
}

function answerOf(earth: Earth, tile: Tile): number {
  return sharesOf(earth, tile)[tile.hidden] ?? Number.NaN
}

/** What a model says of each tile, from 0 to 1. */
export function predictions(model: HiddenPatchModel, { questions }: Exam): number[] {
  return noGrad(() => questions.flatMap((question) => Array.from(model.forward(question).sigmoid().data)))
}

/** A model and how it came to be. */
export interface Trained {
  readonly kind: PositionKind
  readonly model: HiddenPatchModel
  /** Steps, and the mean absolute error on held-out tiles after them. */
  readonly curve: readonly (readonly [steps: number, error: number])[]
  /** What the model says of the held-out tiles in the end. */
  readonly predictions: readonly number[]
  /** The running cross-entropy at the end. */
  readonly loss: number
  readonly stepsPerSecond: number
}

/** What models are trained with. */
export interface Lessons {
  readonly earth: Earth
  readonly places: readonly Place[]
  readonly colours: readonly ColourStatistics[]
  /** Held-out tiles. */
  readonly exam: Exam
  readonly steps: number
  readonly seed: number
}

/** Trains a model. All kinds start from the same weights and see the same tiles in the same order. */
export async function trainModel(kind: PositionKind, lessons: Lessons): Promise<Trained> {
  const { earth, places, colours, exam, steps, seed } = lessons
  manualSeed(seed)
  const model = new HiddenPatchModel(kind)
  const optimizer = new AdamW(model.parameters(), { lr: RATE, weightDecay: 0.05 })
  const schedule = new OneCycleLR(optimizer, { maxLr: RATE, totalSteps: steps })
  const batches = endless(
    new DataLoader(places, {
      batchSize: BATCH,
      shuffle: true,
      seed,
      collate: (part: Place[]) => {
        const hidden = randint(0, PATCHES, [part.length]).data
        const tiles = part.map((place, i) => ({ ...place, hidden: hidden[i] ?? 0 }))
        return { question: questionOf(earth, tiles, colours), truth: tiles.map((tile) => answerOf(earth, tile)) }
      },
    }),
  )
  const curve: [number, number][] = []
  let last: number[] = []
  const measure = (done: number) => {
    last = predictions(model, exam)
    curve.push([done, meanOf(exam.truth.map((share, i) => Math.abs(share - (last[i] ?? Number.NaN))))])
  }
  const every = Math.max(25, Math.round(steps / MEASUREMENTS))
  measure(0)
  const { done, loss, stepsPerSecond } = await train({
    steps,
    step: (index) => {
      const { question, truth } = batches.next().value
      optimizer.zeroGrad()
      const entropy = binaryCrossEntropyWithLogits(model.forward(question), tensor(truth))
      entropy.backward()
      clipGradNorm(model.parameters(), 1)
      optimizer.step()
      schedule.step()
      if ((index + 1) % every === 0) measure(index + 1)
      return entropy.item()
    },
  })
  if (curve.at(-1)?.[0] !== done) measure(done)
  return { kind, model, curve, predictions: last, loss, stepsPerSecond }
}
