import { checkFlag } from '../core/options.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkFraction, checkNotNegative } from './checks.js'
import type { OptimizedParameters } from './groups.js'
import { Optimizer } from './optimizer.js'
import type { UpdateRule } from './rule.js'
import { isUpdateShared, updateInPieces } from './update-pieces.js'

/** Settings of `RMSprop`. */
export interface RMSpropSettings {
  /** γ, the learning rate; default 0.01. */
  lr: number
  /** α: how much of the average of squared gradients is kept; default 0.99. */
  alpha: number
  /** Added to the divisor; default 1e-8. */
  eps: number
  /** λ: the gradient of λ|x|²/2 is added to the loss's; default 0. */
  weightDecay: number
  /** μ: how much of the last step's direction is kept; default 0. */
  momentum: number
  /** Whether to divide by the gradients' standard deviation instead of their root mean square; default false. */
  centered: boolean
}

/** Options of `RMSprop`. */
export type RMSpropOptions = Readonly<Partial<RMSpropSettings>>

const kernel = new KernelFamily('rmsprop')

const rule: UpdateRule<RMSpropSettings> = {
  name: 'RMSprop',
  defaults: { lr: 1e-2, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false },
  buffers: ['squareAvg', 'momentumBuffer', 'gradAvg'],
  needs: (name, { momentum, centered }) =>
    name === 'squareAvg' || (name === 'momentumBuffer' ? momentum !== 0 : centered),
  check(op, { lr, alpha, eps, weightDecay, momentum, centered }) {
    checkNotNegative(op, 'lr', lr)
    checkFraction(op, 'alpha', alpha)
    checkNotNegative(op, 'eps', eps)
    checkNotNegative(op, 'weightDecay', weightDecay)
    checkNotNegative(op, 'momentum', momentum)
    checkFlag(op, 'centered', centered)
  },
  update(call) {
    const { suffix, parameter, gradient, buffers, count, settings } = call
    const { lr, alpha, eps, weightDecay, momentum } = settings
    const squares = buffers[0] as number
    const direction = buffers[1] as number
    const mean = buffers[2] as number
    if (isUpdateShared(kernel, call)) {
      const numbers = [lr, alpha, eps, weightDecay, momentum]
      updateInPieces(kernel, call, [parameter, gradient, squares, direction, mean], numbers)
      return
    }
    const update = kernel.get(suffix)
    update(parameter, gradient, squares, direction, mean, count, lr, alpha, eps, weightDecay, momentum)
  },
}

/**
 * RMSprop. With d = g + λx,
 *
 *     s ← αs + (1 − α)d²,   b ← μb + d / (√s + eps),   x ← x − γb
 *
 * and, centred, √(s − a²) in place of √s, with a ← αa + (1 − α)d. PyTorch's formulas: eps is added after the root.
 *
 * Sources: Tieleman and Hinton, "Neural Networks for Machine Learning", lecture 6.5, 2012; centred: Graves, "Generating
 * Sequences With Recurrent Neural Networks", arXiv 1308.0850.
 */
export class RMSprop extends Optimizer<RMSpropSettings> {
  /** @throws as {@link Optimizer} */
  constructor(parameters: OptimizedParameters<RMSpropSettings>, options: RMSpropOptions = {}) {
    super(rule, parameters, options)
  }
}
