// The public names of `wengert`, nothing else.
import './methods.js'

export { detectAnomaly } from './autograd/anomaly.js'
export { type BackwardOptions, backward } from './autograd/backward.js'
export { registerHook, retainGrad } from './autograd/hooks.js'
export { enableGrad, noGrad } from './autograd/modes.js'
export { type Tape, type TapeEntry, tapeOf } from './autograd/tape.js'
export type { DType, TypedArray } from './core/dtype.js'
export {
  AnomalyError,
  ArgumentError,
  DTypeError,
  FormatError,
  GradientError,
  IndexError,
  MemoryError,
  ShapeError,
  ThreadError,
  WengertError,
} from './core/errors.js'
export type { Hook } from './core/node.js'
export type { Shape } from './core/shape.js'
export { isTensor, type NestedArray, Tensor } from './core/tensor.js'
export type { TensorMethods } from './methods.js'
export * from './ops/index.js'
export { getFusedMultiplyAdd, setFusedMultiplyAdd } from './runtime/kernels.js'
export { getThreads, setThreads } from './runtime/threads.js'
export * from './transforms/index.js'
