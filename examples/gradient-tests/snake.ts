import { defineOp, ones, type Tensor } from 'wengert'
import { Module, Parameter } from 'wengert/nn'

/**
 * Snake, x + sin²(α x) / α, for rows x (N, D) and one α for each of the D columns (Ziyin, Hartwig and Ueda, "Neural
 * Networks Fail to Learn Periodic Functions and How to Fix It", arXiv 2006.08195), with derivatives written by hand:
 *
 *     ∂y/∂x = 1 + sin(2 α x),   ∂y/∂α = x sin(2 α x) / α − sin²(α x) / α²
 */
export const snake = defineOp({
  name: 'snake',
  forward: (x: Tensor, alpha: Tensor) => x.add(x.mul(alpha).sin().square().div(alpha)),
  vjp: (cotangent, { inputs: [x, alpha] }) => {
    const wave = x.mul(alpha).scale(2).sin()
    const bump = x.mul(alpha).sin().square().div(alpha.square())
    return [
      cotangent.mul(wave.add(1)),
      // Every row has seen the same α.
      cotangent.mul(x.mul(wave).div(alpha).sub(bump)).sum({ axis: 0 }),
    ]
  },
})

/** Snake as a layer that learns α. */
export class Snake extends Module {
  readonly alpha: Parameter

  /** @param features D, the length of a row */
  constructor(features: number, options: { readonly dtype?: 'float32' | 'float64' } = {}) {
    super()
    this.alpha = new Parameter(ones([features], options))
  }

  forward(x: Tensor): Tensor {
    return snake(x, this.alpha)
  }
}
