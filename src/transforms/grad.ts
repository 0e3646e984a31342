import { ArgumentError, ShapeError } from '../core/errors.js'
import { showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { ones } from '../ops/creation.js'
import { type AnyFunction, handOut, OUTPUT_NAME, pullTrace, trace } from './trace.js'
import { checkFunction, rebuildAll, type TensorsLike } from './tree.js'

/** Options of `grad` and `valueAndGrad`. */
export interface GradOptions<ArgNums extends number | readonly number[] = number | readonly number[]> {
  /** With respect to which arguments: one position (the result is like that argument), or several (an array). */
  readonly argnums?: ArgNums
}

/** What `grad` gives for a function of these arguments. */
export type GradientsOf<Args extends readonly unknown[], ArgNums> = ArgNums extends number
  ? TensorsLike<Args[ArgNums]>
  : { -readonly [Place in keyof ArgNums]: ArgNums[Place] extends number ? TensorsLike<Args[ArgNums[Place]]> : never }

/**
 * The gradient of a scalar function, as a function of the same arguments: `grad(f)(x)` is ∂f/∂x. Arguments are
 * tensors, or plain objects and arrays of tensors, however deep; the gradient with respect to one is built like it, and
 * zero where `f` does not depend on it. The other arguments may be anything.
 *
 * The arguments' `grad` is not touched. The result can be differentiated again, by any transform around this one and by
 * `backward` towards arguments or other tensors that require their gradient; where there are none, or under `noGrad`,
 * the sweep is not recorded.
 *
 * @throws ArgumentError where f does not return one tensor, or an argument that it is differentiated by is no tree of
 *   tensors; ShapeError where the result has more than one element; DTypeError for an argument or result not floating
 */
export function grad<Args extends unknown[]>(fn: (...args: Args) => Tensor): (...args: Args) => GradientsOf<Args, 0>
export function grad<Args extends unknown[], const ArgNums extends number | readonly number[]>(
  fn: (...args: Args) => Tensor,
  options: GradOptions<ArgNums>,
): (...args: Args) => GradientsOf<Args, ArgNums>
export function grad(fn: AnyFunction, options?: GradOptions): (...args: unknown[]) => unknown {
  const evaluate = evaluator('grad', fn, options)
  return (...args) => evaluate(args)[1]
}

/** Like {@link grad}, with the function's value: `valueAndGrad(f)(x)` is `[f(x), ∂f/∂x]`, in one evaluation. */
export function valueAndGrad<Args extends unknown[]>(
  fn: (...args: Args) => Tensor,
): (...args: Args) => [value: Tensor, gradient: GradientsOf<Args, 0>]
export function valueAndGrad<Args extends unknown[], const ArgNums extends number | readonly number[]>(
  fn: (...args: Args) => Tensor,
  options: GradOptions<ArgNums>,
): (...args: Args) => [value: Tensor, gradients: GradientsOf<Args, ArgNums>]
export function valueAndGrad(fn: AnyFunction, options?: GradOptions): (...args: unknown[]) => [Tensor, unknown] {
  const evaluate = evaluator('valueAndGrad', fn, options)
  return (...args) => evaluate(args)
}

/** A function of all arguments that gives the value of `fn` and its gradients. */
export function evaluator(
  op: string,
  fn: AnyFunction,
  { argnums = 0 }: GradOptions = {},
): (args: readonly unknown[]) => [Tensor, unknown] {
  checkFunction(op, fn)
  const positions = checkArgnums(op, argnums)
  return (args) => {
    const beyond = positions.find((position) => position >= args.length)
    if (beyond !== undefined) {
      throw new ArgumentError(
        `${op}: is to differentiate with respect to argument ${beyond}, and was called with ${args.length} arguments`,
      )
    }
    const traced = trace(op, fn, args, positions, (position) => `argument ${position}`)
    const { leaves, paths } = traced.output
    const value = leaves[0]
    if (value === undefined || leaves.length > 1 || paths[0] !== '') {
      throw new ArgumentError(`${op}: the function must return one tensor; use vjp or jacobian for several`)
    }
    if (value.size !== 1) {
      throw new ShapeError(
        `${op}: ${OUTPUT_NAME} has shape ${showShape(value.shape)} and is no scalar; reduce it, for example with sum() or mean(), or use vjp or jacobian`,
      )
    }
    const result = handOut(value, traced.recorded, traced.targets)
    const trees = rebuildAll(
      traced.inputs,
      pullTrace(traced, () => [ones(value.shape, { dtype: value.dtype })], false),
    )
    return [result, typeof argnums === 'number' ? trees[0] : trees]
  }
}

function checkArgnums(op: string, argnums: unknown): readonly number[] {
  const positions: readonly unknown[] = Array.isArray(argnums) ? argnums : [argnums]
  const wrong = positions.find((position) => !Number.isInteger(position) || (position as number) < 0)
  if (wrong !== undefined || positions.length === 0 || new Set(positions).size < positions.length) {
    throw new ArgumentError(
      `${op}: argnums must be a position (0, 1, …) or an array of different ones, got ${JSON.stringify(argnums)}`,
    )
  }
  return positions as readonly number[]
}
