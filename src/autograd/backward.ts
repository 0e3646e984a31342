import { contiguous } from '../core/contiguous.js'
import { suffixOf } from '../core/dtype.js'
import { ArgumentError, DTypeError, GradientError, ShapeError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import { derivativeFor, type Operation, withRecording } from '../core/operation.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, tick } from '../memory/arena.js'
import { closeScope, disown, openScope, own } from '../memory/scope.js'
import { add } from '../ops/arithmetic.js'
import { checkTensor } from '../ops/arguments.js'
import { clone } from '../ops/copy.js'
import { ones } from '../ops/creation.js'
import { KernelFamily } from '../runtime/kernels.js'
import { entriesOf } from './entries.js'

/** Options of `backward`. */
export interface BackwardOptions {
  /** Keep the saved values, so that another sweep can pass; default: the value of `createGraph`. */
  readonly retainGraph?: boolean | undefined
  /** Record the sweep itself, so that the gradients can be differentiated again. */
  readonly createGraph?: boolean | undefined
}

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
  const { createGraph = false, retainGraph = createGraph } = options
  const node = root.node
  if (node === null) {
    throw new GradientError(
      'backward: this tensor needs no gradient: nothing it was computed from has requiresGrad, or it was computed under noGrad or detached',
    )
  }
  const seed = seedFor(root, cotangent)
  const entries = entriesOf(node)
  for (const entry of entries) checkEntry(entry)
  const mark = openScope()
  try {
    withRecording(createGraph, () => sweep(node, seed, entries, retainGraph, createGraph))
  } finally {
    for (const entry of entries) settle(entry)
    closeScope(mark, null)
  }
}

function seedFor(root: Tensor, cotangent: Tensor | null | undefined): Tensor {
  if (cotangent === undefined || cotangent === null) {
    if (root.size === 1) return ones(root.shape, { dtype: root.dtype })
    throw new GradientError(
      `backward: a root of shape ${showShape(root.shape)} is no scalar; reduce it first, for example with sum() or mean(), or pass a cotangent of its shape`,
    )
  }
  if (typeof cotangent === 'object' && !('shape' in cotangent)) {
    throw new ArgumentError('backward: the first argument is the cotangent; pass options second: backward(undefined, { … })')
  }
  checkTensor('backward', cotangent, 'the cotangent')
  if (!sameShape(cotangent.shape, root.shape)) {
    throw new ShapeError(
      `backward: the cotangent has shape ${showShape(cotangent.shape)}, the root ${showShape(root.shape)}; they must be equal`,
    )
  }
  if (cotangent.dtype !== root.dtype) {
    throw new DTypeError(`backward: the cotangent is ${cotangent.dtype}, the root ${root.dtype}; they must be equal`)
  }
  return cotangent
}

/** Throws where an entry cannot be swept. */
function checkEntry(entry: TapeNode): void {
  const name = entry.operation?.name ?? 'leaf'
  if (entry.released) {
    throw new GradientError(
      `backward: the tape through "${name}" ${showShape(entry.shape)} was released by an earlier backward; pass { retainGraph: true } to that one, or compute the root again`,
    )
  }
  for (const tensor of entry.saved) {
    if (tensor !== null && tensor.storage.changedAt > entry.id) {
      throw new GradientError(
        `backward: "${name}" saved a value of shape ${showShape(tensor.shape)} that has been changed in place since (copy_, an optimiser's step, loadStateDict); call backward before the change, or compute the root again`,
      )
    }
  }
}

function sweep(root: TapeNode, seed: Tensor, entries: readonly TapeNode[], retain: boolean, createGraph: boolean): void {
  receive(root, seed, createGraph)
  for (const entry of entries) {
    const { operation, cotangent } = entry
    if (operation === null) continue
    if (cotangent !== null) {
      const mark = openScope()
      try {
        passOn(entry, operation, cotangent, createGraph)
      } finally {
        closeScope(mark, null)
      }
      entry.cotangent = null
      disown(cotangent.storage)
    }
    if (!retain) release(entry)
  }
  for (const entry of entries) {
    if (entry.leaf !== null && entry.cotangent !== null) gather(entry.leaf, entry.cotangent, createGraph)
  }
}

function passOn(entry: TapeNode, operation: Operation, cotangent: Tensor, createGraph: boolean): void {
  const { parents } = entry
  const derivatives = operation.derivatives as NonNullable<Operation['derivatives']>
  for (let i = 0; i < parents.length; i++) {
    const parent = parents[i] as TapeNode | null
    const derivative = parent === null ? null : derivativeFor(derivatives, i)
    if (parent !== null && derivative !== null) receive(parent, derivative.rule(cotangent, entry, i), createGraph)
  }
}

/** Adds a contribution to an entry's cotangent. */
function receive(entry: TapeNode, contribution: Tensor, createGraph: boolean): void {
  const present = entry.cotangent
  if (present === null) {
    own(contribution.storage)
    entry.cotangent = contribution
    return
  }
  if (!createGraph && isExclusive(present) && contribution.dtype === present.dtype) {
    addInto(present, contribution)
    return
  }
  const total = add(present, contribution)
  own(total.storage)
  entry.cotangent = total
  disown(present.storage)
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

/** Whether nobody but the one slot that holds it can see a tensor's numbers. */
function isExclusive(x: Tensor): boolean {
  return x.storage.owners === 1 && !x.storage.escaped && x.strides === null
}

const addition = new KernelFamily('add')

function addInto(target: Tensor, x: Tensor): void {
  tick()
  const source = contiguous(x)
  const to = addressOf(target.storage)
  addition.get(suffixOf(target.dtype))(to, addressOf(source.storage), to, target.storage.length, 1, 1, 0)
  target.storage.home = null
}

/** Gives up the saved values. */
function release(entry: TapeNode): void {
  const { saved } = entry
  entry.saved = []
  entry.released = true
  for (const tensor of saved) if (tensor !== null) disown(tensor.storage)
}

/** Clears what a sweep left in an entry: the cotangent of a leaf, or anything after an error. */
function settle(entry: TapeNode): void {
  const { cotangent } = entry
  entry.cotangent = null
  if (cotangent !== null) disown(cotangent.storage)
}
