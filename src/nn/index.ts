// The public names of `wengert/nn`, nothing else.
import '../methods.js'

export { Dropout, GELU, type GELUOptions, ReLU, SiLU } from './activations.js'
export {
  type AttentionScale,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  SelfAttention,
  type SelfAttentionOptions,
} from './attention.js'
export { Buffer, type BufferOptions } from './buffer.js'
export { Embedding, type EmbeddingOptions } from './embedding.js'
export {
  calculateGain,
  type InitOptions,
  type KaimingOptions,
  kaimingNormal,
  kaimingUniform,
  type Nonlinearity,
  orthogonal,
  type TruncatedNormalOptions,
  truncatedNormal,
  xavierNormal,
  xavierUniform,
} from './initialisation.js'
export type { Layer } from './layer.js'
export { Linear, type LinearOptions } from './linear.js'
export { Module } from './module.js'
export { LayerNorm, type LayerNormOptions, RMSNorm, type RMSNormOptions } from './normalisation.js'
export { Parameter } from './parameter.js'
export { PatchEmbed, type PatchEmbedOptions } from './patches.js'
export {
  LearnedPositions,
  LearnedPositions2d,
  type LearnedPositionsOptions,
  type SinusoidalOptions,
  SinusoidalPositions,
  SinusoidalPositions2d,
  sinusoidalPositions,
  sinusoidalPositions2d,
} from './positions.js'
export { type AttentionRotary, type Rotary2dOptions, type RotaryOptions, rotary, rotary2d } from './rotary.js'
export { MLP, type MLPOptions, Sequential } from './sequential.js'
export type { StateDict } from './state.js'
export { type Summary, type SummaryRow, summary } from './summary.js'
export { loadTorchAttention, torchAttentionState } from './torch.js'
export { TransformerBlock, type TransformerBlockOptions } from './transformer.js'
