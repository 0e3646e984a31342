// Running a function on stand-ins for its arguments. A stand-in has the numbers of the argument and an entry of its own
// on the tape, so that a transform sweeps from the function's result to its own stand-ins and no further: the
// arguments' `grad` is not touched, and transforms nest to any depth. Where the argument itself is on the tape (of a
// transform around this one, or because it requires its gradient), the stand-in is recorded as computed from it.
import { withCollector } from '../autograd/collect.js'
import { entriesBetween } from '../autograd/entries.js'
import { isPropagating } from '../autograd/forward.js'
import { pullBack } from '../autograd/vjp.js'
import { isFloating } from '../core/dtype.js'
import { DTypeError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import { compositeAll, isRecording, withRecording } from '../core/operation.js'
import { Tensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import { alias } from '../ops/alias.js'
import { clone } from '../ops/copy.js'
import { zerosLike } from '../ops/creation.js'
import { type Flat, flatten, flattenFloating } from './tree.js'

/** A function as transforms see it: its arguments are their caller's. */
export type AnyFunction = (...inputs: never[]) => unknown

/** What came of running a function on stand-ins. */
export interface Trace {
  /** The arguments that stand-ins were given for. */
  readonly inputs: readonly Flat[]
  /** The entries of all stand-ins, in the order of the inputs' leaves. */
  readonly targets: readonly TapeNode[]
  readonly output: Flat
  /** Whether the caller records, so that the results may be differentiated further. */
  readonly recorded: boolean
}

/** Calls `fn` with stand-ins for the arguments at the given positions, recording what it does. */
export function trace(
  op: string,
  fn: AnyFunction,
  given: readonly unknown[],
  positions: readonly number[],
  name: (position: number) => string,
): Trace {
  const inputs = positions.map((position) => flattenFloating(op, given[position], name(position)))
  const recorded = isRecording()
  const substituted = [...given]
  const targets: TapeNode[] = []
  const fresh: TapeNode[] = []
  positions.forEach((position, i) => {
    const { leaves, rebuild } = inputs[i] as Flat
    const standIns = leaves.map((leaf) => {
      const standIn = standInFor(leaf)
      if (standIn.isLeaf) fresh.push(standIn.requiresGrad_().node as TapeNode)
      targets.push(standIn.node as TapeNode)
      return standIn
    })
    substituted[position] = rebuild(standIns)
  })
  try {
    const result = withRecording(true, () => call(fn, substituted))
    return { inputs, targets, output: flattenOutput(op, result), recorded }
  } finally {
    for (const node of fresh) node.retired = true
  }
}

/** Calls a function of the user's. */
export function call(fn: AnyFunction, inputs: readonly unknown[]): unknown {
  return withCollector(null, () => publicly(() => (fn as (...inputs: unknown[]) => unknown)(...inputs)))
}

/** The numbers of `x` under an entry of their own where x is recorded; without one elsewhere. */
export function standInFor(x: Tensor): Tensor {
  x.storage.escaped = true
  return isRecording() && x.node !== null ? alias(x) : severed(x)
}

/** `x` off the tape, with the tangents of the forward passes under way. */
function severed(x: Tensor): Tensor {
  const copy = new Tensor(x.storage, x.shape, x.strides)
  if (isPropagating() && x.tangents !== null) copy.tangents = new Map(x.tangents)
  return copy
}

/** Takes a function's result apart. */
export function flattenOutput(op: string, result: unknown): Flat {
  const output = flatten(op, result, OUTPUT_NAME)
  output.leaves.forEach(({ dtype }, i) => {
    if (isFloating(dtype)) return
    throw new DTypeError(
      `${op}: ${OUTPUT_NAME}${output.paths[i]} is ${dtype}, which has no derivative; leave it out, or convert it with to('float32')`,
    )
  })
  return output
}

export const OUTPUT_NAME = 'what the function returned'

/**
 * A result as the caller is to have it: on the tape only where the caller records and the result depends on something
 * recorded outside of the transform.
 */
export function handOut(x: Tensor, recorded: boolean, targets: readonly TapeNode[]): Tensor {
  if (x.node === null || (recorded && dependsOutside(x.node, targets))) return x
  return severed(x)
}

function dependsOutside(root: TapeNode, targets: readonly TapeNode[]): boolean {
  return entriesBetween([root], targets).outside
}

/**
 * The vector-Jacobian products towards all stand-ins; zeros where nothing depends on one. The sweep is recorded where
 * the caller records and the products depend on something outside of the transform.
 *
 * @param cotangents makes one for each tensor of the output; null for zero
 */
export function pullTrace(
  { output, targets, inputs, recorded }: Trace,
  cotangents: () => readonly (Tensor | null)[],
  retainGraph: boolean,
): readonly Tensor[] {
  return compositeAll(() => {
    const roots: TapeNode[] = []
    const seeds: Tensor[] = []
    cotangents().forEach((cotangent, i) => {
      const { node } = output.leaves[i] as Tensor
      if (node === null || cotangent === null) return
      roots.push(node)
      seeds.push(cotangent)
    })
    const course = entriesBetween(roots, targets)
    const createGraph = isRecording() && ((recorded && course.outside) || seeds.some(({ node }) => node !== null))
    const products = pullBack(course, roots, seeds, targets, { createGraph, retainGraph: retainGraph || createGraph })
    // Numbers that something else shares would change with it.
    const taken = new Set(seeds.map(({ storage }) => storage))
    return inputs
      .flatMap(({ leaves }) => leaves)
      .map((leaf, i) => {
        const product = products[i] ?? zerosLike(leaf)
        const { storage, strides } = product
        const shared = strides !== null || storage.escaped || taken.has(storage)
        const result = shared ? withRecording(createGraph, () => clone(product)) : product
        taken.add(result.storage)
        return result
      })
  })
}
