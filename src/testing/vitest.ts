// Importing `wengert/testing/vitest` adds matchers for tensors and gradients to vitest's `expect`.
import { expect } from 'vitest'
import type { Tensor } from '../core/tensor.js'
import { type CloseOptions, compareTensors } from './matchers/close.js'
import { checkGradients } from './matchers/gradcheck.js'
import type { GradcheckOptions } from './options.js'

export type { CloseOptions } from './matchers/close.js'

/** The matchers that this module adds to vitest's `expect`. */
export interface TensorMatchers {
  /**
   * Passes where `gradcheck` finds the gradients of the received function right at the point `inputs`; with `.not`,
   * where it finds them wrong. A check that is too noisy to tell passes neither. The message is the report.
   *
   *     expect((x: Tensor) => x.tanh()).toPassGradcheck([randn([3], { dtype: 'float64', requiresGrad: true })])
   */
  toPassGradcheck(inputs: readonly Tensor[], options?: GradcheckOptions): void
  /**
   * Passes where the received tensor has the shape and the dtype of `expected`, and every element of it is as expected:
   * |received − expected| ≤ atol + rtol · |expected|, or both are NaN, or both the same infinity. NaN equals NaN because
   * who writes it into an expected value means it. The default tolerances are those of PyTorch's
   * `torch.testing.assert_close`, by the dtype. The message shows the worst elements and where the errors are.
   */
  toBeCloseToTensor(expected: Tensor, options?: CloseOptions): void
}

declare module 'vitest' {
  interface Matchers<T> extends TensorMatchers {}
}

expect.extend({
  toPassGradcheck(fn: unknown, inputs: readonly Tensor[], options?: GradcheckOptions) {
    return checkGradients(fn, inputs, options, this.isNot)
  },
  toBeCloseToTensor: compareTensors,
})
