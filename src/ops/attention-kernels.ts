// How attention's kernels are called: the call block, the places of a batch's matrices, and scratch memory.
import { empty } from '../core/contiguous.js'
import { bytesOf, suffixOf } from '../core/dtype.js'
import { contiguousStrides, type Shape, sizeOf } from '../core/shape.js'
import { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { newStorage } from '../memory/scope.js'
import { KernelFamily } from '../runtime/kernels.js'
import { getThreads, inPieces, isShared } from '../runtime/threads.js'
import type { GeneratorState } from './random.js'
import { simplify } from './views.js'

const forwardKernel = new KernelFamily('attention')
const backwardKernel = new KernelFamily('attentionBackward')
const workspaceBytes = new KernelFamily('attentionWorkspace')

/** Weights that are dropped: with which probability, and where the generator stood when they were drawn. */
export interface AttentionDropout {
  readonly p: number
  readonly generator: GeneratorState
}

/** What a fused attention is told beside its operands. */
export interface AttentionSettings {
  /** The axes before the last two of the scores, and of the result (where V has more). */
  readonly scoresBatch: Shape
  readonly batch: Shape
  readonly factor: number
  readonly causal: boolean
  readonly dropout: AttentionDropout | null
}

/** The operands: all of one floating dtype, none empty; the mask may be bool. */
export interface AttentionOperands {
  readonly q: Tensor
  readonly k: Tensor
  readonly v: Tensor
  readonly mask: Tensor | null
}

/** Y, and the two numbers of each row of scores that the backward pass needs. */
export interface AttentionResult {
  readonly y: Tensor
  readonly statistics: Tensor
}

/** The products with the Jacobians towards operands, over the whole batch; null where not wanted. */
export interface AttentionProducts {
  readonly q: Tensor | null
  readonly k: Tensor | null
  readonly v: Tensor | null
}

const BLOCK_WORDS = 44
const OFFSET_WORDS = 10
/** Where the addresses of the products begin, and how far they are apart. */
const PRODUCTS = 35
const OPERAND_WORDS = 3

/** Rows without gaps, with the other axes in the order in which `model` has them: heads stay views of one matrix. */
function emptyLike(model: Tensor, batch: Shape, rows: number, columns: number): Tensor {
  const shape = [...batch, rows, columns]
  const lead = shape.length - model.ndim
  if (model.strides === null && lead === 0) return empty(model.dtype, shape)
  const own = model.strides ?? contiguousStrides(model.shape)
  // How far the model goes along an axis; axes that it does not have, or repeats, are the outermost.
  const step = (axis: number) => own[axis - lead] || Number.POSITIVE_INFINITY
  const strides = new Array<number>(shape.length).fill(columns)
  strides[shape.length - 1] = 1
  for (let axis = 0; axis < shape.length - 1; axis++) {
    for (let other = 0; other < shape.length - 1; other++) {
      const isInside = step(other) < step(axis) || (step(other) === step(axis) && other > axis)
      if (isInside) strides[axis] = (strides[axis] as number) * (shape[other] as number)
    }
  }
  return new Tensor(newStorage(model.dtype, sizeOf(shape)), shape, simplify(shape, strides))
}

/** Who takes part in a pass. */
interface Participants {
  readonly operands: AttentionOperands
  readonly result: AttentionResult
  /** The cotangent of the result, and what is made of it; null in the forward pass. */
  readonly cotangent: Tensor | null
  readonly products: AttentionProducts
}

/** Nanoseconds for a term of a product and for a weight, for each byte of a number, roughly. */
const NANOSECONDS_PER_TERM = 0.01
const NANOSECONDS_PER_WEIGHT = 0.4

/** The call block of the kernels: their `Attention`, and `Offsets` for every position of the batch. */
class CallBlock {
  readonly address: number
  /** Scratch memory for each thread that takes part. */
  readonly workspace: number
  readonly workspaceSize: number
  readonly positions: number
  readonly queries: number
  readonly keys: number
  /** Nanoseconds of work, roughly, and whether threads are to share it. */
  readonly nanoseconds: number
  readonly isShared: boolean
  /** Of the next operand: where its address and strides go, and its offset at the first position. */
  private at: number
  private offsetAt: number

  constructor({ operands, result, cotangent, products }: Participants, settings: AttentionSettings) {
    const { q, k, v, mask } = operands
    const { batch, dropout } = settings
    const queries = q.shape[q.ndim - 2] as number
    const keyDim = q.shape[q.ndim - 1] as number
    const keys = v.shape[v.ndim - 2] as number
    const valueDim = v.shape[v.ndim - 1] as number
    this.queries = queries
    this.keys = keys
    this.positions = sizeOf(batch)
    // Backward, the weights are computed again, and there are four products more.
    const terms = (keyDim + valueDim) * (cotangent === null ? 1 : 2.5)
    const perWeight = bytesOf(q.dtype) * (NANOSECONDS_PER_TERM * terms + NANOSECONDS_PER_WEIGHT)
    this.nanoseconds = this.positions * queries * keys * perWeight
    this.isShared = isShared(this.nanoseconds)
    this.workspaceSize = workspaceBytes.get(suffixOf(q.dtype))(queries, keys, keyDim, valueDim)
    const workspaces = (this.isShared ? getThreads() : 1) * this.workspaceSize
    const scratch = newStorage('float64', (workspaces + 4 * (BLOCK_WORDS + OFFSET_WORDS * this.positions)) / 8)
    this.workspace = addressOf(scratch)
    this.address = this.workspace + workspaces
    const statistics = addressOf(result.statistics.storage)
    const { int32: words, float32, float64 } = heap
    let at = this.address >>> 2
    words[at++] = queries
    words[at++] = keys
    words[at++] = keyDim
    words[at++] = valueDim
    words[at++] = settings.causal ? 1 : 0
    words[at++] = mask === null ? 0 : mask.dtype === 'bool' ? 1 : 2
    float64[at >>> 1] = settings.factor
    float64[(at >>> 1) + 1] = dropout === null || dropout.p === 1 ? 1 : 1 / (1 - dropout.p)
    at += 4
    float32[at++] = dropout === null ? 0 : dropout.p
    words[at++] = dropout === null ? 0 : dropout.generator.seedLow
    words[at++] = dropout === null ? 0 : dropout.generator.seedHigh
    words[at++] = dropout === null ? 0 : dropout.generator.counterLow
    words[at++] = dropout === null ? 0 : dropout.generator.counterHigh
    words[at++] = statistics
    this.offsetAt = (this.address >>> 2) + BLOCK_WORDS
    words[at++] = this.offsetAt << 2
    this.at = at
    this.write(q, batch, queries, keyDim)
    this.write(k, batch, keys, keyDim)
    this.write(v, batch, keys, valueDim)
    this.write(mask, batch, queries, keys)
    this.write(result.y, batch, queries, valueDim)
    this.write(cotangent, batch, queries, valueDim)
    this.write(products.q, batch, queries, keyDim)
    this.write(products.k, batch, keys, keyDim)
    this.write(products.v, batch, keys, valueDim)
    this.writeOffsets(settings.scoresBatch, contiguousStrides(settings.scoresBatch), 0, batch, 1)
  }

  /** Says which products are to be made, of those that the block was made for. */
  setProducts({ q, k, v }: AttentionProducts): void {
    const addresses = [q, k, v].map((product) => (product === null ? 0 : addressOf(product.storage)))
    const words = heap.int32
    addresses.forEach((address, i) => {
      words[(this.address >>> 2) + PRODUCTS + OPERAND_WORDS * i] = address
    })
  }

  /** Writes the address of an operand, its strides along rows and columns, and its offsets, in bytes. */
  private write(x: Tensor | null, batch: Shape, rows: number, columns: number): void {
    const address = x === null ? 0 : addressOf(x.storage)
    const words = heap.int32
    words[this.at++] = address
    if (x === null) {
      this.at += 2
      this.offsetAt++
      return
    }
    const { shape, ndim } = x
    const strides = x.strides ?? contiguousStrides(shape)
    const bytes = bytesOf(x.dtype)
    const [row, column] = [ndim - 2, ndim - 1]
    words[this.at++] = row < 0 || (shape[row] === 1 && rows !== 1) ? 0 : (strides[row] as number) * bytes
    words[this.at++] = column < 0 || (shape[column] === 1 && columns !== 1) ? 0 : (strides[column] as number) * bytes
    this.writeOffsets(shape, strides, 2, batch, bytes)
  }

  /** Writes where an operand, without its last axes, lies at each position of a batch that it broadcasts to. */
  private writeOffsets(shape: Shape, strides: readonly number[], last: number, batch: Shape, unit: number): void {
    const words = heap.int32
    const at = this.offsetAt++
    const lead = batch.length - (shape.length - last)
    words[at] = 0
    // Axis by axis from the last: what is there is repeated, moved on by the stride.
    let count = 1
    for (let axis = batch.length - 1; axis >= 0; axis--) {
      const size = batch[axis] as number
      const isRepeated = axis < lead || shape[axis - lead] === 1
      const stride = isRepeated ? 0 : (strides[axis - lead] as number) * unit
      for (let i = count; i < size * count; i++) {
        words[at + i * OFFSET_WORDS] = (words[at + (i - count) * OFFSET_WORDS] as number) + stride
      }
      count *= size
    }
  }
}

const NO_PRODUCTS: AttentionProducts = { q: null, k: null, v: null }

// What pieces of the work are ranges of: the axes of a kernel's arguments.
const POSITIONS = 0
const QUERIES = 1
const KEYS = 2

/** Pieces of queries or keys are whole tiles, whatever their height. */
const STRIPS = 24

/** Calls a kernel in pieces along one axis; `ends` are the ends of all of them. */
function share(family: KernelFamily, suffix: string, call: CallBlock, ends: readonly number[], axis: number): void {
  const { address, nanoseconds, workspace, workspaceSize } = call
  inPieces(family, suffix, {
    units: ends[axis] as number,
    multiple: axis === POSITIONS ? 1 : STRIPS,
    nanoseconds,
    piece: (from, to) => [address, ...ends.flatMap((end, i) => (i === axis ? [from, to] : [0, end])), 0],
    scratch: { argument: 1 + 2 * ends.length, address: workspace, bytes: workspaceSize },
  })
}

/** `softmax(factor · Q Kᵀ + mask) V`, block by block. */
export function attentionForward(operands: AttentionOperands, settings: AttentionSettings): AttentionResult {
  const { q, v } = operands
  const queries = q.shape[q.ndim - 2] as number
  const y = emptyLike(q, settings.batch, queries, v.shape[v.ndim - 1] as number)
  const result = { y, statistics: empty(q.dtype, [...settings.batch, queries, 2]) }
  const call = new CallBlock({ operands, result, cotangent: null, products: NO_PRODUCTS }, settings)
  const { address, positions, workspace } = call
  const suffix = suffixOf(q.dtype)
  if (call.isShared) {
    share(forwardKernel, suffix, call, [positions, queries], positions >= getThreads() ? POSITIONS : QUERIES)
  } else forwardKernel.get(suffix)(address, 0, positions, 0, queries, workspace)
  return result
}

/** Which operands' products are wanted. */
export interface WantedProducts {
  readonly q: boolean
  readonly k: boolean
  readonly v: boolean
}

/** The products of a cotangent of Y with the Jacobians, block by block. */
export function attentionBackward(
  cotangent: Tensor,
  operands: AttentionOperands,
  result: AttentionResult,
  settings: AttentionSettings,
  wanted: WantedProducts,
): AttentionProducts {
  const productOf = (operand: Tensor): Tensor => {
    const { shape, ndim } = operand
    return emptyLike(operand, settings.batch, shape[ndim - 2] as number, shape[ndim - 1] as number)
  }
  const products = {
    q: wanted.q ? productOf(operands.q) : null,
    k: wanted.k ? productOf(operands.k) : null,
    v: wanted.v ? productOf(operands.v) : null,
  }
  const call = new CallBlock({ operands, result, cotangent, products }, settings)
  const { address, positions, queries, keys, workspace } = call
  const suffix = suffixOf(cotangent.dtype)
  if (!call.isShared) backwardKernel.get(suffix)(address, 0, positions, 0, queries, 0, keys, workspace)
  else if (positions >= getThreads()) share(backwardKernel, suffix, call, [positions, queries, keys], POSITIONS)
  else {
    // Parts of a matrix: those of the products towards q along the queries, the others along the keys. Each needs the
    // weights, which are so computed twice.
    if (wanted.q) {
      call.setProducts({ ...NO_PRODUCTS, q: products.q })
      share(backwardKernel, suffix, call, [positions, queries, keys], QUERIES)
    }
    if (wanted.k || wanted.v) {
      call.setProducts({ ...products, q: null })
      share(backwardKernel, suffix, call, [positions, queries, keys], KEYS)
    }
  }
  return products
}
