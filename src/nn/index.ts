// The public names of `wengert/nn`, nothing else.
import '../methods.js'

export {
  type AttentionScale,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  SelfAttention,
  type SelfAttentionOptions,
} from './attention.js'
export { Module, type StateDict } from './module.js'
export { Parameter } from './parameter.js'
export { loadTorchAttention, torchAttentionState } from './torch.js'
