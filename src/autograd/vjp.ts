import { GradientError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import type { Tensor } from '../core/tensor.js'
import { disown, keep, own } from '../memory/scope.js'
import { checkTensor } from '../ops/arguments.js'
import { clone } from '../ops/copy.js'
import { type Course, entriesBetween } from './entries.js'
import { seedFor } from './seed.js'
import { type SweepOptions, sweepOver } from './sweep.js'

/**
 * The vector-Jacobian products `Σᵢ cotangentᵢᵀ · ∂rootᵢ/∂input`, one for each input, without touching any `grad`; null
 * for an input that no root depends on. Inputs may be leaves or results on the tape. Only what lies between the inputs
 * and the roots is swept.
 *
 * @param roots tensors that were computed from the inputs; those that need no gradient contribute nothing
 * @param cotangents one for each root, of its shape and dtype
 * @throws GradientError where an input needs no gradient, or a tape was released or has a stale value
 */
export function vectorJacobianProduct(
  roots: Tensor | readonly Tensor[],
  cotangents: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: SweepOptions = {},
): (Tensor | null)[] {
  const op = 'vectorJacobianProduct'
  const outputs = Array.isArray(roots) ? (roots as readonly Tensor[]) : [roots as Tensor]
  const given = Array.isArray(cotangents) ? (cotangents as readonly Tensor[]) : [cotangents as Tensor]
  const targets = inputs.map((input) => {
    checkTensor(op, input, 'every input')
    if (input.node === null) throw new GradientError(`${op}: an input needs no gradient; call requiresGrad_() on it`)
    return input.node
  })
  const nodes: TapeNode[] = []
  const seeds: Tensor[] = []
  outputs.forEach((root, i) => {
    checkTensor(op, root, 'every root')
    if (root.node === null) return
    nodes.push(root.node)
    seeds.push(seedFor(op, root, given[i]))
  })
  return pullBack(entriesBetween(nodes, targets), nodes, seeds, targets, options)
}

/** Sweeps from the roots to the targets and returns the cotangent of each target, null where none came. */
export function pullBack(
  course: Course,
  roots: readonly TapeNode[],
  seeds: readonly Tensor[],
  targets: readonly TapeNode[],
  options: SweepOptions,
): (Tensor | null)[] {
  const places = new Map<TapeNode, Tensor | null>(targets.map((target) => [target, null]))
  sweepOver(course.entries, course.leading, roots, seeds, options, (entry, cotangent) => {
    if (!places.has(entry)) return
    own(cotangent.storage)
    places.set(entry, cotangent)
  })
  for (const [entry, found] of places) {
    if (found === null) continue
    // What others see as well is copied: a change in place of one would be seen in the other.
    if (found.storage.escaped) places.set(entry, clone(found))
    else keep(found.storage)
    disown(found.storage)
  }
  return targets.map((target) => places.get(target) ?? null)
}
