import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkFlag, checkOptions, requireOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { add } from '../ops/arithmetic.js'
import type { MaskOptions } from '../ops/attention.js'
import { checkProbability } from '../ops/dropout.js'
import { Dropout, GELU } from './activations.js'
import { type AttentionScale, checkRows, MultiHeadAttention } from './attention.js'
import { keepsNothing, type Layer, run } from './layer.js'
import { Module } from './module.js'
import { LayerNorm } from './normalisation.js'
import type { AttentionRotary } from './rotary.js'
import { MLP } from './sequential.js'

/** Options of `TransformerBlock`. */
export interface TransformerBlockOptions {
  /** D, the length of a row of x. */
  readonly embedDim: number
  /** H, the number of heads. */
  readonly numHeads: number
  /** The width of the hidden layer; default 4 D. */
  readonly hiddenDim?: number
  /** Whether rows are normalised before each part (the default) or behind each sum. */
  readonly norm?: 'pre' | 'post'
  /** Within the perceptron: a function, or a module without parameters; default `new GELU()`. */
  readonly activation?: Layer
  /** The probability of dropout of attention weights and behind attention, activation and perceptron; default 0. */
  readonly dropout?: number
  /** Whether attention and perceptron add biases; default true. */
  readonly bias?: boolean
  /** What the attention's scores are multiplied with; default 'sqrt', 1/√d_k. */
  readonly scale?: AttentionScale
  /** Whether the attention turns queries and keys by where their rows stand; see `MultiHeadAttention`. */
  readonly rotary?: AttentionRotary
  /** Of the normalisations; default 1e-5. */
  readonly eps?: number
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * Attention among the rows of x (…, N, D), then a perceptron on each row, both added to what they are given. With
 * `norm: 'pre'`
 *
 *     h = x + attention(norm1(x)),   y = h + mlp(norm2(h))
 *
 * and with `norm: 'post'`
 *
 *     h = norm1(x + attention(x)),   y = norm2(h + mlp(h))
 *
 * While it is trained, `dropout` drops what PyTorch's `TransformerEncoderLayer` drops: attention weights, the outputs of
 * attention and perceptron, and what is within the perceptron behind the activation.
 *
 * Sources: 'post': Vaswani et al., "Attention Is All You Need", arXiv 1706.03762; 'pre': Xiong et al., "On Layer
 * Normalization in the Transformer Architecture", arXiv 2002.04745.
 */
export class TransformerBlock extends Module {
  readonly norm1: LayerNorm
  readonly selfAttention: MultiHeadAttention
  readonly norm2: LayerNorm
  readonly mlp: MLP
  readonly dropout: Dropout
  readonly norm: 'pre' | 'post'

  /** @throws ArgumentError where an option is none of its kinds, or D is not divisible by H */
  constructor(options: TransformerBlockOptions) {
    super()
    const op = 'TransformerBlock'
    requireOptions(op, options, 'embedDim: 32, numHeads: 4')
    const known = [
      'embedDim',
      'numHeads',
      'hiddenDim',
      'norm',
      'activation',
      'dropout',
      'bias',
      'scale',
      'rotary',
      'eps',
      'dtype',
    ]
    checkOptions(op, options, known)
    const { embedDim, numHeads, hiddenDim = 4 * embedDim, norm = 'pre', activation = new GELU() } = options
    const { dropout = 0, bias = true, scale = 'sqrt', rotary = false, eps = 1e-5, dtype = 'float32' } = options
    checkInteger(op, 'embedDim', embedDim, 1)
    checkInteger(op, 'hiddenDim', hiddenDim, 1)
    if (norm !== 'pre' && norm !== 'post') {
      throw new ArgumentError(`${op}: norm must be 'pre' or 'post', got ${showValue(norm)}`)
    }
    checkProbability(op, 'dropout', dropout)
    checkFlag(op, 'bias', bias)
    checkFloating(op, dtype)
    this.norm = norm
    this.norm1 = new LayerNorm(embedDim, { eps, dtype })
    this.selfAttention = new MultiHeadAttention({ embedDim, numHeads, bias, scale, rotary, dropout, dtype })
    this.norm2 = new LayerNorm(embedDim, { eps, dtype })
    this.mlp = new MLP([embedDim, hiddenDim, embedDim], { activation, bias, dropout, dtype })
    this.dropout = new Dropout(dropout)
  }

  /** y (…, N, D) for x (…, N, D). Masks broadcast to (…, H, N, N). */
  forward(x: Tensor, options: MaskOptions = {}): Tensor {
    const { norm1, selfAttention, norm2, mlp, dropout } = this
    checkRows('TransformerBlock', x, selfAttention.embedDim, null)
    const settings = { ...options }
    return composite(() => {
      if (this.norm === 'pre') {
        const h = add(x, run(dropout, run(selfAttention, run(norm1, x), settings)))
        return add(h, run(mlp, run(norm2, h)))
      }
      const h = run(norm1, add(x, run(dropout, run(selfAttention, x, settings))))
      return run(norm2, add(h, run(mlp, h)))
    })
  }

  /**
   * A (…, H, N, N): for each head, row n is how n spreads its attention; nothing is dropped. Masks broadcast to this
   * shape.
   */
  attention(x: Tensor, options: MaskOptions = {}): Tensor {
    checkRows('TransformerBlock', x, this.selfAttention.embedDim, null)
    const rows = this.norm === 'pre' ? this.norm1.forward(x) : x
    return this.selfAttention.attention(rows, options)
  }
}
keepsNothing(TransformerBlock)
keepsNothing(MultiHeadAttention)
