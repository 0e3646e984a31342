import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, IndexError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkFlag, checkOptions, requireOptions } from '../core/options.js'
import { checkInteger, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import {
  type AttentionOptions,
  attentionWeights,
  type MaskOptions,
  scaledDotProductAttention,
} from '../ops/attention.js'
import { zeros } from '../ops/creation.js'
import { checkProbability } from '../ops/dropout.js'
import { slice } from '../ops/joining.js'
import { linear, matmul } from '../ops/matmul.js'
import { reshape, transpose } from '../ops/views.js'
import { glorotUniform } from './initialisation.js'
import { Module } from './module.js'
import { Parameter } from './parameter.js'
import { type AttentionRotary, type Rotation, rotationOf } from './rotary.js'

/** What scores are multiplied with: 1/√d_k, nothing (1), or a number. */
export type AttentionScale = 'sqrt' | 'none' | number

function scaleFactor(op: string, scale: AttentionScale, keyDim: number): number {
  if (scale === 'sqrt') return 1 / Math.sqrt(keyDim)
  if (scale === 'none') return 1
  if (typeof scale === 'number' && Number.isFinite(scale)) return scale
  throw new ArgumentError(`${op}: scale must be 'sqrt', 'none' or a finite number, got ${String(scale)}`)
}

/** Options of `SelfAttention`. */
export interface SelfAttentionOptions {
  /** D, the length of a row of X. */
  readonly inputDim: number
  /** d_k, the length of queries and keys; default D. */
  readonly keyDim?: number
  /** d_v, the length of values; default d_k. */
  readonly valueDim?: number
  /** What the scores S = Q Kᵀ are multiplied with; default 'sqrt', 1/√d_k. */
  readonly scale?: AttentionScale
  /**
   * Whether queries and keys are turned by where their rows stand: true for `rotary`, { rows, columns } for `rotary2d` in
   * a grid; default false. Scores then depend on distances, and nothing is to be added to X.
   */
  readonly rotary?: AttentionRotary
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

// Parameters and options are read before a scope opens: either may be a getter of the user's, whose tensors are not the
// library's to free.

/**
 * One head of self-attention over the rows of X (…, N, D):
 *
 *     Q = X W_Qᵀ,  K = X W_Kᵀ,  V = X W_Vᵀ,  A = softmax(scale · Q Kᵀ),  Y = A V
 *
 * W_Q and W_K are d_k × D, W_V is d_v × D, Y is (…, N, d_v). With `rotary`, Q and K are turned before their product.
 *
 * Source: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762.
 */
export class SelfAttention extends Module {
  readonly WQ: Parameter
  readonly WK: Parameter
  readonly WV: Parameter
  readonly inputDim: number
  readonly keyDim: number
  readonly valueDim: number
  /** The number that the scores are multiplied with. */
  readonly scale: number
  readonly #rotation: Rotation | null

  /**
   * @throws ArgumentError where a dimension is no whole number of at least 1, the scale or the rotary positions are none
   *   of their kinds, or keyDim is not divisible by 2 for rotary positions, by 4 for those in a grid
   */
  constructor(options: SelfAttentionOptions) {
    super()
    requireOptions('SelfAttention', options, 'inputDim: 32')
    checkOptions('SelfAttention', options, ['inputDim', 'keyDim', 'valueDim', 'scale', 'rotary', 'dtype'])
    const { inputDim, keyDim = inputDim, valueDim = keyDim, scale = 'sqrt', rotary = false } = options
    const { dtype = 'float32' } = options
    for (const [name, size] of Object.entries({ inputDim, keyDim, valueDim }))
      checkInteger('SelfAttention', name, size, 1)
    this.inputDim = inputDim
    this.keyDim = keyDim
    this.valueDim = valueDim
    this.scale = scaleFactor('SelfAttention', scale, keyDim)
    this.#rotation = rotationOf('SelfAttention', rotary, keyDim)
    checkFloating('SelfAttention', dtype)
    this.WQ = glorotUniform(keyDim, inputDim, dtype)
    this.WK = glorotUniform(keyDim, inputDim, dtype)
    this.WV = glorotUniform(valueDim, inputDim, dtype)
  }

  /** Y (…, N, d_v) for X (…, N, D). */
  forward(x: Tensor, options: MaskOptions = {}): Tensor {
    const { WQ, WK, WV } = this
    const settings = this.#settings(x, options)
    return composite(() => scaledDotProductAttention(this.#turned(x, WQ), this.#turned(x, WK), linear(x, WV), settings))
  }

  /** A (…, N, N): row n is how n spreads its attention. */
  attention(x: Tensor, options: MaskOptions = {}): Tensor {
    const { WQ, WK } = this
    const settings = this.#settings(x, options)
    return composite(() => attentionWeights(this.#turned(x, WQ), this.#turned(x, WK), settings))
  }

  #turned(x: Tensor, weight: Tensor): Tensor {
    const y = linear(x, weight)
    return this.#rotation === null ? y : this.#rotation.turn(y)
  }

  #settings(x: Tensor, options: MaskOptions): AttentionOptions {
    checkRows('SelfAttention', x, this.inputDim, this.#rotation)
    checkOptions('SelfAttention', options, MASK_OPTIONS)
    return { mask: options.mask, causal: options.causal, scale: this.scale }
  }

  /** The bilinear form M = W_Qᵀ W_K (D × D), with which (without rotary positions) S = X M Xᵀ. */
  bilinearForm(): Tensor {
    const { WQ, WK } = this
    return composite(() => matmul(transpose(WQ), WK))
  }
}

/** Options of `MultiHeadAttention`. */
export interface MultiHeadAttentionOptions {
  /** D, the length of a row of X and of Y. */
  readonly embedDim: number
  /** H, the number of heads. */
  readonly numHeads: number
  /** d_k of each head; default D / H. */
  readonly keyDim?: number
  /** d_v of each head; default D / H. */
  readonly valueDim?: number
  /** What the scores S = Q Kᵀ are multiplied with; default 'sqrt', 1/√d_k. */
  readonly scale?: AttentionScale
  /**
   * Whether queries and keys are turned by where their rows stand: true for `rotary`, { rows, columns } for `rotary2d` in
   * a grid; default false. Scores then depend on distances, and nothing is to be added to X.
   */
  readonly rotary?: AttentionRotary
  /** The probability with which each attention weight is dropped while the layer is trained; default 0. */
  readonly dropout?: number
  /** Whether the four projections add a bias (zeros at first); default false. */
  readonly bias?: boolean
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * Multi-head self-attention over the rows of X (…, N, D). For each head h, with its rows of W_Q, W_K (d_k × D) and W_V
 * (d_v × D):
 *
 *     Q = X W_Qᵀ,  K = X W_Kᵀ,  V = X W_Vᵀ,  A = softmax(scale · Q Kᵀ),  Y⁽ʰ⁾ = A V
 *
 * then Y = concat(Y⁽¹⁾, …, Y⁽ᴴ⁾) W_Oᵀ, the heads side by side. The heads' weights are stacked by rows, head 1 first: WQ
 * and WK are (H·d_k) × D, WV is (H·d_v) × D, WO is D × (H·d_v). With `rotary`, each head's Q and K are turned before
 * their product.
 *
 * Source: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762.
 */
export class MultiHeadAttention extends Module {
  readonly WQ: Parameter
  readonly WK: Parameter
  readonly WV: Parameter
  readonly WO: Parameter
  /** Biases of the projections, (H·d_k), (H·d_k), (H·d_v) and D; null without. */
  readonly bQ: Parameter | null
  readonly bK: Parameter | null
  readonly bV: Parameter | null
  readonly bO: Parameter | null
  readonly embedDim: number
  readonly numHeads: number
  readonly keyDim: number
  readonly valueDim: number
  /** The number that the scores are multiplied with. */
  readonly scale: number
  /** Whether queries and keys are turned. */
  readonly isRotary: boolean
  /** The probability with which each attention weight is dropped in training. */
  readonly dropout: number
  readonly #rotation: Rotation | null

  /**
   * @throws ArgumentError where a dimension is no whole number of at least 1, where D is not divisible by H and not
   *   both keyDim and valueDim are given, where the scale, the rotary positions or the dropout are none of their kinds,
   *   or where keyDim is not divisible by 2 for rotary positions, by 4 for those in a grid
   */
  constructor(options: MultiHeadAttentionOptions) {
    super()
    const op = 'MultiHeadAttention'
    requireOptions(op, options, 'embedDim: 32, numHeads: 4')
    const known = ['embedDim', 'numHeads', 'keyDim', 'valueDim', 'scale', 'rotary', 'dropout', 'bias', 'dtype']
    checkOptions(op, options, known)
    const { embedDim, numHeads, scale = 'sqrt', rotary = false, dropout = 0, bias = false, dtype = 'float32' } = options
    checkInteger(op, 'embedDim', embedDim, 1)
    checkInteger(op, 'numHeads', numHeads, 1)
    if (embedDim % numHeads !== 0 && (options.keyDim === undefined || options.valueDim === undefined)) {
      throw new ArgumentError(
        `${op}: embedDim ${embedDim} is not divisible by numHeads ${numHeads}; give both keyDim and valueDim, or other numbers`,
      )
    }
    const { keyDim = embedDim / numHeads, valueDim = embedDim / numHeads } = options
    checkInteger(op, 'keyDim', keyDim, 1)
    checkInteger(op, 'valueDim', valueDim, 1)
    this.embedDim = embedDim
    this.numHeads = numHeads
    this.keyDim = keyDim
    this.valueDim = valueDim
    this.scale = scaleFactor(op, scale, keyDim)
    this.#rotation = rotationOf(op, rotary, keyDim)
    this.isRotary = this.#rotation !== null
    checkProbability(op, 'dropout', dropout)
    this.dropout = dropout
    checkFlag(op, 'bias', bias)
    checkFloating(op, dtype)
    this.WQ = glorotUniform(numHeads * keyDim, embedDim, dtype)
    this.WK = glorotUniform(numHeads * keyDim, embedDim, dtype)
    this.WV = glorotUniform(numHeads * valueDim, embedDim, dtype)
    this.WO = glorotUniform(embedDim, numHeads * valueDim, dtype)
    const biasOf = (size: number) => (bias ? new Parameter(zeros([size], { dtype })) : null)
    this.bQ = biasOf(numHeads * keyDim)
    this.bK = biasOf(numHeads * keyDim)
    this.bV = biasOf(numHeads * valueDim)
    this.bO = biasOf(embedDim)
  }

  /** Y (…, N, D) for X (…, N, D). Masks broadcast to (…, H, N, N). */
  forward(x: Tensor, options: MaskOptions = {}): Tensor {
    const { WQ, WK, WV, WO, bQ, bK, bV, bO } = this
    const { mask, causal, scale } = this.#settings(x, options)
    const settings = { mask, causal, scale, dropout: this.training ? this.dropout : 0 }
    return composite(() => {
      const [q, k, v] = [this.#turned(x, WQ, bQ), this.#turned(x, WK, bK), this.#heads(x, WV, bV)]
      return linear(joinHeads(scaledDotProductAttention(q, k, v, settings)), WO, bO ?? undefined)
    })
  }

  /**
   * A (…, H, N, N): for each head, row n is how n spreads its attention; nothing is dropped. Masks broadcast to this
   * shape.
   */
  attention(x: Tensor, options: MaskOptions = {}): Tensor {
    const { WQ, WK, bQ, bK } = this
    const settings = this.#settings(x, options)
    return composite(() => attentionWeights(this.#turned(x, WQ, bQ), this.#turned(x, WK, bK), settings))
  }

  #settings(x: Tensor, options: MaskOptions): AttentionOptions {
    checkRows('MultiHeadAttention', x, this.embedDim, this.#rotation)
    checkOptions('MultiHeadAttention', options, MASK_OPTIONS)
    return { mask: options.mask, causal: options.causal, scale: this.scale }
  }

  /**
   * The weights of one head (counted from 0; negative from the end), differentiable parts of the stacked ones: WQ and
   * WK are d_k × D, WV is d_v × D, WO is D × d_v.
   */
  head(index: number): { WQ: Tensor; WK: Tensor; WV: Tensor; WO: Tensor } {
    const h = this.#headIndex(index)
    return {
      WQ: this.#rows(this.WQ, h, this.keyDim),
      WK: this.#rows(this.WK, h, this.keyDim),
      WV: this.#rows(this.WV, h, this.valueDim),
      WO: slice(this.WO, [0, h * this.valueDim], [this.embedDim, (h + 1) * this.valueDim]),
    }
  }

  #headIndex(index: number): number {
    if (!Number.isInteger(index) || index < -this.numHeads || index >= this.numHeads) {
      throw new IndexError(
        `MultiHeadAttention: there is no head ${String(index)}; heads are ${-this.numHeads} to ${this.numHeads - 1}`,
      )
    }
    return index < 0 ? index + this.numHeads : index
  }

  /** The rows of a stacked weight that belong to a head. */
  #rows(weight: Tensor, head: number, size: number): Tensor {
    return slice(weight, head * size, (head + 1) * size)
  }

  /**
   * The bilinear form M = W_Q⁽ʰ⁾ᵀ W_K⁽ʰ⁾ (D × D) of one head, with which (without biases and rotary positions)
   * S = X M Xᵀ.
   */
  bilinearForm(index: number): Tensor {
    const { WQ, WK } = this
    const h = this.#headIndex(index)
    return composite(() => matmul(transpose(this.#rows(WQ, h, this.keyDim)), this.#rows(WK, h, this.keyDim)))
  }

  /** Queries or keys by head, turned where the layer does so. */
  #turned(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
    const y = this.#heads(x, weight, bias)
    return this.#rotation === null ? y : this.#rotation.turn(y)
  }

  /** A projection of X to (…, N, H·d), as (…, H, N, d): a view. */
  #heads(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
    const y = linear(x, weight, bias ?? undefined)
    const batch = y.shape.slice(0, -2)
    const [rows, width] = y.shape.slice(-2) as [number, number]
    return transpose(reshape(y, [...batch, rows, this.numHeads, width / this.numHeads]), -3, -2)
  }
}

/** (…, H, N, d) as (…, N, H·d), the heads side by side: a view where they lie so already. */
function joinHeads(y: Tensor): Tensor {
  const [heads, rows, width] = y.shape.slice(-3) as [number, number, number]
  return reshape(transpose(y, -3, -2), [...y.shape.slice(0, -3), rows, heads * width])
}

const MASK_OPTIONS = ['mask', 'causal']

/** Throws unless x is (…, N, dim), with N the places of the grid where there is one. */
export function checkRows(op: string, x: Tensor, dim: number, rotation: Rotation | null): void {
  checkTensor(op, x)
  if (x.ndim < 2 || x.shape[x.ndim - 1] !== dim) {
    throw new ShapeError(`${op}: the input must be (…, N, ${dim}), rows of length ${dim}, got ${showShape(x.shape)}`)
  }
  const grid = rotation?.grid ?? null
  if (grid !== null && x.shape[x.ndim - 2] !== grid[0] * grid[1]) {
    throw new ShapeError(
      `${op}: the rotary positions are those of a grid of ${grid[0]} × ${grid[1]} places, but the input ${showShape(x.shape)} has ${x.shape[x.ndim - 2]} rows`,
    )
  }
}
