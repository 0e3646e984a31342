import { concat, matmul, noGrad, softmax, type Tensor } from 'wengert'
import type { MultiHeadAttention } from 'wengert/nn'
import { deviation, largestDifference } from '../support/statistics.js'

/** One step on the way from X to Y. */
export interface Step {
  readonly symbol: string
  readonly formula: string
  readonly shape: readonly number[]
  /** Standard deviation of its numbers (over all heads). */
  readonly deviation: number
  /** Whether every head has one of its own. */
  readonly perHead: boolean
}

/** The way from X to Y. */
export interface Walk {
  readonly steps: readonly Step[]
  /** The largest difference of A and of Y from those of the layer itself. */
  readonly differenceOfA: number
  readonly differenceOfY: number
  /** How far the sum of a row of A is from 1, at most. */
  readonly rowSumError: number
  /** Whether these are no more than rounding. */
  readonly ok: boolean
}

const ROUNDING = 1e-12

/**
 * Computes what the layer computes, one step of the formula at a time, head by head.
 *
 * @param x N × D, float64 as the layer is
 */
export function walkThrough(layer: MultiHeadAttention, x: Tensor): Walk {
  return noGrad(() => {
    const heads = Array.from({ length: layer.numHeads }, (_, h) => {
      const { WQ, WK, WV } = layer.head(h)
      const Q = matmul(x, WQ.transpose())
      const K = matmul(x, WK.transpose())
      const V = matmul(x, WV.transpose())
      const S = matmul(Q, K.transpose())
      const scaled = S.scale(1 / Math.sqrt(layer.keyDim))
      const A = softmax(scaled, -1)
      return { Q, K, V, S, scaled, A, Y: matmul(A, V) }
    })
    const joined = concat(
      heads.map((head) => head.Y),
      -1,
    )
    const y = matmul(joined, layer.WO.transpose())
    const perHead = (symbol: string, formula: string, name: keyof (typeof heads)[number]) =>
      step(
        symbol,
        formula,
        heads.map((head) => head[name]),
      )
    const attention = layer.attention(x).unstack(0)
    const differenceOfA = Math.max(...heads.map(({ A }, h) => largestDifference(A, attention[h] as Tensor)))
    const differenceOfY = largestDifference(y, layer.forward(x))
    const rowSumError = Math.max(...heads.map(({ A }) => A.sum({ axis: -1 }).sub(1).abs().max().item()))
    return {
      steps: [
        step('X', 'one patch a row, standardised', [x]),
        perHead('Q', 'X W_Qᵀ', 'Q'),
        perHead('K', 'X W_Kᵀ', 'K'),
        perHead('V', 'X W_Vᵀ', 'V'),
        perHead('S', 'Q Kᵀ', 'S'),
        perHead('S̃', 'S / √d_k', 'scaled'),
        perHead('A', 'softmax_row(S̃)', 'A'),
        perHead('Y⁽ʰ⁾', 'A V', 'Y'),
        step('Y_concat', '[Y⁽¹⁾ … Y⁽ᴴ⁾], side by side', [joined]),
        step('Y', 'Y_concat W_Oᵀ', [y]),
      ],
      differenceOfA,
      differenceOfY,
      rowSumError,
      ok: Math.max(differenceOfA, differenceOfY, rowSumError) < ROUNDING,
    }
  })
}

function step(symbol: string, formula: string, tensors: readonly Tensor[]): Step {
  const numbers = tensors.flatMap((part) => Array.from(part.data))
  return {
    symbol,
    formula,
    shape: tensors[0]?.shape ?? [],
    deviation: deviation(numbers),
    perHead: tensors.length > 1,
  }
}
