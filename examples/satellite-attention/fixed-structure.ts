import { eye, manualSeed, mseLoss, randn, softmax, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { norm } from '../support/statistics.js'
import { type SoftmaxRow, softmaxRows } from './softmax-row.js'

// Four patches (land, land, near water, far water) with scores of a fixed relative structure c, of the size √d_k that
// independent queries and keys of unit variance give them.
const STRUCTURE = [-0.5, -0.5, 1, 0]
const NEAR = 2
const FAR = 3

/** One attention row, the scores as they are or divided by √d_k. */
export interface StructuredRow {
  /** The lead of the near water's score over the far water's. */
  readonly gap: number
  /** a_near / a_far = e^gap. */
  readonly ratio: number
  /** a_near, and 1 − a_near exactly. */
  readonly near: number
  readonly rest: number
  /** ‖D_s a‖_F. */
  readonly jacobianNorm: number
}

/** ‖∂L/∂W‖_F of the four weights of an attention layer. */
export type GradientNorms = Record<'WQ' | 'WK' | 'WV' | 'WO', number>

/** Something without and with the factor 1/√d_k. */
export interface Compared<T> {
  readonly unscaled: T
  readonly scaled: T
}

/** What single precision is left with. */
export interface SinglePrecision {
  readonly keyDim: number
  /** a_near as float32 holds it. */
  readonly near: number
  /** Its own derivative ∂a_near/∂s_near = a_near (1 − a_near), in float32. */
  readonly derivative: number
  /** ‖∂L/∂W_Q‖_F, in float32. */
  readonly gradientNorm: number
}

/** The first experiment. */
export interface FixedStructure {
  readonly rows: readonly ({ readonly keyDim: number } & Compared<StructuredRow>)[]
  readonly gradients: readonly ({ readonly keyDim: number } & Compared<GradientNorms>)[]
  readonly singlePrecision: readonly SinglePrecision[]
}

/** Runs it. */
export function runFixedStructure(seed: number): FixedStructure {
  manualSeed(seed)
  const values = randn([4, 4], { dtype: 'float64' })
  const target = randn([4, 4], { dtype: 'float64' })
  const gradientsOf = (keyDim: number, scale: 'sqrt' | 'none', dtype: 'float32' | 'float64' = 'float64') =>
    layerGradients(keyDim, scale, values.to(dtype), target.to(dtype))
  return {
    rows: [1, 4, 16, 64, 256, 1024].map((keyDim) => ({
      keyDim,
      unscaled: structuredRow(Math.sqrt(keyDim)),
      scaled: structuredRow(Math.sqrt(keyDim) / Math.sqrt(keyDim)),
    })),
    // Four keys at right angles need at least four dimensions.
    gradients: [4, 16, 64, 256, 1024].map((keyDim) => ({
      keyDim,
      unscaled: gradientsOf(keyDim, 'none'),
      scaled: gradientsOf(keyDim, 'sqrt'),
    })),
    singlePrecision: [64, 256, 1024, 4096, 16384].map((keyDim) => {
      const attention = softmax(tensor(STRUCTURE).scale(Math.sqrt(keyDim)))
      const near = attention.slice(NEAR, NEAR + 1)
      return {
        keyDim,
        near: near.item(),
        derivative: near.mul(near.neg().add(1)).item(),
        gradientNorm: gradientsOf(keyDim, 'none', 'float32').WQ,
      }
    }),
  }
}

function structuredRow(size: number): StructuredRow {
  const [row] = softmaxRows(softmax(tensor(STRUCTURE, { dtype: 'float64' }).scale(size))) as [SoftmaxRow]
  const near = row.weights[NEAR] ?? 0
  return {
    gap: size * ((STRUCTURE[NEAR] ?? 0) - (STRUCTURE[FAR] ?? 0)),
    ratio: near / (row.weights[FAR] ?? 0),
    near,
    rest: row.rest,
    jacobianNorm: row.jacobianNorm,
  }
}

/**
 * ‖∂L/∂W‖ of a layer whose scores are exactly S = √d_k · C, where row n of C is the structure rolled by n, and whose
 * Y is A V: L = mean((Y − T)²) / 2.
 *
 * Every entry of the keys is ±1 (rows of a Hadamard matrix, repeated), so that K Kᵀ = d_k I, and Q = C K / √d_k. X is
 * that matrix made orthonormal, so that W_Q = Qᵀ X, W_K = Kᵀ X and W_V = Vᵀ X give back Q, K and V. All of it is exact
 * in floating point where √d_k is a power of two.
 */
function layerGradients(keyDim: number, scale: 'sqrt' | 'none', values: Tensor, target: Tensor): GradientNorms {
  const { dtype } = values
  const hadamard = [
    [1, 1, 1, 1],
    [1, -1, 1, -1],
    [1, 1, -1, -1],
    [1, -1, -1, 1],
  ]
  const structure = STRUCTURE.map((_, n) => STRUCTURE.map((_, m) => STRUCTURE.at(m - n) ?? 0))
  const x = tensor(hadamard, { dtype }).scale(0.5)
  const k = tensor(
    hadamard.map((row) => Array.from({ length: keyDim }, (_, i) => row[i % 4] ?? 0)),
    { dtype },
  )
  const q = tensor(structure, { dtype })
    .matmul(k)
    .scale(1 / Math.sqrt(keyDim))
  const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 1, keyDim, valueDim: 4, scale, dtype })
  layer.loadStateDict({
    WQ: q.transpose().matmul(x),
    WK: k.transpose().matmul(x),
    WV: values.transpose().matmul(x),
    WO: eye(4, 4, { dtype }),
  })
  mseLoss(layer.forward(x), target).scale(0.5).backward()
  return { WQ: norm(layer.WQ.grad), WK: norm(layer.WK.grad), WV: norm(layer.WV.grad), WO: norm(layer.WO.grad) }
}
