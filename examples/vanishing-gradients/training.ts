import { manualSeed, mseLoss, noGrad, randn, type Tensor } from 'wengert'
import { SelfAttention } from 'wengert/nn'
import { Adam, SGD } from 'wengert/optim'
import { FEATURES, found, type Sequences, sequences, VALUE } from '../recall/task.js'
import type { Compared } from '../satellite-attention/fixed-structure.js'
import { DEAD } from '../satellite-attention/random-weights.js'
import { softmaxRows } from '../satellite-attention/softmax-row.js'
import { median, quantile } from '../support/statistics.js'

export const KEY_DIMS = [16, 64, 256, 1024] as const
/** The loss that a head is to reach. Always answering 0 has a loss of 1. */
export const TARGET = 0.1
export const BATCH = 16
export const TEST = 16
/** In how many parts the steps are divided by looks at the head. */
const LOOKS = 40

/** The same for all: the step of SGD is in proportion to the gradient, that of Adam is not. */
export const OPTIMIZERS = {
  SGD: { text: 'SGD, rate 0.1, momentum 0.9', make: (weights) => new SGD(weights, { lr: 0.1, momentum: 0.9 }) },
  Adam: { text: 'Adam, rate 0.003', make: (weights) => new Adam(weights, { lr: 3e-3 }) },
} satisfies Record<string, { readonly text: string; readonly make: (weights: Tensor[]) => SGD | Adam }>

export type OptimizerName = keyof typeof OPTIMIZERS

/** What a head is like after some steps, on sequences not seen in training. */
export interface Look {
  readonly step: number
  readonly loss: number
  /** The share of rows found. */
  readonly found: number
  /** ‖D_s a‖_F of the rows: the median, and the quarters below and above which a quarter of them lie. */
  readonly jacobianNorm: number
  readonly jacobianQuartiles: readonly [number, number]
  /** Share of the rows with ‖D_s a‖_F < DEAD. */
  readonly deadRows: number
}

/** How one head fared. */
export interface Course {
  readonly looks: readonly Look[]
  /** The first step at which the test loss was found at or below TARGET; null where it never was. */
  readonly stepsToTarget: number | null
}

/** The third experiment at one d_k, with one optimiser. */
export interface Training extends Compared<Course> {
  readonly optimizer: OptimizerName
  readonly keyDim: number
}

/** A head that is being trained. */
export class Run {
  readonly #head: SelfAttention
  readonly #optimizer: SGD | Adam
  readonly #test: Sequences
  readonly #looks: Look[] = []

  /**
   * The entries of queries, keys and values have unit variance at first. For the same seed, all runs see the same
   * sequences, and their weights are the first rows of the same ones.
   */
  constructor(
    readonly keyDim: number,
    scale: 'sqrt' | 'none',
    optimizer: OptimizerName,
    seed: number,
  ) {
    manualSeed(seed)
    this.#test = sequences(TEST)
    const weights = (rows: number) =>
      randn([Math.max(...KEY_DIMS), FEATURES])
        .scale(1 / Math.sqrt(FEATURES))
        .slice(0, rows)
    this.#head = new SelfAttention({ inputDim: FEATURES, keyDim, valueDim: VALUE, scale })
    this.#head.loadStateDict({ WQ: weights(keyDim), WK: weights(keyDim), WV: weights(VALUE) })
    this.#optimizer = OPTIMIZERS[optimizer].make(this.#head.parameters())
  }

  /** @returns the loss before the step */
  step(): number {
    const { x, target } = sequences(BATCH)
    this.#optimizer.zeroGrad()
    const loss = mseLoss(this.#head.forward(x), target)
    loss.backward()
    this.#optimizer.step()
    return loss.item()
  }

  look(step: number): void {
    const { x, target, sought } = this.#test
    noGrad(() => {
      const attention = this.#head.attention(x)
      const norms = softmaxRows(attention).map((row) => row.jacobianNorm)
      this.#looks.push({
        step,
        loss: mseLoss(this.#head.forward(x), target).item(),
        found: found(attention, sought),
        jacobianNorm: median(norms),
        jacobianQuartiles: [quantile(norms, 0.25), quantile(norms, 0.75)],
        deadRows: norms.filter((value) => value < DEAD).length / norms.length,
      })
    })
  }

  get course(): Course {
    return { looks: this.#looks, stepsToTarget: this.#looks.find(({ loss }) => loss <= TARGET)?.step ?? null }
  }
}

/** Whether the head is to be looked at before this step. */
export function isLook(step: number, steps: number): boolean {
  return step % Math.max(1, Math.round(steps / LOOKS)) === 0
}
