// Softmax and its logarithm, row by row, with the row's maximum subtracted.
import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, suffixOf } from '../core/dtype.js'
import { OUTPUT } from '../core/node.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { normalizeAxis } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { annihilate, annihilateBoth, sub } from './arithmetic.js'
import { mapRows } from './pieces.js'
import { sum } from './sum.js'
import { exp, neg } from './unary.js'
import { transpose } from './views.js'

/** Runs a kernel over the rows (last axis) of tensors of one shape. */
function overRows(name: string): (inputs: readonly Tensor[]) => Tensor {
  const family = new KernelFamily(name)
  return (inputs) => {
    const first = inputs[0] as Tensor
    const out = empty(first.dtype, first.shape)
    if (out.storage.length === 0) return out
    const count = first.shape[first.ndim - 1] as number
    mapRows(family, suffixOf(first.dtype), inputs.map(contiguous), out, { rows: out.storage.length / count, count })
    return out
  }
}

/** Σ over the last axis, kept. */
export function rowSum(x: Tensor): Tensor {
  return sum(x, { axis: -1, keepDims: true })
}

const softmaxOperation: Operation<undefined> = {
  name: 'softmax',
  forward: overRows('softmax'),
  derivatives: [{ saves: [OUTPUT], rule: (g, call) => softmaxBackward(g, call.output) }],
}

/** `a ⊙ (g − ⟨g, a⟩)`, the Jacobian diag(a) − a aᵀ applied to g without being formed. */
export function softmaxBackward(g: Tensor, a: Tensor): Tensor {
  return apply(softmaxBackwardOperation, [g, a], undefined)
}

const softmaxBackwardOperation: Operation<undefined> = {
  name: 'softmaxBackward',
  forward: overRows('softmaxBackward'),
  derivatives: [
    { saves: [1], rule: (h, call) => softmaxBackward(h, call.input(1)) },
    {
      // h ⊙ (g − ⟨g, a⟩) − g ⟨h, a⟩
      saves: [0, 1],
      rule: (h, call) => {
        const [g, a] = [call.input(0), call.input(1)]
        return sub(annihilateBoth(h, sub(g, rowSum(annihilate(g, a)))), annihilateBoth(g, rowSum(annihilate(h, a))))
      },
    },
  ],
}

const logSoftmaxOperation: Operation<undefined> = {
  name: 'logSoftmax',
  forward: overRows('logSoftmax'),
  derivatives: [{ saves: [OUTPUT], rule: (g, call) => logSoftmaxBackward(g, call.output) }],
}

/** `g − eʸ Σg`. */
function logSoftmaxBackward(g: Tensor, y: Tensor): Tensor {
  return apply(logSoftmaxBackwardOperation, [g, y], undefined)
}

const logSoftmaxBackwardOperation: Operation<undefined> = {
  name: 'logSoftmaxBackward',
  forward: overRows('logSoftmaxBackward'),
  derivatives: [
    { saves: [1], rule: (h, call) => sub(h, rowSum(annihilate(h, exp(call.input(1))))) },
    {
      saves: [0, 1],
      rule: (h, call) => neg(annihilateBoth(h, annihilate(rowSum(call.input(0)), exp(call.input(1))))),
    },
  ],
}

function alongAxis(operation: Operation<undefined>, x: Tensor, axis: number): Tensor {
  checkTensor(operation.name, x)
  checkFloating(operation.name, x.dtype)
  const place = normalizeAxis(operation.name, axis, x.ndim)
  if (place === x.ndim - 1) return apply(operation, [x], undefined)
  return composite(() => transpose(apply(operation, [transpose(x, place, -1)], undefined), place, -1))
}

/**
 * `exp(x) / Σ exp(x)` along an axis, by default the last; every row sums to 1. Entries of −∞ give exactly 0, a row of
 * nothing but −∞ (all masked) gives zeros and passes zero gradients; entries of ∞ share the whole equally, as in the
 * limit. An axis of size 0 gives an empty result.
 *
 * Derivative: `a ⊙ (g − ⟨g, a⟩)`, that is diag(a) − a aᵀ.
 */
export function softmax(x: Tensor, axis = -1): Tensor {
  return alongAxis(softmaxOperation, x, axis)
}

/**
 * `x − log Σ exp(x)` along an axis, by default the last, without rounding the small probabilities away: the logarithm of
 * `softmax` at every point, infinities included.
 *
 * Derivative: `g − softmax(x) Σg`.
 */
export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return alongAxis(logSoftmaxOperation, x, axis)
}
