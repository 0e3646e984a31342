import { ArgumentError } from '../core/errors.js'
import { checkFlag } from '../core/options.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkNotNegative } from './checks.js'
import type { OptimizedParameters } from './groups.js'
import { Optimizer } from './optimizer.js'
import type { UpdateRule } from './rule.js'
import { isUpdateShared, updateInPieces } from './update-pieces.js'

/** Settings of `SGD`. */
export interface SGDSettings {
  /** γ, the learning rate. */
  lr: number
  /** μ: how much of the last step's direction is kept; default 0. */
  momentum: number
  /** τ: how much of the gradient does not enter the direction, from the second step on; default 0. */
  dampening: number
  /** Whether to look ahead along the direction; default false. Needs a momentum, and no dampening. */
  nesterov: boolean
  /** λ: the gradient of λ|x|²/2 is added to the loss's; default 0. */
  weightDecay: number
}

/** Options of `SGD`. */
export type SGDOptions = Readonly<Partial<SGDSettings>>

const kernel = new KernelFamily('sgd')

const rule: UpdateRule<SGDSettings> = {
  name: 'SGD',
  defaults: { momentum: 0, dampening: 0, nesterov: false, weightDecay: 0 },
  buffers: ['momentumBuffer'],
  needs: (_, { momentum }) => momentum !== 0,
  check(op, { lr, momentum, dampening, nesterov, weightDecay }) {
    checkNotNegative(op, 'lr', lr)
    checkNotNegative(op, 'momentum', momentum)
    checkNotNegative(op, 'weightDecay', weightDecay)
    if (!Number.isFinite(dampening)) {
      throw new ArgumentError(`${op}: dampening must be a finite number, got ${String(dampening)}`)
    }
    checkFlag(op, 'nesterov', nesterov)
    if (nesterov && (momentum === 0 || dampening !== 0)) {
      throw new ArgumentError(
        `${op}: nesterov needs a momentum above 0 and a dampening of 0, got ${momentum} and ${dampening}`,
      )
    }
  },
  update(call) {
    const { suffix, parameter, gradient, buffers, fresh, count, settings } = call
    const { lr, momentum, dampening, nesterov, weightDecay } = settings
    const share = fresh[0] === true ? 1 : 1 - dampening
    const buffer = buffers[0] as number
    if (isUpdateShared(kernel, call)) {
      const numbers = [lr, momentum, share, weightDecay, Number(nesterov)]
      updateInPieces(kernel, call, [parameter, gradient, buffer], numbers)
      return
    }
    kernel.get(suffix)(parameter, gradient, buffer, count, lr, momentum, share, weightDecay, Number(nesterov))
  },
}

/**
 * Stochastic gradient descent. With the gradient g, d = g + λx, and from the second step on
 *
 *     b ← μb + (1 − τ)d,   x ← x − γ(d + μb with nesterov, else b)
 *
 * at the first step b = d; without momentum, x ← x − γd. PyTorch's formulas: the momentum is not scaled by γ.
 *
 * Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
 */
export class SGD extends Optimizer<SGDSettings> {
  /** @throws as {@link Optimizer}; ArgumentError where no lr is given */
  constructor(parameters: OptimizedParameters<SGDSettings>, options: SGDOptions = {}) {
    super(rule, parameters, options)
  }
}
