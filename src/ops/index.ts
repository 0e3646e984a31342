// Every public operation.

export type { Operand } from './arguments.js'
export { add, div, maximum, minimum, mul, pow, scale, sub } from './arithmetic.js'
export { type AttentionOptions, attentionWeights, type MaskOptions, scaledDotProductAttention } from './attention.js'
export { eq, ge, gt, le, logicalAnd, logicalNot, logicalOr, lt, ne } from './comparison.js'
export { to } from './convert.js'
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
export { indexSelect } from './indexing.js'
export { concat, slice, split, stack, unstack } from './joining.js'
export { type CrossEntropyOptions, crossEntropy, mseLoss, type Reduction } from './loss.js'
export { linear, matmul } from './matmul.js'
export { manualSeed, rand, randint, randn } from './random.js'
export type { ReductionOptions } from './reduce.js'
export { argmax, argmin, max, mean, min, type PositionOptions, type VarianceOptions, variance } from './reductions.js'
export { maskedFill, where } from './select.js'
export { logSoftmax, softmax } from './softmax.js'
export { sum } from './sum.js'
export { abs, erf, exp, gelu, log, neg, reciprocal, relu, sigmoid, sign, sqrt, square, tanh } from './unary.js'
export { broadcastTo, flatten, permute, reshape, squeeze, transpose, unsqueeze } from './views.js'
