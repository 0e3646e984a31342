// The reverse sweep over the tape.

import { contiguous } from '../core/contiguous.js'
import { GradientError, ShapeError } from '../core/errors.js'
import { type Hook, NOTHING_SAVED, type Segment, type TapeNode } from '../core/node.js'
import { derivativeFor, isJoint, type Operation, withRecording } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, tick } from '../memory/arena.js'
import { closeScope, disown, openScope, own, publicly } from '../memory/scope.js'
import { checkTensor } from '../ops/arguments.js'
import { add } from '../ops/arithmetic.js'
import { clone } from '../ops/copy.js'
import { mapPairs } from '../ops/pieces.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkCotangent, isDetecting, withinRule } from './anomaly.js'
import { withCollector } from './collect.js'
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
  sweepOver(entriesOf(roots), null, roots, seeds, options, see)
}

/** Sweeps the given entries, from the highest id to the lowest; cotangents go only to those that are `leading`. */
export function sweepOver(
  entries: readonly TapeNode[],
  leading: ReadonlySet<TapeNode> | null,
  roots: readonly TapeNode[],
  seeds: readonly Tensor[],
  options: SweepOptions,
  see: (entry: TapeNode, cotangent: Tensor) => void,
): void {
  checkOptions('backward', options, ['retainGraph', 'createGraph'])
  const { createGraph = false, retainGraph = createGraph } = options
  for (const entry of entries) checkEntry(entry)
  const suspended = suspend(entries)
  const segments: Segment[] = []
  const mark = openScope()
  try {
    withCollector(null, () =>
      withRecording(createGraph, () => {
        for (let i = 0; i < roots.length; i++) {
          const root = roots[i] as TapeNode
          if (leading === null || leading.has(root)) receive(root, seeds[i] as Tensor, createGraph)
        }
        for (const entry of entries) {
          if (entry.cotangent !== null) visit(entry, leading, segments, createGraph, see)
          if (!retainGraph && entry.operation !== null) release(entry)
        }
      }),
    )
  } finally {
    // After an error, cotangents are left behind.
    for (const entry of entries) settle(entry)
    // Those that stand in another were restored after it.
    for (const segment of segments.reverse()) segment.drop()
    for (const [entry, cotangent] of suspended) entry.cotangent = cotangent
    closeScope(mark, null)
  }
}

/** Takes away the cotangents of a sweep under way, within which this one was asked for, until this one is done. */
function suspend(entries: readonly TapeNode[]): readonly (readonly [TapeNode, Tensor])[] {
  const suspended: (readonly [TapeNode, Tensor])[] = []
  for (const entry of entries) {
    if (entry.cotangent === null) continue
    suspended.push([entry, entry.cotangent])
    entry.cotangent = null
  }
  return suspended
}

/** Throws where an entry cannot be swept. */
function checkEntry(entry: TapeNode): void {
  checkPresent(entry)
  entry.segment?.check()
  const { saved } = entry
  for (let i = 0; i < saved.length; i++) {
    const tensor = saved[i] as Tensor | null
    if (tensor !== null && tensor.storage.changedAt > entry.id) {
      const name = entry.operation?.name ?? 'leaf'
      throw new GradientError(
        `backward: "${name}" saved a value of shape ${showShape(tensor.shape)} that has been changed in place since (copy_, an optimiser's step, loadStateDict); call backward before the change, or compute the root again`,
      )
    }
  }
}

function checkPresent(entry: TapeNode): void {
  if (!entry.released) return
  const name = entry.operation?.name ?? 'leaf'
  throw new GradientError(
    `backward: the tape through "${name}" ${showShape(entry.shape)} was released by an earlier backward; pass { retainGraph: true } to that one, or compute the root again`,
  )
}

function visit(
  entry: TapeNode,
  leading: ReadonlySet<TapeNode> | null,
  segments: Segment[],
  createGraph: boolean,
  see: (entry: TapeNode, cotangent: Tensor) => void,
): void {
  if (entry.hooks !== null) runHooks(entry, entry.hooks)
  see(entry, entry.cotangent as Tensor)
  if (entry.operation !== null) {
    // A hook may have swept the same tape.
    checkPresent(entry)
    restore(entry, segments)
    const mark = openScope()
    try {
      passOn(entry, entry.operation, leading, createGraph)
    } finally {
      closeScope(mark, null)
    }
  }
  settle(entry)
}

function restore(entry: TapeNode, segments: Segment[]): void {
  while (entry.segment !== null && !entry.segment.restored) {
    segments.push(entry.segment)
    entry.segment.restore()
  }
}

