// Copies, and the one way to change numbers in place.
import { copyStrided, empty } from '../core/contiguous.js'
import { ArgumentError, GradientError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { broadcastsTo, sameShape, showShape } from '../core/shape.js'
import { stridesOver } from '../core/strides.js'
import { Tensor } from '../core/tensor.js'
import { addressOf, markChanged, tick } from '../memory/arena.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'

const cloneOperation: Operation<undefined> = {
  name: 'clone',
  forward: ([input]) => {
    const x = input as Tensor
    const out = empty(x.dtype, x.shape)
    const target = addressOf(out.storage)
    copyStrided(x.dtype, x.shape, addressOf(x.storage), x.strides, target, null)
    return out
  },
  derivatives: [{ saves: [], rule: (g) => g }],
}

/** A copy with numbers of its own. Derivative: 1. */
export function clone(x: Tensor): Tensor {
  checkTensor('clone', x)
  return apply(cloneOperation, [x], undefined)
}

/** The same numbers, cut off from the tape. Nothing is copied: a later `copy_` into one changes both. */
export function detach(x: Tensor): Tensor {
  checkTensor('detach', x)
  return new Tensor(x.storage, x.shape, x.strides)
}

/**
 * Writes the numbers of `source` (broadcast and converted as needed) into `target`, in place and unrecorded: how
 * parameters are updated. A tape that saved the old numbers refuses to be swept afterwards.
 *
 * @throws GradientError where target is the result of a recorded operation
 * @throws ShapeError where source does not broadcast to target
 */
export function copy_(target: Tensor, source: Tensor): Tensor {
  checkTensor('copy_', target, 'the target')
  checkTensor('copy_', source, 'the source')
  if (!target.isLeaf) {
    throw new GradientError(
      'copy_: the result of a recorded operation cannot be changed in place; change a leaf, or use where',
    )
  }
  if (!broadcastsTo(source.shape, target.shape)) {
    throw new ShapeError(`copy_: ${showShape(source.shape)} does not broadcast to ${showShape(target.shape)}`)
  }
  if (target.strides?.some((stride, axis) => stride === 0 && (target.shape[axis] as number) > 1) === true) {
    throw new ArgumentError('copy_: a broadcast view has fewer numbers than elements; clone it first')
  }
  // Where both are views of the same numbers, reading and writing would interleave.
  const numbers = source.dtype === target.dtype ? source : to(detach(source), target.dtype)
  const values = numbers.storage === target.storage ? clone(detach(numbers)) : numbers
  tick()
  const address = addressOf(target.storage)
  const strides = sameShape(values.shape, target.shape) ? values.strides : stridesOver(values, target.shape)
  copyStrided(target.dtype, target.shape, addressOf(values.storage), strides, address, target.strides)
  markChanged(target.storage)
  return target
}
