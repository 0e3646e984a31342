// How attention's kernels are called: the call block, the places of a batch's matrices, and scratch memory.
import { empty } from '../core/contiguous.js'
import { bytesOf, suffixOf } from '../core/dtype.js'
import { contiguousStrides, type Shape, sizeOf } from '../core/shape.js'
import { stridesOver } from '../core/strides.js'
import { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { newStorage } from '../memory/scope.js'
import { KernelFamily } from '../runtime/kernels.js'
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

/** Rows without gaps, in memory in the same order of axes as `model`: heads that were views of one matrix stay such. */
function emptyLike(model: Tensor, batch: Shape, rows: number, columns: number): Tensor {
  const shape = [...batch, rows, columns]
  if (model.strides === null) return empty(model.dtype, shape)
  const own = stridesOver(model, [...batch, rows, model.shape[model.ndim - 1] as number])
  const axes = [...shape.keys()].slice(0, -1).sort((a, b) => (own[a] as number) - (own[b] as number))
  const strides = new Array<number>(shape.length).fill(1)
  let next = columns
  for (const axis of axes) {
    strides[axis] = next
    next *= shape[axis] as number
  }
  return new Tensor(newStorage(model.dtype, sizeOf(shape)), shape, simplify(shape, strides))
}

/** Strides in bytes over the axes of a batch, then rows and columns. */
function byteStrides(x: Tensor, batch: Shape): number[] {
  const strides = stridesOver(x, [...batch, x.shape[x.ndim - 2] as number, x.shape[x.ndim - 1] as number])
  const bytes = bytesOf(x.dtype)
  for (let axis = 0; axis < strides.length; axis++) strides[axis] = (strides[axis] as number) * bytes
  return strides
}

/** Who takes part in a pass. */
interface Participants extends AttentionOperands {
  readonly statistics: Tensor
  readonly y: Tensor
  readonly g: Tensor | null
  readonly products: AttentionProducts
}

/** Where the kernels find everything. */
interface Call {
  readonly address: number
  readonly positions: number
  readonly queries: number
  readonly keys: number
  readonly workspace: number
}

/** Writes the call block of the kernels: their `Attention`, and `Offsets` for every position of the batch. */
function prepare(participants: Participants, settings: AttentionSettings): Call {
  const { q, k, v, mask, statistics, y, g, products } = participants
  const { batch, scoresBatch, causal, dropout } = settings
  const [queries, keyDim] = [q.shape[q.ndim - 2] as number, q.shape[q.ndim - 1] as number]
  const [keys, valueDim] = [v.shape[v.ndim - 2] as number, v.shape[v.ndim - 1] as number]
  const positions = sizeOf(batch)
  const suffix = suffixOf(q.dtype)
  const workspaceSize = workspaceBytes.get(suffix)(queries, keys, keyDim, valueDim)
  const scratch = newStorage('float64', (workspaceSize + 4 * (BLOCK_WORDS + OFFSET_WORDS * positions)) / 8)
  const workspace = addressOf(scratch)
  const address = workspace + workspaceSize
  const offsets = address + 4 * BLOCK_WORDS
  const operands = [q, k, v, mask, y, g, products.q, products.k, products.v]
  const addresses = operands.map((operand) => (operand === null ? 0 : addressOf(operand.storage)))
  const statisticsAddress = addressOf(statistics.storage)
  // Nothing is allocated from here on: the views of the linear memory stay what they are.
  const { int32: words, float32, float64 } = heap
  let at = address >>> 2
  words[at++] = queries
  words[at++] = keys
  words[at++] = keyDim
  words[at++] = valueDim
  words[at++] = Number(causal)
  words[at++] = mask === null ? 0 : mask.dtype === 'bool' ? 1 : 2
  float64[at >>> 1] = settings.factor
  float64[(at >>> 1) + 1] = dropout === null || dropout.p === 1 ? 1 : 1 / (1 - dropout.p)
  at += 4
  float32[at++] = dropout?.p ?? 0
  words[at++] = dropout?.generator.seedLow ?? 0
  words[at++] = dropout?.generator.seedHigh ?? 0
  words[at++] = dropout?.generator.counterLow ?? 0
  words[at++] = dropout?.generator.counterHigh ?? 0
  words[at++] = statisticsAddress
  words[at++] = offsets
  const strides: (readonly number[])[] = []
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i] as Tensor | null
    const own = operand === null ? [] : byteStrides(operand, batch)
    words[at++] = addresses[i] as number
    words[at++] = own[batch.length] ?? 0
    words[at++] = own[batch.length + 1] ?? 0
    strides.push(own)
  }
  strides.push(broadcastStrides(scoresBatch, batch))
  writeOffsets(offsets >>> 2, batch, positions, strides)
  return { address, positions, queries, keys, workspace }
}