function passOn(
  entry: TapeNode,
  operation: Operation,
  leading: ReadonlySet<TapeNode> | null,
  createGraph: boolean,
): void {
  const { parents } = entry
  const cotangent = entry.cotangent as Tensor
  const derivatives = operation.derivatives as NonNullable<Operation['derivatives']>
  const detecting = isDetecting()
  const all = isJoint(derivatives) ? withinRule(entry, () => derivatives.joint(cotangent, entry)) : null
  for (let i = 0; i < parents.length; i++) {
    const parent = parents[i] as TapeNode | null
    if (parent === null || (leading === null ? parent.retired : !leading.has(parent))) continue
    let product: Tensor | null
    if (isJoint(derivatives)) product = all?.[i] ?? null
    else {
      const derivative = derivativeFor(derivatives, i)
      if (derivative === null) continue
      product = detecting
        ? withinRule(entry, () => derivative.rule(cotangent, entry, i))
        : derivative.rule(cotangent, entry, i)
    }
    if (product === null) continue
    if (!sameShape(product.shape, parent.shape)) {
      throw new GradientError(
        `backward: the rule of "${operation.name}" gave input ${i} of shape ${showShape(parent.shape)} a cotangent of shape ${showShape(product.shape)}`,
      )
    }
    if (detecting) checkCotangent(entry, i, cotangent, product)
    receive(parent, product, createGraph)
  }
}

/** Shows a cotangent to the hooks, and puts what they return in its place. */
function runHooks(entry: TapeNode, hooks: readonly Hook[]): void {
  for (const hook of [...hooks]) {
    const present = handOut(entry.cotangent as Tensor)
    replaceCotangent(entry, present)
    const changed: unknown = publicly(() => hook(present))
    if (changed === undefined || changed === null || changed === present) continue
    checkTensor('registerHook', changed, 'what a hook returns')
    if (!sameShape(changed.shape, present.shape) || changed.dtype !== present.dtype) {
      throw new ShapeError(
        `registerHook: a hook returned ${changed.dtype} ${showShape(changed.shape)} for a cotangent that is ${present.dtype} ${showShape(present.shape)}; it must be like it`,
      )
    }
    replaceCotangent(entry, changed)
  }
}

function replaceCotangent(entry: TapeNode, cotangent: Tensor): void {
  own(cotangent.storage)
  if (entry.cotangent !== null) disown(entry.cotangent.storage)
  entry.cotangent = cotangent
}

/**
 * A cotangent as the user's code gets it, which may keep it and change it in place: a copy where something else has the
 * same numbers, such as the cotangent of another entry, the one that the user gave, or a constant.
 */
export function handOut(cotangent: Tensor): Tensor {
  const result = isExclusive(cotangent) ? cotangent : clone(cotangent)
  result.storage.escaped = true
  return result
}

/** Adds a contribution to an entry's cotangent. */
function receive(entry: TapeNode, contribution: Tensor, createGraph: boolean): void {
  const present = entry.cotangent
  if (present === null) {
    replaceCotangent(entry, contribution)
    return
  }
  if (!createGraph && contribution.dtype === present.dtype && canAddInto(present, contribution)) {
    addInto(present, contribution)
    return
  }
  replaceCotangent(entry, add(present, contribution))
}

/** Whether nobody but the one slot that holds it can see a tensor's numbers. */
export function isExclusive(x: Tensor): boolean {
  return x.storage.owners === 1 && !x.storage.escaped && x.strides === null
}

/** Whether adding in place is seen by nobody, and loses no tangents. */
export function canAddInto(target: Tensor, x: Tensor): boolean {
  return isExclusive(target) && target.tangents === null && x.tangents === null
}

const addition = new KernelFamily('add')

export function addInto(target: Tensor, x: Tensor): void {
  tick()
  mapPairs(addition, target, addressOf(contiguous(x).storage), target, 1)
  target.storage.home = null
}

/** Gives up the saved values. */
function release(entry: TapeNode): void {
  const { saved } = entry
  entry.saved = NOTHING_SAVED
  entry.released = true
  for (let i = 0; i < saved.length; i++) {
    const tensor = saved[i] as Tensor | null
    if (tensor !== null) disown(tensor.storage)
  }
}

/** Clears what a sweep left in an entry: the cotangent of a leaf, or anything after an error. */
function settle(entry: TapeNode): void {
  const { cotangent } = entry
  entry.cotangent = null
  if (cotangent !== null) disown(cotangent.storage)
}
