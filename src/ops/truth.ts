// Whether all or any elements hold. Results are bool; no gradient passes.
import { apply, type Operation } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'
import { type ReducedAxes, type ReductionOptions, reducedAxes, reduceWith } from './reduce.js'

function quantifier(name: 'all' | 'any'): (x: Tensor, options?: ReductionOptions) => Tensor {
  const family = new KernelFamily(name)
  const operation: Operation<ReducedAxes> = {
    name,
    forward: ([x], reduced) => reduceWith(family, x as Tensor, reduced, 'bool'),
    derivatives: null,
  }
  return (x, options) => {
    checkTensor(name, x)
    return apply(operation, [to(x, 'bool')], reducedAxes(name, x, options))
  }
}

/** Whether every element over the given axes is not 0, as bool; true of nothing. NaN is not 0. */
export const all: (x: Tensor, options?: ReductionOptions) => Tensor = quantifier('all')

/** Whether an element over the given axes is not 0, as bool; false of nothing. NaN is not 0. */
export const any: (x: Tensor, options?: ReductionOptions) => Tensor = quantifier('any')
