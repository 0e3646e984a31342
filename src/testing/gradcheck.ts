import type { Tensor } from '../core/tensor.js'
import { check } from './check.js'
import type { DifferentiableFunction } from './function.js'
import { type GradcheckOptions, settingsFrom } from './options.js'
import { GradcheckError, type GradcheckReport } from './report.js'

const names = {
  input: (position: number) => `input ${position}`,
  output: (position: number) => `output ${position}`,
}

/**
 * Compares the gradients that the reverse sweep computes for `fn` with central differences in float64:
 *
 *     ∂fᵢ/∂xⱼ ≈ (fᵢ(x + eps·eⱼ) − fᵢ(x − eps·eⱼ)) / (2·eps),   right where |analytic − numeric| ≤ atol + rtol·|numeric|
 *
 * for every pair of an input entry and an output entry, or, where inputs and outputs have more than 4,096 entries
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
 * An `atol` larger than the derivatives lets any small gradient pass; the report notes where that is so.
 *
 * @param fn a function of as many tensors as there are inputs, giving one float64 tensor or an array of them
 * @param inputs the point: float64 with `requiresGrad` where a gradient is to be checked
 * @returns a report: whether all is right, the worst entry, errors for each input; `String(report)` is a few lines
 * @throws GradientError where no input has requiresGrad
 * @throws DTypeError for a float32 input with requiresGrad, or an output that is not float64
 * @throws ArgumentError where fn returns no tensor, an entry of the point is not finite or too large for eps, or an
 *   option makes no sense; what fn throws passes through
 *
 * Defaults and criterion: `torch.autograd.gradcheck`.
 */
export function gradcheck(
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): GradcheckReport {
  return check('gradcheck', fn, inputs, names, settingsFrom('gradcheck', options))
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
