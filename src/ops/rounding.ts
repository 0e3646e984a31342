// Whole numbers near x, and x within bounds.

import { ArgumentError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor, weakScalar, zerosView } from './arguments.js'
import { maximum, minimum } from './arithmetic.js'
import { ge, le, logicalAnd } from './comparison.js'
import { detach } from './copy.js'
import { unary } from './elementwise.js'
import { where } from './select.js'

/** A function that is constant between its jumps; int32 is whole already. */
function rounding(name: 'floor' | 'ceil' | 'round'): (x: Tensor) => Tensor {
  const operation = unary(name, [[], (g) => zerosView(g)])
  return (x) => {
    checkTensor(name, x)
    return x.dtype === 'int32' ? x : operation(x)
  }
}

/** The largest whole number ≤ x. Derivative: 0. */
export const floor: (x: Tensor) => Tensor = rounding('floor')

/** The smallest whole number ≥ x. Derivative: 0. */
export const ceil: (x: Tensor) => Tensor = rounding('ceil')

/** The nearest whole number; halves go to the even one (0.5 to 0, 1.5 to 2). Derivative: 0. */
export const round: (x: Tensor) => Tensor = rounding('round')

/** Options of `clamp`. */
export interface ClampOptions {
  /** The lower bound; none by default. */
  readonly min?: number | undefined
  /** The upper bound; none by default. It wins where the lower bound lies above it. */
  readonly max?: number | undefined
}

const clampOperation: Operation<ClampOptions> = {
  name: 'clamp',
  forward: ([input], { min, max }) => {
    const x = detach(input as Tensor)
    const raised = min === undefined ? x : maximum(x, min)
    return max === undefined ? raised : minimum(raised, max)
  },
  derivatives: [
    {
      saves: [0],
      rule: (g, call) => {
        const x = call.input(0)
        const { min, max } = call.attributes
        if (min === undefined) return max === undefined ? g : where(le(x, max), g, 0)
        const above = ge(x, min)
        return where(max === undefined ? above : logicalAnd(above, le(x, max)), g, 0)
      },
    },
  ],
}

/**
 * `min(max(x, options.min), options.max)`; NaN stays. Derivative: 1 within the bounds and at them, 0 outside.
 *
 * @throws ArgumentError where neither bound is given, or one is no number; DTypeError for a fraction beside int32
 */
export function clamp(x: Tensor, options: ClampOptions): Tensor {
  checkTensor('clamp', x)
  checkOptions('clamp', options, ['min', 'max'])
  const { min, max } = options ?? {}
  if (min === undefined && max === undefined) throw new ArgumentError('clamp: needs min, max or both')
  for (const [name, bound] of Object.entries({ min, max })) {
    if (bound === undefined) continue
    if (typeof bound !== 'number' || Number.isNaN(bound)) {
      throw new ArgumentError(
        `clamp: ${name} must be a number, got ${String(bound)}; use maximum and minimum for tensors`,
      )
    }
    weakScalar('clamp', bound, x.dtype)
  }
  return apply(clampOperation, [x], { min, max })
}
