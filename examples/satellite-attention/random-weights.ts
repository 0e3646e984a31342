import { manualSeed, matmul, mseLoss, noGrad, randn, scaledDotProductAttention, softmax, type Tensor } from 'wengert'
import { deviation, median, norm, quantile } from '../support/statistics.js'
import type { Compared } from './fixed-structure.js'
import { softmaxRows } from './softmax-row.js'

const PATCHES = 16
const FEATURES = 64
const KEY_DIMS = [1, 16, 64, 256, 1024, 4096]

/** Independent layers for each d_k. */
export const DRAWS = 40
/** Below this ‖D_s a‖_F a row is counted as dead. */
export const DEAD = 1e-3

/** What the rows of all draws are like, and what becomes of the gradient as a whole. */
export interface Regime {
  /** ‖D_s a‖_F per row: the median, and the quarters below and above which a quarter of the rows lie. */
  readonly jacobianNorm: number
  readonly jacobianQuartiles: readonly [number, number]
  /** Share of the rows with ‖D_s a‖_F < DEAD. */
  readonly deadRows: number
  /** Median over the rows of the largest weight, and of 1 minus it. */
  readonly max: number
  readonly rest: number
  /** Median entropy of the rows, in nats. */
  readonly entropy: number
  /** Median over the draws of ‖∂L/∂W_Q‖_F, all rows together. */
  readonly gradientNorm: number
  /** Median over the draws of the share of Σₙ ‖∂L/∂qₙ‖² that the two strongest of the 16 rows hold. */
  readonly topTwoShare: number
}

/** The second experiment at one d_k. */
export interface RandomWeights extends Compared<Regime> {
  readonly keyDim: number
  /** Standard deviation of the unscaled scores. */
  readonly scoreDeviation: number
}

/** Everything that is measured on one layer. */
interface Draw {
  readonly rows: ReturnType<typeof softmaxRows>
  readonly gradientNorm: number
  readonly topTwoShare: number
}

/**
 * Runs it: X and the weights are random, the entries of queries, keys and values have unit variance, d_v = d_k,
 * L = mean((Y − T)²).
 *
 * @param progress called with the share that is done
 */
export function runRandomWeights(seed: number, progress: (done: number) => void): RandomWeights[] {
  manualSeed(seed)
  return KEY_DIMS.map((keyDim, place) => {
    const scores: number[] = []
    const unscaled: Draw[] = []
    const scaled: Draw[] = []
    for (let draw = 0; draw < DRAWS; draw++) {
      progress((place + draw / DRAWS) / KEY_DIMS.length)
      const normal = (rows: number, columns: number) => randn([rows, columns], { dtype: 'float64' })
      const project = () =>
        matmul(
          x,
          normal(keyDim, FEATURES)
            .scale(1 / Math.sqrt(FEATURES))
            .transpose(),
        )
      const x = normal(PATCHES, FEATURES)
      const layer = { x, q: project(), k: project(), v: project(), target: normal(PATCHES, keyDim) }
      scores.push(...matmul(layer.q, layer.k.transpose()).data)
      unscaled.push(measure(layer, 1))
      scaled.push(measure(layer, 1 / Math.sqrt(keyDim)))
    }
    return { keyDim, scoreDeviation: deviation(scores), unscaled: summary(unscaled), scaled: summary(scaled) }
  })
}

function measure({ x, q, k, v, target }: Record<'x' | 'q' | 'k' | 'v' | 'target', Tensor>, scale: number): Draw {
  const rows = noGrad(() => softmaxRows(softmax(matmul(q, k.transpose()).scale(scale))))
  // The gradient is taken at Q, because its rows tell the patches apart; W_Q's own follows by the chain rule, as
  // ∂L/∂W_Q = (∂L/∂Q)ᵀ X.
  const leaf = q.clone().requiresGrad_()
  mseLoss(scaledDotProductAttention(leaf, k, v, { scale }), target).backward()
  const gradient = leaf.grad as Tensor
  const strengths = Array.from(gradient.square().sum({ axis: 1 }).data).sort((a, b) => b - a)
  const total = strengths.reduce((sum, value) => sum + value, 0)
  return {
    rows,
    gradientNorm: norm(matmul(gradient.transpose(), x)),
    topTwoShare: strengths.slice(0, 2).reduce((sum, value) => sum + value, 0) / total,
  }
}

function summary(draws: readonly Draw[]): Regime {
  const rows = draws.flatMap((draw) => draw.rows)
  const norms = rows.map((row) => row.jacobianNorm)
  return {
    jacobianNorm: median(norms),
    jacobianQuartiles: [quantile(norms, 0.25), quantile(norms, 0.75)],
    deadRows: norms.filter((value) => value < DEAD).length / norms.length,
    max: median(rows.map((row) => row.max)),
    rest: median(rows.map((row) => row.rest)),
    entropy: median(rows.map((row) => row.entropy)),
    gradientNorm: median(draws.map((draw) => draw.gradientNorm)),
    topTwoShare: median(draws.map((draw) => draw.topTwoShare)),
  }
}
