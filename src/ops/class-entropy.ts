// Cross-entropy with class numbers, row by row, without the logarithms of all probabilities.
import { contiguous, empty } from '../core/contiguous.js'
import { suffixOf } from '../core/dtype.js'
import { apply, type Operation } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { annihilate, annihilateBoth } from './arithmetic.js'
import { eq } from './comparison.js'
import { onesLike } from './creation.js'
import { mapRows } from './pieces.js'
import { where } from './select.js'
import { rowSum, softmax, softmaxBackward } from './softmax.js'
import { squeeze, unsqueeze } from './views.js'

/** What tells how a class number becomes a distribution. */
export interface ClassTargets {
  /** Rows of this class give 0 and pass nothing back. */
  readonly ignoreIndex: number
  /** ε: the distribution is (1 − ε) at the class, plus ε / classes everywhere. */
  readonly labelSmoothing: number
}

/** Runs a kernel over the rows of logits that `inputs` end with, before their targets. */
function overRows(family: KernelFamily, inputs: readonly Tensor[], out: Tensor, settings: ClassTargets): Tensor {
  const logits = inputs[inputs.length - 2] as Tensor
  const count = logits.shape[logits.ndim - 1] as number
  if (logits.size === 0) return out
  const { ignoreIndex, labelSmoothing } = settings
  const work = { rows: logits.size / count, count, more: [ignoreIndex, labelSmoothing] }
  mapRows(family, suffixOf(logits.dtype), inputs.map(contiguous), out, work)
  return out
}

const forwardKernel = new KernelFamily('crossEntropy')

const entropyOperation: Operation<ClassTargets> = {
  name: 'crossEntropy',
  forward: (inputs, settings) => {
    const logits = inputs[0] as Tensor
    return overRows(forwardKernel, inputs, empty(logits.dtype, logits.shape.slice(0, -1)), settings)
  },
  derivatives: [
    { saves: [0, 1], rule: (g, call) => entropyBackward(g, call.input(0), call.input(1), call.attributes) },
    null,
  ],
}

/** `g · (softmax(logits) − target distribution)`, 0 where g is 0 or the target ignored. */
function entropyBackward(g: Tensor, logits: Tensor, target: Tensor, settings: ClassTargets): Tensor {
  return apply(backwardOperation, [g, logits, target], settings)
}

const backwardKernel = new KernelFamily('crossEntropyBackward')

const backwardOperation: Operation<ClassTargets> = {
  name: 'crossEntropyBackward',
  forward: (inputs, settings) => {
    const logits = inputs[1] as Tensor
    return overRows(backwardKernel, inputs, empty(logits.dtype, logits.shape), settings)
  },
  derivatives: [
    {
      saves: [0, 1, 2],
      rule: (h, call) => {
        const slope = entropyBackward(onesLike(call.input(0)), call.input(1), call.input(2), call.attributes)
        return squeeze(rowSum(annihilate(h, slope)), -1)
      },
    },
    {
      saves: [0, 1, 2],
      rule: (h, call) => {
        const g = where(eq(call.input(2), call.attributes.ignoreIndex), 0, call.input(0))
        return softmaxBackward(annihilateBoth(h, unsqueeze(g, -1)), softmax(call.input(1)))
      },
    },
    null,
  ],
}

/**
 * The cross-entropy of every row of logits (its last axis) with the class that the target names; 0 where that is
 * ignored. The classes must be in range.
 *
 * Derivative: softmax(logits) − target distribution.
 */
export function classEntropy(logits: Tensor, target: Tensor, settings: ClassTargets): Tensor {
  return apply(entropyOperation, [logits, target], settings)
}
