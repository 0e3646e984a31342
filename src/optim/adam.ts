import { ArgumentError, showValue } from '../core/errors.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkFraction, checkNotNegative } from './checks.js'
import type { OptimizedParameters } from './groups.js'
import { Optimizer } from './optimizer.js'
import type { UpdateRule } from './rule.js'
import { isUpdateShared, updateInPieces } from './update-pieces.js'

/** Settings of `Adam` and `AdamW`. */
export interface AdamSettings {
  /** γ, the learning rate; default 0.001. */
  lr: number
  /** β₁ and β₂: how much of the averages of gradients and of their squares is kept; default [0.9, 0.999]. */
  betas: readonly [number, number]
  /** Added to the divisor; default 1e-8. */
  eps: number
  /** λ. Adam: the gradient of λ|x|²/2 is added to the loss's; default 0. AdamW: x shrinks by γλx; default 0.01. */
  weightDecay: number
}

/** Options of `Adam` and `AdamW`. */
export type AdamOptions = Readonly<Partial<AdamSettings>>

const kernel = new KernelFamily('adam')

function adamRule(name: string, weightDecay: number, decoupled: boolean): UpdateRule<AdamSettings> {
  return {
    name,
    defaults: { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay },
    buffers: ['expAvg', 'expAvgSq'],
    needs: () => true,
    check(op, settings) {
      checkNotNegative(op, 'lr', settings.lr)
      checkNotNegative(op, 'eps', settings.eps)
      checkNotNegative(op, 'weightDecay', settings.weightDecay)
      const betas: unknown = settings.betas
      if (!Array.isArray(betas) || betas.length !== 2) {
        throw new ArgumentError(`${op}: betas must be two numbers in [0, 1), got ${showValue(betas)}`)
      }
      for (const beta of betas) checkFraction(op, 'each of betas', beta)
    },
    update(call) {
      const { suffix, parameter, gradient, buffers, count, settings, step } = call
      const { lr, betas, eps, weightDecay } = settings
      const [beta1, beta2] = betas
      const first = buffers[0] as number
      const second = buffers[1] as number
      const rate = lr / (1 - beta1 ** step)
      const root = Math.sqrt(1 - beta2 ** step)
      const added = decoupled ? 0 : weightDecay
      const keep = decoupled ? 1 - lr * weightDecay : 1
      if (isUpdateShared(kernel, call)) {
        const numbers = [rate, beta1, beta2, root, eps, added, keep]
        updateInPieces(kernel, call, [parameter, gradient, first, second], numbers)
        return
      }
      const update = kernel.get(suffix)
      update(parameter, gradient, first, second, count, rate, beta1, beta2, root, eps, added, keep)
    },
  }
}

const adam = adamRule('Adam', 0, false)
const adamW = adamRule('AdamW', 1e-2, true)

/**
 * Adam. With d = g + λx at step t,
 *
 *     m ← β₁m + (1 − β₁)d,   v ← β₂v + (1 − β₂)d²,   x ← x − γ m̂ / (√v̂ + eps)
 *
 * where m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ).
 *
 * Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", arXiv 1412.6980.
 */
export class Adam extends Optimizer<AdamSettings> {
  /** @throws as {@link Optimizer} */
  constructor(parameters: OptimizedParameters<AdamSettings>, options: AdamOptions = {}) {
    super(adam, parameters, options)
  }
}

/**
 * Adam with decoupled weight decay: first x ← (1 − γλ)x, then Adam's update with d = g.
 *
 * Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", arXiv 1711.05101.
 */
export class AdamW extends Optimizer<AdamSettings> {
  /** @throws as {@link Optimizer} */
  constructor(parameters: OptimizedParameters<AdamSettings>, options: AdamOptions = {}) {
    super(adamW, parameters, options)
  }
}
