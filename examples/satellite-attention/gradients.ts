import { mseLoss, randn, type Tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { gradcheck, type Verdict } from 'wengert/testing'

/** The four weights of an attention layer. */
export const WEIGHTS = ['WQ', 'WK', 'WV', 'WO'] as const
export type WeightName = (typeof WEIGHTS)[number]
export type Weights = Readonly<Record<WeightName, Tensor>>

/** ∂L/∂W of one weight against finite differences. */
export interface WeightCheck {
  readonly weight: WeightName
  readonly shape: readonly number[]
  /** Entries compared, of how many, and random directions besides. */
  readonly entries: number
  readonly size: number
  readonly directions: number
  readonly maxAbsoluteError: number
  readonly maxRelativeError: number
  /** How many digits the finite differences have; null where all are 0. */
  readonly digits: number | null
  readonly ok: boolean
  readonly verdict: Verdict
  /** The findings in a few lines. */
  readonly text: string
}

/** The four checks of one layer. */
export interface LayerCheck {
  readonly title: string
  readonly weights: readonly WeightCheck[]
}

/** How much of a weight is compared: all of it, or some entries and random directions. */
export type Extent = 'every entry' | { readonly samples: number; readonly directions: number }

/**
 * Checks the four weight gradients of a float64 layer of multi-head attention, for L = mean((Y − T)²) / 2 with a random
 * target T.
 */
export function checkLayer(
  title: string,
  layer: MultiHeadAttention,
  x: Tensor,
  extent: Extent,
  seed: number,
): LayerCheck {
  const { WQ, WK, WV, WO, embedDim, numHeads, keyDim, valueDim } = layer
  const target = randn(x.shape, { dtype: 'float64' })
  const copy = new MultiHeadAttention({ embedDim, numHeads, keyDim, valueDim, dtype: 'float64' })
  const loss = (weights: Weights) => {
    // The layer's own code, on the tensors that the check gives it in place of its parameters.
    Object.assign(copy, weights)
    return mseLoss(copy.forward(x), target).scale(0.5)
  }
  return { title, weights: checkWeights(loss, { WQ, WK, WV, WO }, extent, seed) }
}

/** Checks ∂L/∂W of each weight in turn, the others held. */
export function checkWeights(
  loss: (weights: Weights) => Tensor,
  weights: Weights,
  extent: Extent,
  seed: number,
): WeightCheck[] {
  return WEIGHTS.map((weight) => {
    const checked = weights[weight].detach().requiresGrad_()
    const report = gradcheck((moved) => loss({ ...weights, [weight]: moved }), [checked], {
      ...(extent === 'every entry' ? { mode: 'full' } : extent),
      seed,
    })
    return {
      weight,
      shape: checked.shape,
      entries: report.entries,
      size: checked.size,
      directions: report.directions,
      maxAbsoluteError: report.maxAbsoluteError,
      maxRelativeError: report.maxRelativeError,
      digits: report.digits,
      ok: report.ok,
      verdict: report.verdict,
      text: String(report),
    }
  })
}
