import { ArgumentError, DTypeError, GradientError, ShapeError } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { add } from '../ops/arithmetic.js'
import { clone } from '../ops/copy.js'
import { ones } from '../ops/creation.js'
import { addInto, isExclusive, type SweepOptions, sweep } from './sweep.js'

/** Options of `backward`. */
export interface BackwardOptions extends SweepOptions {}

/**
 * Reverse mode: sweeps the tape from `root` back to the leaves and adds to each leaf's `grad` the vector-Jacobian
 * product `cotangentᵀ · ∂root/∂leaf`. Entries are swept once, from the highest id to the lowest; a cotangent that is
 * exactly 0 stays 0.
 *
 * @param cotangent shaped like root; may be left out where root has one element (then it is 1)
 * @throws GradientError where root needs no gradient, is no scalar and has no cotangent, was swept before without
 *   `retainGraph`, or a saved value has been changed in place since; nothing is changed then
 */
export function backward(root: Tensor, cotangent?: Tensor | null, options: BackwardOptions = {}): void {
  checkTensor('backward', root, 'the root')
  if (root.node === null) {
    throw new GradientError(
      'backward: this tensor needs no gradient: nothing it was computed from has requiresGrad, or it was computed under noGrad or detached',
    )
  }
  sweep([root.node], [seedFor('backward', root, cotangent)], options, (entry, gathered) => {
    if (entry.leaf !== null) gather(entry.leaf, gathered, options.createGraph === true)
  })
}

/** The cotangent to start with: the given one, or 1 for a root with one element. */
export function seedFor(op: string, root: Tensor, cotangent: Tensor | null | undefined): Tensor {
  if (cotangent === undefined || cotangent === null) {
    if (root.size === 1) return ones(root.shape, { dtype: root.dtype })
    throw new GradientError(
      `${op}: a root of shape ${showShape(root.shape)} is no scalar; reduce it first, for example with sum() or mean(), or pass a cotangent of its shape`,
    )
  }
  if (typeof cotangent === 'object' && !('shape' in cotangent)) {
    throw new ArgumentError(
      `${op}: the first argument is the cotangent; pass options second: backward(undefined, { … })`,
    )
  }
  checkTensor(op, cotangent, 'the cotangent')
  if (!sameShape(cotangent.shape, root.shape)) {
    throw new ShapeError(
      `${op}: the cotangent has shape ${showShape(cotangent.shape)}, the root ${showShape(root.shape)}; they must be equal`,
    )
  }
  if (cotangent.dtype !== root.dtype) {
    throw new DTypeError(`${op}: the cotangent is ${cotangent.dtype}, the root ${root.dtype}; they must be equal`)
  }
  return cotangent
}

/** Adds a leaf's cotangent to its gradient. */
function gather(leaf: Tensor, cotangent: Tensor, createGraph: boolean): void {
  const present = leaf.gradient
  if (present === null) {
    // A gradient that shares its numbers with another tensor would change with it.
    leaf.setGradient(isExclusive(cotangent) ? cotangent : clone(cotangent))
  } else if (!createGraph && isExclusive(present) && present.node === null) addInto(present, cotangent)
  else leaf.setGradient(add(present, cotangent))
}
