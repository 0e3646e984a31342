// The public names of `wengert/testing`, nothing else.
export {
  type CheckGradsOptions,
  type CheckGradsReport,
  checkGrads,
  type GradMode,
  type GradsCheck,
} from './check-grads.js'
export type { DifferentiableFunction } from './function.js'
export { assertGradcheck, gradcheck } from './gradcheck.js'
export { assertGradgradcheck, gradgradcheck } from './gradgradcheck.js'
export type { GradcheckOptions } from './options.js'
export {
  assertGradcheckPlain,
  gradcheckPlain,
  type PlainFunction,
  type PlainGradient,
  type PlainPullback,
  type PlainVectorFunction,
} from './plain.js'
export {
  type GradcheckEntry,
  GradcheckError,
  type GradcheckInput,
  type GradcheckReport,
  type NonDifferentiablePoint,
} from './report.js'
export type { Verdict } from './verdict.js'
