// The public names of `wengert/optim`, nothing else.
import '../methods.js'

export { Adam, type AdamOptions, type AdamSettings, AdamW } from './adam.js'
export { clipGradNorm, clipGradValue } from './clip.js'
export type { GroupOptions, OptimizedParameters, ParameterGroup } from './groups.js'
export { Optimizer } from './optimizer.js'
export { RMSprop, type RMSpropOptions, type RMSpropSettings } from './rmsprop.js'
export { type AnyOptimizer, LRSchedule, type ScheduleState } from './schedule.js'
export {
  ConstantLR,
  type ConstantLROptions,
  CosineAnnealingLR,
  type CosineAnnealingLROptions,
  LinearLR,
  type LinearLROptions,
  OneCycleLR,
  type OneCycleLROptions,
  SequentialLR,
  type SequentialLROptions,
  StepLR,
  type StepLROptions,
} from './schedules.js'
export { SGD, type SGDOptions, type SGDSettings } from './sgd.js'
export type { OptimizerState, PlainSetting } from './state.js'
