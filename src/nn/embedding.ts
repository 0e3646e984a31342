import { checkFloating, type DType } from '../core/dtype.js'
import { checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { embedding } from '../ops/gather.js'
import { randn } from '../ops/random.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'
import { Parameter } from './parameter.js'

/** Options of `Embedding`. */
export interface EmbeddingOptions {
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * A learned vector for each of a number of things: int32 numbers (…) to vectors (…, dim), the rows of the weight
 * (count, dim), which starts standard normal, as PyTorch's.
 */
export class Embedding extends Module {
  readonly weight: Parameter
  readonly numEmbeddings: number
  readonly embeddingDim: number

  /** @throws ArgumentError where a size is no whole number of at least 1 */
  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingOptions = {}) {
    super()
    checkInteger('Embedding', 'numEmbeddings', numEmbeddings, 1)
    checkInteger('Embedding', 'embeddingDim', embeddingDim, 1)
    checkOptions('Embedding', options, ['dtype'])
    const { dtype = 'float32' } = options
    checkFloating('Embedding', dtype)
    this.numEmbeddings = numEmbeddings
    this.embeddingDim = embeddingDim
    this.weight = new Parameter(randn([numEmbeddings, embeddingDim], { dtype }))
  }

  /**
   * (…, dim) for int32 numbers (…).
   *
   * @throws IndexError for a number that is none of 0 … count − 1
   */
  forward(indices: Tensor): Tensor {
    return embedding(indices, this.weight)
  }
}
keepsNothing(Embedding)
