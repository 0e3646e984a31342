// Logarithms of sums of exponentials.
import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, suffixOf } from '../core/dtype.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { broadcastShapes } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor, type Operand } from './arguments.js'
import { add, annihilate, maximum, sub } from './arithmetic.js'
import { eq, logicalAnd } from './comparison.js'
import { detach } from './copy.js'
import { operands } from './elementwise.js'
import { mapRows } from './pieces.js'
import { type ReductionOptions, reducedAxes, reducedCount, reducedShape } from './reduce.js'
import { where } from './select.js'
import { softmax } from './softmax.js'
import { sumTo } from './sum.js'
import { abs, exp, log1p, neg, sigmoid } from './unary.js'
import { permute, reshape, unsqueeze } from './views.js'

const kernel = new KernelFamily('logsumexp')

const logsumexpOperation: Operation<undefined> = {
  name: 'logsumexp',
  forward: ([input]) => {
    const x = contiguous(input as Tensor)
    const out = empty(x.dtype, x.shape.slice(0, -1))
    mapRows(kernel, suffixOf(x.dtype), [x], out, { rows: out.storage.length, count: x.shape[x.ndim - 1] as number })
    return out
  },
  derivatives: [
    {
      saves: [0],
      rule: (g, call) => annihilate(unsqueeze(g, -1), softmax(call.input(0))),
    },
  ],
}

/**
 * `log Σ eˣ` over the given axes, without overflow: the maximum is subtracted first. −∞ where there is nothing, or
 * nothing but −∞; ∞ where x has ∞.
 *
 * Derivative: softmax(x) over these axes; 0 where x is nothing but −∞; shared equally among the places of ∞.
 *
 * @throws DTypeError unless floating
 */
export function logsumexp(x: Tensor, options?: ReductionOptions): Tensor {
  checkTensor('logsumexp', x)
  checkFloating('logsumexp', x.dtype)
  const reduced = reducedAxes('logsumexp', x, options)
  const { axes } = reduced
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis))
  return composite(() => {
    const outer = kept.map((axis) => x.shape[axis] as number)
    const rows = reshape(permute(x, [...kept, ...axes]), [...outer, reducedCount(x.shape, axes)])
    return reshape(apply(logsumexpOperation, [rows], undefined), reducedShape(x.shape, reduced))
  })
}

const logaddexpOperation: Operation<undefined> = {
  name: 'logaddexp',
  forward: (inputs) => {
    const [a, b] = inputs.map(detach) as [Tensor, Tensor]
    return add(maximum(a, b), log1p(exp(neg(abs(difference(a, b))))))
  },
  derivatives: {
    saves: [0, 1],
    rule: (g, call, index) => {
      const [own, other] = [call.input(index), call.input(1 - index)]
      const share = sigmoid(difference(own, other))
      return sumTo(annihilate(g, where(eq(own, Number.NEGATIVE_INFINITY), 0, share)), call.inputShape(index))
    },
  },
}

/** `a − b`, but 0 for two equal infinities. */
function difference(a: Tensor, b: Tensor): Tensor {
  const same = logicalAnd(eq(a, b), eq(abs(a), Number.POSITIVE_INFINITY))
  return sub(where(same, 0, a), where(same, 0, b))
}

/**
 * `log(eᵃ + eᵇ)`, without overflow. Derivatives: σ(a − b) and σ(b − a), σ the sigmoid; 0 towards an operand of −∞,
 * ½ each for two of ∞. Broadcasts; promotes; whole numbers count as float32.
 */
export function logaddexp(a: Operand, b: Operand): Tensor {
  const inputs = operands('logaddexp', a, b, 'float32')
  broadcastShapes('logaddexp', inputs[0].shape, inputs[1].shape)
  return apply(logaddexpOperation, inputs, undefined)
}
