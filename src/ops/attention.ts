import { checkFloating, promoteTypes } from '../core/dtype.js'
import { ArgumentError, DTypeError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { broadcastsTo, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { add, scale } from './arithmetic.js'
import { tensor } from './creation.js'
import { dropout } from './dropout.js'
import { matmul } from './matmul.js'
import { where } from './select.js'
import { softmax } from './softmax.js'
import { transpose } from './views.js'

/** Which keys a query may attend to. */
export interface MaskOptions {
  /** bool: true where attention is allowed; floating: added to the scores. Broadcasts to (…, queries, keys). */
  readonly mask?: Tensor | undefined
  /** Whether query n sees only keys m ≤ n. */
  readonly causal?: boolean | undefined
}

/** Options of `attentionWeights`. */
export interface AttentionOptions extends MaskOptions {
  /** What the scores are multiplied with; 1/√d_k by default. */
  readonly scale?: number | undefined
}

/** Options of `scaledDotProductAttention`. */
export interface DotProductAttentionOptions extends AttentionOptions {
  /** The probability with which each attention weight is dropped (see `dropout`); 0 by default. */
  readonly dropout?: number | undefined
}

/**
 * How each query spreads its attention over the keys: `A = softmax(scale · Q Kᵀ + mask)`, row by row.
 *
 * @param q (…, queries, d_k)
 * @param k (…, keys, d_k)
 * @returns (…, queries, keys); rows sum to 1, fully masked rows are 0
 */
export function attentionWeights(q: Tensor, k: Tensor, options: AttentionOptions = {}): Tensor {
  checkOptions('scaledDotProductAttention', options, ['mask', 'causal', 'scale'])
  checkTensor('scaledDotProductAttention', q, 'q')
  checkTensor('scaledDotProductAttention', k, 'k')
  checkFloating('scaledDotProductAttention', promoteTypes(q.dtype, k.dtype))
  const keyDim = q.shape[q.ndim - 1]
  if (q.ndim < 2 || k.ndim < 2 || keyDim !== k.shape[k.ndim - 1]) {
    throw new ShapeError(
      `scaledDotProductAttention: q ${showShape(q.shape)} and k ${showShape(k.shape)} must be (…, queries, d_k) and (…, keys, d_k) with the same d_k`,
    )
  }
  const { scale: factor = 1 / Math.sqrt(Math.max(1, keyDim as number)) } = options
  if (typeof factor !== 'number') {
    throw new ArgumentError(`scaledDotProductAttention: scale must be a number, got ${typeof factor}`)
  }
  // Read before the scope opens: an option may be a getter of the user's, whose tensors are not the library's to free.
  const { mask, causal } = options
  return composite(() => softmax(masked(scale(matmul(q, transpose(k)), factor), { mask, causal })))
}

/**
 * `softmax(scale · Q Kᵀ + mask) V`, with batches and heads in the leading axes, which broadcast.
 *
 * Source: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762.
 *
 * @param q (…, queries, d_k)
 * @param k (…, keys, d_k)
 * @param v (…, keys, d_v)
 * @returns (…, queries, d_v); queries that may see nothing get 0
 */
export function scaledDotProductAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: DotProductAttentionOptions = {},
): Tensor {
  checkOptions('scaledDotProductAttention', options, ['mask', 'causal', 'scale', 'dropout'])
  checkTensor('scaledDotProductAttention', q, 'q')
  checkTensor('scaledDotProductAttention', k, 'k')
  checkTensor('scaledDotProductAttention', v, 'v')
  if (v.ndim < 2 || v.shape[v.ndim - 2] !== k.shape[k.ndim - 2]) {
    throw new ShapeError(
      `scaledDotProductAttention: k ${showShape(k.shape)} and v ${showShape(v.shape)} must have the same number of keys`,
    )
  }
  const { dropout: p = 0, ...settings } = options
  return composite(() => {
    const weights = attentionWeights(q, k, settings)
    return matmul(p === 0 ? weights : dropout(weights, { p }), v)
  })
}

/** The scores with −∞ where attention is not allowed, or with the float mask added. */
function masked(scores: Tensor, { mask, causal = false }: MaskOptions): Tensor {
  let result = scores
  if (mask !== undefined) {
    checkTensor('scaledDotProductAttention', mask, 'the mask')
    if (!broadcastsTo(mask.shape, scores.shape)) {
      throw new ShapeError(
        `scaledDotProductAttention: a mask of shape ${showShape(mask.shape)} does not broadcast to the scores ${showShape(scores.shape)}`,
      )
    }
    if (mask.dtype === 'int32') {
      throw new DTypeError('scaledDotProductAttention: a mask is bool (true = allowed) or floating (added), got int32')
    }
    result = mask.dtype === 'bool' ? where(mask, result, Number.NEGATIVE_INFINITY) : add(result, mask)
  }
  if (typeof causal !== 'boolean') {
    throw new ArgumentError(`scaledDotProductAttention: causal must be true or false, got ${String(causal)}`)
  }
  if (causal) {
    const [queries, keys] = scores.shape.slice(-2) as [number, number]
    result = where(causalMask(queries, keys), result, Number.NEGATIVE_INFINITY)
  }
  return result
}

/** True where key ≤ query. */
function causalMask(queries: number, keys: number): Tensor {
  const allowed = Uint8Array.from({ length: queries * keys }, (_, i) => Number(i % keys <= Math.floor(i / keys)))
  return tensor(allowed, { shape: [queries, keys], dtype: 'bool' })
}
