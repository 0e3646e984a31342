import { GradientError } from '../core/errors.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { add } from '../ops/arithmetic.js'
import { clone } from '../ops/copy.js'
import { seedFor } from './seed.js'
import { addInto, canAddInto, isExclusive, type SweepOptions, sweep } from './sweep.js'

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
    if (entry.gatherer !== null) gather(entry.gatherer, gathered, options.createGraph === true)
  })
}

/** Adds a cotangent to a tensor's gradient. */
function gather(holder: Tensor, cotangent: Tensor, createGraph: boolean): void {
  const present = holder.gradient
  if (present === null) {
    // A gradient that shares its numbers with another tensor would change with it.
    holder.setGradient(isExclusive(cotangent) ? cotangent : clone(cotangent))
  } else if (!createGraph && present.node === null && canAddInto(present, cotangent)) addInto(present, cotangent)
  else holder.setGradient(add(present, cotangent))
}
