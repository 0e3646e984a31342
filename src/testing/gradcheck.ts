import type { Tensor } from '../core/tensor.js'
import { check } from './check.js'
import { type DifferentiableFunction, VectorFunction } from './function.js'
import { type GradcheckOptions, settingsFrom } from './options.js'
import { GradcheckError, type GradcheckReport } from './report.js'

const names = {
  input: (position: number) => `input ${position}`,
  output: (position: number) => `output ${position}`,
}

/**
 * Compares the gradients that the reverse sweep computes for `fn` with central differences in float64,
 *
 *     ∂fᵢ/∂xⱼ ≈ (fᵢ(x + h·eⱼ) − fᵢ(x − h·eⱼ)) / (2·h),   right where |analytic − numeric| ≤ atol + rtol·|numeric|
 *
 * extrapolated from several steps h to h = 0 (Ridders' method), which gives an estimate of the numeric derivative's own
 * error. The steps go by the size of each entry, so inputs of 1e-8 and 1e8 need no tuning. With that estimate there are
 * three verdicts: a derivative is right; wrong, where steps of several lengths agree on another one, and neither
 * tolerance nor estimate explain the difference; or too noisy to say, where the numeric derivative is not known to the
 * tolerance, because `fn` is computed with errors larger than rounding (measured by sixth differences), or changes over
 * less than the steps. Derivatives of saturated functions that rounding hides are right where they are below 1e-10. A
 * report says how many digits the numeric derivatives have. With `eps`, there is one step h = eps instead, no estimate,
 * and PyTorch's tolerances.
 *
 * Compared is every pair of an input entry and an output entry, or, where inputs and outputs have more than 4,096 entries
 * together (or on demand, see `mode`), for a seeded sample: some entries and some random directional derivatives of
 * ⟨w, f⟩ with a random cotangent w. So 150,000 weights take some hundred calls of `fn` rather than 300,000.
 *
 * Checked are the inputs that have `requiresGrad`; others are passed on as they are. `fn` is called with copies: the
 * inputs, their `grad`, and the `grad` of whatever else `fn` uses stay as they are. It must be deterministic: outputs
 * or gradients that come out different for the same inputs fail the check.
 *
 * Where the function has no derivative, differences cannot confirm one. Such a place, told by slopes that differ left
 * and right however small the step, is reported in `nonDifferentiable`: a kink (relu or |x| at 0, a tie of max) counts
 * as right where the analytic value lies between both slopes, as every subgradient does; a jump counts as wrong.
 *
 * Derivatives below the absolute part of the tolerance pass as 0 does; the report notes where all of an input's are. By
 * default that part is what rounding does to differences of outputs this large.
 *
 * @param fn a function of as many tensors as there are inputs, giving one float64 tensor or an array of them
 * @param inputs the point: float64 with `requiresGrad` where a gradient is to be checked
 * @returns a report: whether all is right, the worst entry, errors for each input; `String(report)` is a few lines
 * @throws GradientError where no input has requiresGrad
 * @throws DTypeError for a float32 input with requiresGrad, or an output that is not float64
 * @throws ArgumentError where fn returns no tensor, an entry of the point is not finite or too large for a given eps, or
 *   an option makes no sense; what fn throws passes through
 *
 * Sources: C. J. F. Ridders, Advances in Engineering Software 4(2), 1982; for the noise J. J. Moré, S. M. Wild, SIAM J.
 * Sci. Comput. 33(3), 2011; with `eps`, criterion and defaults of `torch.autograd.gradcheck`.
 */
export function gradcheck(
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): GradcheckReport {
  const op = 'gradcheck'
  const settings = settingsFrom(op, options)
  return check(op, op, new VectorFunction(op, fn, inputs, names), names, settings)
}

/**
 * Like {@link gradcheck}, for tests: does nothing where all is right.
 *
 * @throws GradcheckError with the report, and its text as the message, where the report is not ok
 */
export function assertGradcheck(
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): void {
  const report = gradcheck(fn, inputs, options)
  if (!report.ok) throw new GradcheckError(report)
}
