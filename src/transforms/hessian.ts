import type { Tensor } from '../core/tensor.js'
import { evaluator } from './grad.js'
import { type JacobianOf, jacobianOf } from './jacobian.js'
import { pullTrace, trace } from './trace.js'
import { checkFunction, flattenFloating, leavesLike, type TensorsLike } from './tree.js'

/**
 * All second derivatives of a scalar function at `x`: for a tensor, a tensor of its shape twice over,
 * `H[i…, j…] = ∂²f/∂x[i…]∂x[j…]`; for a tree of tensors, a tree of trees of such blocks. The {@link jacobian} of the
 * {@link grad}, in reverse mode: one evaluation and one sweep for each element of `x`. Nests like {@link grad}.
 *
 * @throws as grad and jacobian do
 */
export function hessian<Input>(fn: (x: Input) => Tensor, x: Input): JacobianOf<TensorsLike<Input>, Input> {
  const gradient = gradientOf('hessian', fn)
  return jacobianOf('hessian', gradient, x, 'reverse') as JacobianOf<TensorsLike<Input>, Input>
}

/**
 * The product of the {@link hessian} of a scalar function at `x` with `v`, built like `x`, without forming the matrix:
 * the gradient of `⟨∇f(x), v⟩`, at about the cost of two gradients. (It is the sweep through the gradient's own tape; as
 * the matrix is symmetric, forward mode through the gradient, `jvp(grad(f), [x], [v])`, gives the same, more slowly.)
 * Nests like {@link grad}.
 *
 * @throws as grad does, and ArgumentError, ShapeError or DTypeError where `v` is not built like `x`
 */
export function hvp<Input>(fn: (x: Input) => Tensor, x: Input, v: TensorsLike<Input>): TensorsLike<Input> {
  const gradient = gradientOf('hvp', fn)
  const input = flattenFloating('hvp', x, 'the input')
  const direction = leavesLike('hvp', v, 'the vector', input, 'the input')
  const traced = trace('hvp', gradient, [x], [0], () => 'the input')
  return input.rebuild(pullTrace(traced, () => direction, false)) as TensorsLike<Input>
}

function gradientOf(op: string, fn: (x: never) => Tensor): (x: unknown) => unknown {
  checkFunction(op, fn)
  const evaluate = evaluator(op, fn)
  return (x) => evaluate([x])[1]
}
