import { forwardPass, isPropagating, setTangent } from '../autograd/forward.js'
import { ArgumentError } from '../core/errors.js'
import { isRecording } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { detach } from '../ops/copy.js'
import { zerosLike } from '../ops/creation.js'
import { type AnyFunction, call, flattenOutput, standInFor } from './trace.js'
import { checkFunction, type Flat, flattenFloating, leavesLike, rebuildAll, type TensorsLike } from './tree.js'

/**
 * Forward mode: evaluates `fn(...primals)` and, in the same pass, the Jacobian-vector product `∂y/∂x · ẋ`, both built
 * like the result. Nothing is kept for a sweep, so memory does not grow with the depth of `fn`. Beside its own evaluation
 * each operation costs its vector-Jacobian rule and the transpose of that: for large tensors about as much again.
 *
 * Primals and tangents are trees of tensors as for {@link vjp}, and it nests in the same ways: of `grad` (forward over
 * reverse), in `grad`, in itself. Results are differentiable where an argument, a tangent, or what `fn` closes over is.
 *
 * @param tangents one for each primal, built like it
 * @returns the result and its tangent; where the result does not depend on the primals, the tangent is zero
 * @throws ArgumentError, ShapeError or DTypeError where the trees do not fit each other or hold something not floating
 */
export function jvp<Primals extends unknown[], Result>(
  fn: (...primals: Primals) => Result,
  primals: readonly [...Primals],
  tangents: TensorsLike<Primals>,
): [output: TensorsLike<Result>, tangent: TensorsLike<Result>] {
  const op = 'jvp'
  checkFunction(op, fn)
  if (!Array.isArray(primals) || !Array.isArray(tangents)) {
    throw new ArgumentError('jvp: primals and tangents are arrays, with one entry for each argument of the function')
  }
  if (primals.length === 0 || primals.length !== tangents.length) {
    throw new ArgumentError(
      `jvp: needs at least one primal, and a tangent for each; got ${primals.length} and ${tangents.length}`,
    )
  }
  const inputs = primals.map((primal, i) => flattenFloating(op, primal, `primal ${i}`))
  const directions = inputs.map((input, i) => leavesLike(op, tangents[i], `tangent ${i}`, input, `primal ${i}`))
  const { output, tangents: found } = push(op, fn, inputs, directions.flat())
  return [
    output.rebuild(output.leaves) as TensorsLike<Result>,
    output.rebuild(output.leaves.map((leaf, i) => found[i] ?? zerosLike(leaf))) as TensorsLike<Result>,
  ]
}

/** One forward pass, with a tangent for each leaf of the inputs; null stands for zero, given or found. */
export function push(
  op: string,
  fn: AnyFunction,
  inputs: readonly Flat[],
  directions: readonly (Tensor | null)[],
): { readonly output: Flat; readonly tangents: readonly (Tensor | null)[] } {
  const differentiable = isRecording() || isPropagating()
  const standIns = inputs.flatMap(({ leaves }) => leaves.map(standInFor))
  return forwardPass((tag) => {
    standIns.forEach((standIn, i) => {
      const tangent = directions[i] ?? null
      if (tangent === null) return
      tangent.storage.escaped = true
      setTangent(standIn, tag, tangent)
    })
    const result = flattenOutput(op, call(fn, rebuildAll(inputs, standIns)))
    const tangents = result.leaves.map((leaf) => leaf.tangents?.get(tag) ?? null)
    for (const leaf of result.leaves) leaf.tangents?.delete(tag)
    if (differentiable) return { output: result, tangents }
    return {
      output: { ...result, leaves: result.leaves.map(detach) },
      tangents: tangents.map((tangent) => (tangent === null ? null : detach(tangent))),
    }
  })
}
