// Every public operation.

export { elu, hardtanh, leakyRelu, logSigmoid, silu, softplus } from './activations.js'
export type { Operand } from './arguments.js'
export { add, div, maximum, minimum, mul, pow, scale, sub } from './arithmetic.js'
export { at, type Index, type IndexRange } from './at.js'
export {
  type AttentionOptions,
  attentionWeights,
  type DotProductAttentionOptions,
  type MaskOptions,
  scaledDotProductAttention,
} from './attention.js'
export { eq, ge, gt, le, logicalAnd, logicalNot, logicalOr, lt, ne } from './comparison.js'
export { to } from './convert.js'
export { type ConvolutionOptions, conv2d } from './convolution.js'
export { clone, copy_, detach } from './copy.js'
export {
  arange,
  eye,
  full,
  fullLike,
  linspace,
  oneHot,
  ones,
  onesLike,
  type TensorData,
  type TensorOptions,
  tensor,
  zeros,
  zerosLike,
} from './creation.js'
export { type DiagonalOptions, diag, diagonal, type TriangleOptions, trace, tril, triu } from './diagonal.js'
export { type DropoutOptions, dropout } from './dropout.js'
export { einsum } from './einsum.js'
export { flip, roll } from './flip.js'
export { embedding, gather } from './gather.js'
export { indexSelect } from './indexing.js'
export { chunk, concat, slice, split, stack, unstack } from './joining.js'
export { logaddexp, logsumexp } from './logsumexp.js'
export {
  type BinaryCrossEntropyOptions,
  binaryCrossEntropyWithLogits,
  type CrossEntropyOptions,
  crossEntropy,
  mseLoss,
  type Reduction,
} from './loss.js'
export { linear, matmul } from './matmul.js'
export { layerNorm, rmsNorm } from './normalisation.js'
export { type CosineSimilarityOptions, cosineSimilarity, norm, std } from './norms.js'
export { argsort, type Ordered, type SortOptions, sort, type TopkOptions, topk } from './ordering.js'
export { pad, repeatInterleave, tile } from './padding.js'
export { avgPool2d, maxPool2d, type PoolingOptions } from './pooling.js'
export { dot, outer } from './products.js'
export {
  type GeneratorState,
  getGeneratorState,
  manualSeed,
  rand,
  randint,
  randn,
  setGeneratorState,
} from './random.js'
export type { ReductionOptions } from './reduce.js'
export { argmax, argmin, max, mean, min, type PositionOptions, type VarianceOptions, variance } from './reductions.js'
export { type ClampOptions, ceil, clamp, floor, round } from './rounding.js'
export { cumprod, cumsum, prod } from './scan.js'
export { maskedFill, where } from './select.js'
export { logSoftmax, softmax } from './softmax.js'
export { sum } from './sum.js'
export { atan2, cos, sin, tan } from './trigonometric.js'
export { all, any } from './truth.js'
export {
  abs,
  erf,
  exp,
  expm1,
  gelu,
  log,
  log1p,
  neg,
  reciprocal,
  relu,
  rsqrt,
  sigmoid,
  sign,
  sqrt,
  square,
  tanh,
} from './unary.js'
export { broadcastTo, flatten, permute, reshape, squeeze, transpose, unsqueeze } from './views.js'
export type { Pair } from './windows.js'
