// The reverse sweep over the tape.

import { contiguous } from '../core/contiguous.js'
import { suffixOf } from '../core/dtype.js'
import { GradientError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import { derivativeFor, type Operation, withRecording } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, tick } from '../memory/arena.js'
import { closeScope, disown, openScope, own } from '../memory/scope.js'
import { add } from '../ops/arithmetic.js'
import { KernelFamily } from '../runtime/kernels.js'
import { entriesOf } from './entries.js'

/** Options of every reverse sweep. */
export interface SweepOptions {
  /** Keep the saved values, so that another sweep can pass; default: the value of `createGraph`. */
  readonly retainGraph?: boolean | undefined
  /** Record the sweep itself, so that the gradients can be differentiated again. */
  readonly createGraph?: boolean | undefined
}

/**
 * Sweeps the tape behind the roots once, from the highest id to the lowest, starting with one cotangent for each root,
 * and shows `see` every entry that received a cotangent, with all of it. Nothing is changed where an entry cannot be
 * swept: GradientError is thrown before.
 */
export function sweep(
  roots: readonly TapeNode[],
  seeds: readonly Tensor[],
  options: SweepOptions,
  see: (entry: TapeNode, cotangent: Tensor) => void,
): void {
  checkOptions('backward', options, ['retainGraph', 'createGraph'])
  const { createGraph = false, retainGraph = createGraph } = options
  const entries = entriesOf(roots)
  for (const entry of entries) checkEntry(entry)
  const mark = openScope()
  try {
    withRecording(createGraph, () => {
      for (const [i, root] of roots.entries()) receive(root, seeds[i] as Tensor, createGraph)
      for (const entry of entries) {
        if (entry.cotangent !== null) visit(entry, entry.cotangent, createGraph, see)
        if (!retainGraph && entry.operation !== null) release(entry)
      }
    })
  } finally {
    // After an error, cotangents are left behind.
    for (const entry of entries) settle(entry)
    closeScope(mark, null)
  }
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

function visit(
  entry: TapeNode,
  cotangent: Tensor,
  createGraph: boolean,
  see: (entry: TapeNode, cotangent: Tensor) => void,
): void {
  see(entry, cotangent)
  const { operation } = entry
  if (operation !== null) {
    const mark = openScope()
    try {
      passOn(entry, operation, cotangent, createGraph)
    } finally {
      closeScope(mark, null)
    }
  }
  settle(entry)
}

function passOn(entry: TapeNode, operation: Operation, cotangent: Tensor, createGraph: boolean): void {
  const { parents } = entry
  const derivatives = operation.derivatives as NonNullable<Operation['derivatives']>
  for (let i = 0; i < parents.length; i++) {
    const parent = parents[i] as TapeNode | null
    const derivative = parent === null ? null : derivativeFor(derivatives, i)
    if (parent === null || derivative === null) continue
    const product = derivative.rule(cotangent, entry, i)
    if (!sameShape(product.shape, parent.shape)) {
      throw new GradientError(
        `backward: the rule of "${operation.name}" gave input ${i} of shape ${showShape(parent.shape)} a cotangent of shape ${showShape(product.shape)}`,
      )
    }
    receive(parent, product, createGraph)
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

/** Whether nobody but the one slot that holds it can see a tensor's numbers. */
export function isExclusive(x: Tensor): boolean {
  return x.storage.owners === 1 && !x.storage.escaped && x.strides === null
}

const addition = new KernelFamily('add')

export function addInto(target: Tensor, x: Tensor): void {
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