/** How places in a dense batch follow each other where it is broadcast to another. */
function broadcastStrides(shape: Shape, batch: Shape): number[] {
  const dense = contiguousStrides(shape)
  const lead = batch.length - shape.length
  return batch.map((_, axis) => (axis < lead || shape[axis - lead] === 1 ? 0 : (dense[axis - lead] as number)))
}

/** Writes, for every position of a batch in row-major order, what it lies at by each of the strides. */
function writeOffsets(start: number, batch: Shape, positions: number, strides: readonly (readonly number[])[]): void {
  const words = heap.int32
  const position = new Array<number>(batch.length).fill(0)
  const offsets = new Array<number>(strides.length).fill(0)
  let at = start
  for (let left = positions; left > 0; left--) {
    for (let i = 0; i < offsets.length; i++) words[at++] = offsets[i] as number
    for (let axis = batch.length - 1; axis >= 0; axis--) {
      const size = batch[axis] as number
      const next = (position[axis] as number) + 1
      const steps = next < size ? 1 : 1 - size
      position[axis] = next < size ? next : 0
      for (let i = 0; i < offsets.length; i++) {
        offsets[i] = (offsets[i] as number) + steps * ((strides[i] as readonly number[])[axis] ?? 0)
      }
      if (next < size) break
    }
  }
}

/** `softmax(factor · Q Kᵀ + mask) V`, block by block. */
export function attentionForward(operands: AttentionOperands, settings: AttentionSettings): AttentionResult {
  const { q, v } = operands
  const queries = q.shape[q.ndim - 2] as number
  const y = emptyLike(q, settings.batch, queries, v.shape[v.ndim - 1] as number)
  const statistics = empty(q.dtype, [...settings.batch, queries, 2])
  const products = { q: null, k: null, v: null }
  const call = prepare({ ...operands, statistics, y, g: null, products }, settings)
  forwardKernel.get(suffixOf(q.dtype))(call.address, 0, call.positions, 0, queries, call.workspace)
  return { y, statistics }
}

/** Which operands' products are wanted. */
export interface WantedProducts {
  readonly q: boolean
  readonly k: boolean
  readonly v: boolean
}

/** The products of a cotangent of Y with the Jacobians, block by block. */
export function attentionBackward(
  g: Tensor,
  operands: AttentionOperands,
  { y, statistics }: AttentionResult,
  settings: AttentionSettings,
  wanted: WantedProducts,
): AttentionProducts {
  const product = (operand: Tensor, isWanted: boolean): Tensor | null =>
    isWanted
      ? emptyLike(
          operand,
          settings.batch,
          operand.shape[operand.ndim - 2] as number,
          operand.shape[operand.ndim - 1] as number,
        )
      : null
  const products = {
    q: product(operands.q, wanted.q),
    k: product(operands.k, wanted.k),
    v: product(operands.v, wanted.v),
  }
  const call = prepare({ ...operands, statistics, y, g, products }, settings)
  const { address, positions, queries, keys, workspace } = call
  backwardKernel.get(suffixOf(g.dtype))(address, 0, positions, 0, queries, 0, keys, workspace)
  return products
}
