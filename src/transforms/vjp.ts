import { ArgumentError } from '../core/errors.js'
import { handOut, OUTPUT_NAME, pullTrace, trace } from './trace.js'
import { checkFunction, leavesLike, rebuildAll, type TensorsLike } from './tree.js'

/** From a cotangent, built like the function's result, to the vector-Jacobian product with each argument. */
export type Pullback<Primals extends readonly unknown[], Result> = (
  cotangent: TensorsLike<Result>,
) => TensorsLike<Primals>

/**
 * Reverse mode: evaluates `fn(...primals)` once, and returns its result with the function that pulls a cotangent ȳ,
 * built like the result, back to the products `ȳᵀ · ∂y/∂x`, one for each argument and built like it. The pullback can be
 * called any number of times, each at the cost of one sweep; it keeps the tape alive as long as it is held.
 *
 * Arguments and result are tensors, or plain objects and arrays of tensors. Nests like {@link grad}.
 *
 * @throws ArgumentError where arguments or result are no trees of tensors, DTypeError where one is not floating. The
 *   pullback: ArgumentError, ShapeError or DTypeError where the cotangent is not built like the result
 */
export function vjp<Primals extends unknown[], Result>(
  fn: (...primals: Primals) => Result,
  ...primals: Primals
): [output: TensorsLike<Result>, pullback: Pullback<Primals, Result>] {
  const op = 'vjp'
  checkFunction(op, fn)
  if (primals.length === 0) throw new ArgumentError('vjp: needs at least one argument to differentiate by')
  const traced = trace(
    op,
    fn,
    primals,
    primals.map((_, position) => position),
    (position) => `argument ${position}`,
  )
  const { output, inputs, targets, recorded } = traced
  const results = output.leaves.map((leaf) => handOut(leaf, recorded, targets))
  const pullback = (cotangent: TensorsLike<Result>): unknown => {
    const given = leavesLike(op, cotangent, 'the cotangent', output, OUTPUT_NAME)
    return rebuildAll(
      inputs,
      pullTrace(traced, () => given, true),
    )
  }
  return [output.rebuild(results) as TensorsLike<Result>, pullback as Pullback<Primals, Result>]
}
