import { ArgumentError, GradientError } from '../core/errors.js'
import type { Hook, TapeNode } from '../core/node.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'

/**
 * Calls `hook` with the whole cotangent of `x` whenever a sweep has gathered it: in `backward`, before a leaf's `grad`
 * takes it, and in the sweeps of the transforms. Where the hook returns a tensor, that one takes the cotangent's place
 * for everything that `x` was computed from. Several hooks run in the order of their registration, each with what the
 * one before it made. They are recorded under `createGraph`. What a hook gets is its own: it may keep it, and change it
 * in place.
 *
 * @returns a function that takes the hook away again
 * @throws GradientError where x needs no gradient. A sweep throws where a hook returns something else than a tensor of
 *   the cotangent's shape and dtype, or nothing.
 */
export function registerHook(x: Tensor, hook: Hook): () => void {
  checkTensor('registerHook', x)
  if (typeof hook !== 'function') throw new ArgumentError(`registerHook: a hook is a function, got ${typeof hook}`)
  const node = nodeOf('registerHook', x)
  // The same function may be registered twice, and each is taken away by itself.
  const own: Hook = (cotangent) => hook(cotangent)
  node.hooks = [...(node.hooks ?? []), own]
  return () => {
    const rest = (node.hooks ?? []).filter((other) => other !== own)
    node.hooks = rest.length === 0 ? null : rest
  }
}

/**
 * Makes `backward` gather the cotangent of `x`, the result of a recorded operation, in `x.grad`, as it does for leaves.
 * Returns `x`.
 *
 * @throws GradientError where x needs no gradient
 */
export function retainGrad(x: Tensor): Tensor {
  checkTensor('retainGrad', x)
  nodeOf('retainGrad', x).gatherer = x
  return x
}

function nodeOf(op: string, x: Tensor): TapeNode {
  if (x.node !== null) return x.node
  throw new GradientError(
    `${op}: this tensor needs no gradient, so no cotangent comes to it; call requiresGrad_() on it, or compute it from a tensor that has requiresGrad`,
  )
}
