// Attention: the weights, and the weighted values without the weights.
import { checkFloating, type DType, promoteTypes } from '../core/dtype.js'
import { ArgumentError, DTypeError, ShapeError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import { apply, composite, isRecording, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import {
  broadcastShapes,
  broadcastsTo,
  broadcastTogether,
  checkCount,
  type Shape,
  showShape,
  sizeOf,
} from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { tick } from '../memory/arena.js'
import { checkTensor } from './arguments.js'
import { add, scale } from './arithmetic.js'
import {
  type AttentionDropout,
  type AttentionSettings,
  attentionBackward,
  attentionForward,
} from './attention-kernels.js'
import { eq } from './comparison.js'
import { to } from './convert.js'
import { tensor } from './creation.js'
import { checkProbability, dropout } from './dropout.js'
import { matmul } from './matmul.js'
import { draw, getGeneratorState, withGenerator } from './random.js'
import { where } from './select.js'
import { softmax, softmaxBackward } from './softmax.js'
import { sumTo } from './sum.js'
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

const NAME = 'scaledDotProductAttention'

/** What makes scores of q and k, checked. */
interface Scores {
  readonly factor: number
  readonly mask: Tensor | null
  readonly causal: boolean
  /** (…, queries, keys) */
  readonly shape: Shape
}

/** Checks all that the scores are made of. Options are read here, once. */
function checkScores(q: Tensor, k: Tensor, options: AttentionOptions): Scores {
  checkTensor(NAME, q, 'q')
  checkTensor(NAME, k, 'k')
  checkFloating(NAME, promoteTypes(q.dtype, k.dtype))
  const keyDim = q.shape[q.ndim - 1] as number
  if (q.ndim < 2 || k.ndim < 2 || keyDim !== k.shape[k.ndim - 1]) {
    throw new ShapeError(
      `${NAME}: q ${showShape(q.shape)} and k ${showShape(k.shape)} must be (…, queries, d_k) and (…, keys, d_k) with the same d_k`,
    )
  }
  const { scale: factor = 1 / Math.sqrt(Math.max(1, keyDim)), mask, causal = false } = options
  if (typeof factor !== 'number') throw new ArgumentError(`${NAME}: scale must be a number, got ${typeof factor}`)
  checkCount(NAME, q.shape)
  checkCount(NAME, k.shape)
  const batch = batchWith('k', k, q, q.shape.slice(0, -2))
  const shape = [...batch, q.shape[q.ndim - 2] as number, k.shape[k.ndim - 2] as number]
  if (mask !== undefined) checkMask(mask, shape)
  if (typeof causal !== 'boolean') {
    throw new ArgumentError(`${NAME}: causal must be true or false, got ${String(causal)}`)
  }
  return { factor, mask: mask ?? null, causal, shape }
}

/** What the axes before the last two of an operand, and those that q has brought so far, broadcast to. */
function batchWith(name: string, x: Tensor, q: Tensor, batch: Shape): Shape {
  const own = x.shape.slice(0, -2)
  if (broadcastTogether(batch, own)) return broadcastShapes(NAME, batch, own)
  throw new ShapeError(
    `${NAME}: the axes before the last two of q ${showShape(q.shape)} and ${name} ${showShape(x.shape)} do not broadcast; aligned at the end, they must be equal or 1`,
  )
}

function checkMask(mask: Tensor, scores: Shape): void {
  checkTensor(NAME, mask, 'the mask')
  if (!broadcastsTo(mask.shape, scores)) {
    throw new ShapeError(
      `${NAME}: a mask of shape ${showShape(mask.shape)} does not broadcast to the scores ${showShape(scores)}`,
    )
  }
  if (mask.dtype === 'int32') {
    throw new DTypeError(`${NAME}: a mask is bool (true = allowed) or floating (added), got int32`)
  }
}

/**
 * How each query spreads its attention over the keys: `A = softmax(scale · Q Kᵀ + mask)`, row by row.
 *
 * @param q (…, queries, d_k)
 * @param k (…, keys, d_k)
 * @returns (…, queries, keys); rows sum to 1, fully masked rows are 0
 */
export function attentionWeights(q: Tensor, k: Tensor, options: AttentionOptions = {}): Tensor {
  checkOptions(NAME, options, ['mask', 'causal', 'scale'])
  const scores = checkScores(q, k, options)
  return composite(() => weightsOf(q, k, scores))
}

function weightsOf(q: Tensor, k: Tensor, { factor, mask, causal }: Omit<Scores, 'shape'>): Tensor {
  let scores = scale(matmul(q, transpose(k)), factor)
  // What is not allowed stays so whatever the score, also where that is NaN.
  if (mask?.dtype === 'bool') scores = where(mask, scores, Number.NEGATIVE_INFINITY)
  else if (mask !== null) {
    scores = where(eq(mask, Number.NEGATIVE_INFINITY), Number.NEGATIVE_INFINITY, add(scores, mask))
  }
  if (causal) {
    const [queries, keys] = scores.shape.slice(-2) as [number, number]
    scores = where(causalMask(queries, keys), scores, Number.NEGATIVE_INFINITY)
  }
  return softmax(scores)
}

/** True where key ≤ query. */
function causalMask(queries: number, keys: number): Tensor {
  const allowed = new Uint8Array(queries * keys)
  for (let n = 0; n < queries; n++) allowed.fill(1, n * keys, n * keys + Math.min(n + 1, keys))
  return tensor(allowed, { shape: [queries, keys], dtype: 'bool' })
}

/**
 * `softmax(scale · Q Kᵀ + mask) V`, with batches and heads in the leading axes, which broadcast. The weights are never
 * in memory as a whole, neither here nor in the backward sweep, which computes them again from two numbers that are
 * kept of each query. Higher derivatives, forward mode, and the gradient of a float mask do form them.
 *
 * Derivatives, with the weights A, `dA = g Vᵀ` and `dS = A ⊙ (dA − ⟨dA, A⟩)`: `scale · dS K` towards q,
 * `scale · dSᵀ Q` towards k, `Aᵀ g` towards v, `dS` towards a float mask.
 *
 * Sources: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762; T. Dao et al., "FlashAttention: Fast and
 * Memory-Efficient Exact Attention with IO-Awareness", arXiv 2205.14135.
 *
 * @param q (…, queries, d_k)
 * @param k (…, keys, d_k)
 * @param v (…, keys, d_v)
 * @returns (…, queries, d_v); queries that may see nothing get 0
 * @throws ShapeError where operands or mask do not fit; DTypeError where q, k or v are not floating, or for an int32
 *   mask; ArgumentError for an option
 */
export function scaledDotProductAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: DotProductAttentionOptions = {},
): Tensor {
  checkOptions(NAME, options, ['mask', 'causal', 'scale', 'dropout'])
  checkTensor(NAME, q, 'q')
  checkTensor(NAME, k, 'k')
  checkTensor(NAME, v, 'v')
  if (v.ndim < 2 || v.shape[v.ndim - 2] !== k.shape[k.ndim - 2]) {
    throw new ShapeError(
      `${NAME}: k ${showShape(k.shape)} and v ${showShape(v.shape)} must have the same number of keys`,
    )
  }
  checkCount(NAME, v.shape)
  const { dropout: p = 0 } = options
  checkProbability(NAME, 'dropout', p)
  const scores = checkScores(q, k, options)
  const batch = batchWith('v', v, q, scores.shape.slice(0, -2))
  if (!isFused(q, v, scores, batch, p)) {
    return composite(() => {
      const weights = weightsOf(q, k, scores)
      return matmul(p === 0 ? weights : dropout(weights, { p }), v)
    })
  }
  const { mask } = scores
  const kind = promoteTypes(promoteTypes(q.dtype, k.dtype), v.dtype)
  const dtype = mask === null ? kind : promoteTypes(kind, mask.dtype)
  if (q.dtype === dtype && k.dtype === dtype && v.dtype === dtype && (mask === null || isLike(mask, dtype))) {
    return fused(q, k, v, mask, scores, batch, p)
  }
  return composite(() => {
    const bias = mask === null || isLike(mask, dtype) ? mask : to(mask, dtype)
    return fused(to(q, dtype), to(k, dtype), to(v, dtype), bias, scores, batch, p)
  })
}

/** Whether the kernels take a mask beside operands of this dtype. */
function isLike(mask: Tensor, dtype: DType): boolean {
  return mask.dtype === 'bool' || mask.dtype === dtype
}

/** Queries up to this many are vectors to the matrix product, which then is faster than tiles. */
const FEW_QUERIES = 2

/** The kernels multiply an operand with the scale, not the scores: up to this, so that the operand does not overflow. */
const LARGEST_FACTOR = 2 ** 64

/** Whether the kernels are to be used: nothing is empty, and nothing better is known. */
function isFused(q: Tensor, v: Tensor, { shape, mask, causal, factor }: Scores, batch: Shape, p: number): boolean {
  if (!(Math.abs(factor) <= LARGEST_FACTOR)) return false
  const queries = shape[shape.length - 2] as number
  if (queries <= FEW_QUERIES && mask === null && !causal && p === 0) return false
  const [keyDim, valueDim] = [q.shape[q.ndim - 1] as number, v.shape[v.ndim - 1] as number]
  return sizeOf(batch) > 0 && sizeOf(shape) > 0 && keyDim > 0 && valueDim > 0
}

function fused(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  mask: Tensor | null,
  { factor, causal, shape }: Scores,
  batch: Shape,
  p: number,
): Tensor {
  const drops = p === 0 ? null : { p, generator: getGeneratorState() }
  if (drops !== null) draw(Math.ceil(sizeOf(shape) / 4))
  const settings = { scoresBatch: shape.slice(0, -2), batch, factor, causal, dropout: drops, statistics: null }
  return apply(attentionOperation, mask === null ? [q, k, v] : [q, k, v, mask], settings)
}

interface FusedAttention extends AttentionSettings {
  /** What the forward pass keeps of each row of scores. */
  statistics: Tensor | null
}

const attentionOperation: Operation<FusedAttention> = {
  name: NAME,
  forward: ([q, k, v, mask = null], call) => {
    const { y, statistics } = attentionForward({ q: q as Tensor, k: k as Tensor, v: v as Tensor, mask }, call)
    call.statistics = statistics
    return y
  },
  derivatives: {
    keeps: ({ statistics }) => (statistics === null ? [] : [statistics]),
    joint: (g, call) => {
      const { attributes, parents } = call
      const [q, k, v] = [call.input(0), call.input(1), call.input(2)]
      const mask = parents.length > 3 ? call.input(3) : null
      const values = mask === null ? [g, q, k, v] : [g, q, k, v, mask]
      if (isRecording() || (parents[3] ?? null) !== null || values.some(isInForwardPass)) return productsOf(g, call)
      tick()
      const wanted = { q: parents[0] !== null, k: parents[1] !== null, v: parents[2] !== null }
      const forward = { y: call.output, statistics: call.input(parents.length) }
      const products = attentionBackward(g, { q, k, v, mask }, forward, attributes, wanted)
      return [
        products.q && sumTo(products.q, q.shape),
        products.k && sumTo(products.k, k.shape),
        products.v && sumTo(products.v, v.shape),
      ]
    },
  },
}

/** Whether a forward pass goes through a tensor. */
function isInForwardPass({ tangents }: Tensor): boolean {
  return tangents !== null && tangents.size > 0
}

/** The products towards all inputs, made of operations that have derivatives of their own. */
function productsOf(g: Tensor, call: TapeNode<FusedAttention>): readonly (Tensor | null)[] {
  const { factor, causal, dropout } = call.attributes
  const [q, k, v] = [call.input(0), call.input(1), call.input(2)]
  const mask = call.parents.length > 3 ? call.input(3) : null
  const a = weightsOf(q, k, { factor, mask, causal })
  const dropped = sumTo(matmul(g, transpose(v)), a.shape)
  const scores = softmaxBackward(dropAgain(dropped, dropout), a)
  const products = scale(scores, factor)
  return [
    sumTo(matmul(products, k), q.shape),
    sumTo(matmul(transpose(products), q), k.shape),
    sumTo(matmul(transpose(dropAgain(a, dropout)), g), v.shape),
    mask === null || mask.dtype === 'bool' ? null : sumTo(scores, mask.shape),
  ]
}

/** Weights or their cotangents without those that the forward pass dropped. */
function dropAgain(x: Tensor, drops: AttentionDropout | null): Tensor {
  return drops === null ? x : withGenerator(drops.generator, () => dropout(x, { p: drops.p }))
}
