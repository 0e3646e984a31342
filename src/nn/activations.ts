// Activations as layers.
import { ArgumentError, showValue } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { silu } from '../ops/activations.js'
import { checkProbability, dropout } from '../ops/dropout.js'
import { gelu, relu } from '../ops/unary.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'

/** `max(x, 0)`. */
export class ReLU extends Module {
  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    return relu(x)
  }
}
keepsNothing(ReLU)

/**
 * `x σ(x)`, σ the sigmoid.
 *
 * Source: Elfwing et al., "Sigmoid-Weighted Linear Units", arXiv 1702.03118.
 */
export class SiLU extends Module {
  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    return silu(x)
  }
}
keepsNothing(SiLU)

/** Options of `GELU`. */
export interface GELUOptions {
  /** `'tanh'` for the approximation by tanh; default `'none'`. */
  readonly approximate?: 'none' | 'tanh'
}

/**
 * `x Φ(x)`, Φ the distribution function of the standard normal distribution.
 *
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415.
 */
export class GELU extends Module {
  readonly approximate: 'none' | 'tanh'

  /** @throws ArgumentError for another approximation */
  constructor(options: GELUOptions = {}) {
    super()
    checkOptions('GELU', options, ['approximate'])
    const { approximate = 'none' } = options
    if (approximate !== 'none' && approximate !== 'tanh') {
      throw new ArgumentError(`GELU: approximate must be 'none' or 'tanh', got ${showValue(approximate)}`)
    }
    this.approximate = approximate
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    return gelu(x, { approximate: this.approximate })
  }
}
keepsNothing(GELU)

/**
 * While trained, each element is 0 with probability p and else x/(1 − p); x itself while evaluated.
 *
 * Source: Srivastava et al., "Dropout", Journal of Machine Learning Research 15 (2014).
 */
export class Dropout extends Module {
  readonly p: number

  /**
   * @param p the probability of being dropped; default 0.5
   * @throws ArgumentError unless 0 ≤ p ≤ 1
   */
  constructor(p = 0.5) {
    super()
    checkProbability('Dropout', p)
    this.p = p
  }

  /** Of the shape of x. */
  forward(x: Tensor): Tensor {
    return dropout(x, { p: this.p, training: this.training })
  }
}
keepsNothing(Dropout)
