import { checkOptions } from '../core/options.js'
import { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { clone, detach } from '../ops/copy.js'

/** Options of `Buffer`. */
export interface BufferOptions {
  /** Whether the state dict holds it; default true. False for what the constructor makes anyway. */
  readonly persistent?: boolean
}

/** A tensor that belongs to a module without being learned, found by `Module.buffers`: a table, a running mean. */
export class Buffer extends Tensor {
  /** Whether the state dict holds it. */
  readonly persistent: boolean

  /** @param values its numbers; they are copied */
  constructor(values: Tensor, options: BufferOptions = {}) {
    checkTensor('Buffer', values)
    checkOptions('Buffer', options, ['persistent'])
    super(clone(detach(values)).storage, values.shape, null)
    this.persistent = options.persistent ?? true
  }
}
