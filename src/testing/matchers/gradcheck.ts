import { ArgumentError } from '../../core/errors.js'
import type { Tensor } from '../../core/tensor.js'
import type { DifferentiableFunction } from '../function.js'
import { gradcheck } from '../gradcheck.js'
import type { GradcheckOptions } from '../options.js'
import type { Verdict } from './close.js'

/** The verdict on the gradients of a function; where they are expected to be wrong, one on that. */
export function checkGradients(
  fn: unknown,
  inputs: readonly Tensor[],
  options: GradcheckOptions | undefined,
  isNot: boolean,
): Verdict {
  if (typeof fn !== 'function') {
    throw new ArgumentError(`toPassGradcheck: what is expected to pass must be a function of tensors, got ${typeof fn}`)
  }
  const report = gradcheck(fn as DifferentiableFunction, inputs, options)
  // A check too noisy to say anything confirms neither.
  if (!isNot) return { pass: report.ok, message: () => String(report) }
  return {
    pass: report.verdict !== 'wrong',
    message: () => `toPassGradcheck: expected wrong gradients, which the check did not find\n\n${report}`,
  }
}
