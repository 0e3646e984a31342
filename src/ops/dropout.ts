import { checkFloating } from '../core/dtype.js'
import { ArgumentError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { scale } from './arithmetic.js'
import { ge } from './comparison.js'
import { rand } from './random.js'
import { where } from './select.js'

/** Options of `dropout`. */
export interface DropoutOptions {
  /** The probability with which each element is dropped; 0.5 by default. */
  readonly p?: number | undefined
  /** Whether to drop at all; true by default. With false, x is returned as it is. */
  readonly training?: boolean | undefined
}

/** Throws unless an option is a number from 0 to 1. */
export function checkProbability(op: string, name: string, p: unknown): void {
  if (typeof p === 'number' && p >= 0 && p <= 1) return
  throw new ArgumentError(`${op}: ${name} must be a number in [0, 1], got ${showValue(p)}`)
}

/**
 * Each element, independently, 0 with probability p and else `x/(1 − p)`, so that the mean stays. Random numbers come
 * from the generator that `manualSeed` starts. Derivative: 1/(1 − p) where x stays, else 0.
 *
 * Source: Srivastava et al., "Dropout", Journal of Machine Learning Research 15 (2014).
 *
 * @throws ArgumentError unless 0 ≤ p ≤ 1; DTypeError unless x is floating
 */
export function dropout(x: Tensor, options: DropoutOptions = {}): Tensor {
  checkTensor('dropout', x)
  checkFloating('dropout', x.dtype)
  checkOptions('dropout', options, ['p', 'training'])
  const { p = 0.5, training = true } = options
  checkProbability('dropout', 'p', p)
  if (!training || p === 0) return x
  return composite(() => where(ge(rand(x.shape), p), p === 1 ? x : scale(x, 1 / (1 - p)), 0))
}
