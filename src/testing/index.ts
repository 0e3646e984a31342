// The public names of `wengert/testing`, nothing else.
export type { DifferentiableFunction } from './function.js'
export { assertGradcheck, gradcheck } from './gradcheck.js'
export { assertGradgradcheck, gradgradcheck } from './gradgradcheck.js'
export type { GradcheckOptions } from './options.js'
export {
  type GradcheckEntry,
  GradcheckError,
  type GradcheckInput,
  type GradcheckReport,
  type NonDifferentiablePoint,
} from './report.js'
