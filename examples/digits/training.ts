import { crossEntropy, manualSeed, noGrad } from 'wengert'
import { DataLoader } from 'wengert/data'
import { AdamW, clipGradNorm, OneCycleLR } from 'wengert/optim'
import { endless } from '../support/batches.js'
import { type TrainResult, train } from '../support/train.js'
import { batchOf, type DigitImage, type DigitSets, movedBatch } from './images.js'
import { VisionTransformer } from './model.js'

const BATCH = 64
const RATE = 3e-3
/** Images are moved by up to so many pixels, each time anew. */
const MOVE = 1
/** Images that are looked at together, where nothing is learned. */
const CHUNK = 200
/** How often the accuracy is measured while the model is trained, at most. */
const MEASUREMENTS = 10

/** What a model takes each image for. */
export function answers(model: VisionTransformer, images: readonly DigitImage[]): number[] {
  const parts = new DataLoader<DigitImage>(images, { batchSize: CHUNK })
  return noGrad(() =>
    [...parts].flatMap((part) => Array.from(model.forward(batchOf(part).images).argmax({ axis: -1 }).data)),
  )
}

/** The share of the images that are taken for what they are. */
export function accuracyOf(given: readonly number[], images: readonly DigitImage[]): number {
  return images.filter(({ digit }, i) => given[i] === digit).length / images.length
}

/** A model and how it came to be. */
export interface Trained {
  readonly model: VisionTransformer
  /** Steps, and the accuracy on the test images after them. */
  readonly curve: readonly (readonly [steps: number, accuracy: number])[]
  /** What the model takes the test images for in the end. */
  readonly answers: readonly number[]
  readonly result: TrainResult
  /** Seconds from the first step to the last, measurements of the accuracy among them. */
  readonly seconds: number
  /** Of processor time in that: on a busy machine less than the seconds, on several cores perhaps more. */
  readonly processorSeconds: number
}

/** Trains a model on the images. */
export async function trainModel(sets: DigitSets, steps: number, seed: number): Promise<Trained> {
  manualSeed(seed)
  const model = new VisionTransformer()
  const optimizer = new AdamW(model.parameters(), { lr: RATE, weightDecay: 0.05 })
  const schedule = new OneCycleLR(optimizer, { maxLr: RATE, totalSteps: steps, pctStart: 0.15 })
  const loader = new DataLoader(sets.train, {
    batchSize: BATCH,
    shuffle: true,
    seed,
    collate: (part: DigitImage[]) => movedBatch(part, MOVE),
  })
  const batches = endless(loader)
  const curve: [number, number][] = []
  let last: number[] = []
  const measure = (done: number) => {
    last = answers(model, sets.test)
    curve.push([done, accuracyOf(last, sets.test)])
  }
  const every = Math.max(50, Math.round(steps / MEASUREMENTS))
  measure(0)
  const start = performance.now()
  const startOfWork = process.cpuUsage()
  const result = await train({
    steps,
    step: (index) => {
      const { images, digits } = batches.next().value
      optimizer.zeroGrad()
      const loss = crossEntropy(model.forward(images), digits)
      loss.backward()
      clipGradNorm(model.parameters(), 1)
      optimizer.step()
      schedule.step()
      const done = index + 1
      if (done % every === 0) measure(done)
      return loss.item()
    },
  })
  if (curve.at(-1)?.[0] !== result.done) measure(result.done)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(startOfWork)
  return { model, curve, answers: last, result, seconds, processorSeconds: (user + system) / 1e6 }
}
