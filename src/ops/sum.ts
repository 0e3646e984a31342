import { apply, type Operation } from '../core/operation.js'
import { type Shape, sameShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'
import { keptShape, type ReducedAxes, type ReductionOptions, reducedAxes, reduceWith } from './reduce.js'
import { broadcastView, reshapeTo } from './views.js'

const kernel = new KernelFamily('sum')

const sumOperation: Operation<ReducedAxes> = {
  name: 'sum',
  forward: (inputs, reduced) => {
    const x = inputs[0] as Tensor
    return reduceWith(kernel, x, reduced, x.dtype)
  },
  derivatives: [{ saves: [], rule: (g, call) => spread(g, call.inputShape(0), call.attributes.axes) }],
}

/** A reduction's result, or its cotangent, repeated over the axes that were reduced. */
export function spread(reduced: Tensor, shape: Shape, axes: readonly number[]): Tensor {
  // New axes in front need no place of their own.
  const aligned = axes.length === shape.length ? reduced : reshapeTo(reduced, keptShape(shape, axes))
  return broadcastView(aligned, shape)
}

/**
 * Σ over the given axes, pairwise or better. `bool` is counted, as int32. The sum of nothing is 0.
 *
 * Derivative: the cotangent, repeated over the axes.
 */
export function sum(x: Tensor, options?: ReductionOptions): Tensor {
  checkTensor('sum', x)
  return sumOver(x.dtype === 'bool' ? to(x, 'int32') : x, reducedAxes('sum', x, options))
}

/** Σ over axes that are known to be right; x is not \`bool\`. */
export function sumOver(x: Tensor, reduced: ReducedAxes): Tensor {
  return apply(sumOperation, [x], reduced)
}

/** The sum over those axes that broadcasting from `shape` to the shape of `x` repeats: its adjoint. */
export function sumTo(x: Tensor, shape: Shape): Tensor {
  if (sameShape(x.shape, shape)) return x
  const lead = x.ndim - shape.length
  const axes: number[] = []
  for (let axis = 0; axis < x.ndim; axis++) {
    if (axis < lead || (shape[axis - lead] === 1 && x.shape[axis] !== 1)) axes.push(axis)
  }
  return reshapeTo(sumOver(x, { axes, keepDims: false }), shape)
}
