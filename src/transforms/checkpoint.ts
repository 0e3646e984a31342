import { currentCollector, withCollector } from '../autograd/collect.js'
import { inMode } from '../autograd/modes.js'
import { GradientError } from '../core/errors.js'
import { NOTHING_SAVED, type Segment, type TapeNode } from '../core/node.js'
import { isRecording } from '../core/operation.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { tick } from '../memory/arena.js'
import { disown, own, publicly } from '../memory/scope.js'
import { type GeneratorState, getGeneratorState, withGenerator } from '../ops/random.js'
import type { AnyFunction } from './trace.js'
import { checkFunction } from './tree.js'

/** Whether a checkpoint around this one gives up what is recorded now: then this one has nothing to add. */
let dropping = false

/**
 * `fn(...inputs)` without keeping, for the backward sweep, what its operations would save: the sweep computes them again
 * when it comes to them, once, by calling `fn` another time. Result and gradients are the same, to the last bit, at the
 * cost of one more evaluation. Everything else is as if `fn` had been called by itself: gradients reach the inputs and
 * what `fn` closes over, `backward`, transforms and higher orders work, random numbers are drawn the same again
 * (dropout drops the same). Inputs are handed on as they are; checkpoints may stand in each other.
 *
 * Memory: the inputs, and the tape's entries without numbers, instead of all saved values; while a sweep passes, the
 * saved values of one checkpoint. So a chain of n layers needs, in √n checkpoints of √n layers each, about 2√n layers'
 * values instead of n. (Values that a transform inside of `fn` saves are kept.)
 *
 * @throws what `fn` throws. The sweep throws GradientError where the second evaluation executes other operations than
 *   the first, or an input has been changed in place in between
 *
 * Source: Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174.
 */
export function checkpoint<Inputs extends unknown[], Result>(
  fn: (...inputs: Inputs) => Result,
  ...inputs: Inputs
): Result {
  checkFunction('checkpoint', fn)
  if (!isRecording() || (dropping && currentCollector() !== null)) return publicly(() => fn(...inputs))
  return new Recomputation(fn, inputs).evaluate() as Result
}

function withDropping<Result>(enabled: boolean, fn: () => Result): Result {
  const before = dropping
  dropping = enabled
  try {
    return fn()
  } finally {
    dropping = before
  }
}

/** The entries of one evaluation of a function, and what it takes to evaluate it again. */
class Recomputation implements Segment {
  restored = false
  private nodes: readonly TapeNode[] = []
  private readonly generator: GeneratorState = getGeneratorState()
  private readonly start = tick()
  private readonly tensors: readonly Tensor[]

  constructor(
    private readonly fn: AnyFunction,
    private readonly inputs: readonly unknown[],
  ) {
    this.tensors = tensorsIn(inputs)
    for (const { storage } of this.tensors) storage.escaped = true
  }

  evaluate(): unknown {
    const nodes: TapeNode[] = []
    const around = currentCollector()
    const collect = (node: TapeNode, output: Tensor): void => {
      node.segment = this
      giveUp(node)
      nodes.push(node)
      around?.(node, output)
    }
    this.nodes = nodes
    return withDropping(true, () => withCollector(collect, () => publicly(() => this.call())))
  }

  check(): void {
    for (const { storage, shape } of this.tensors) {
      if (storage.changedAt > this.start) {
        throw new GradientError(
          `backward: an input of a checkpoint, of shape ${showShape(shape)}, has been changed in place since, so that it cannot be evaluated again; call backward before the change, or compute the root again`,
        )
      }
    }
  }

  restore(): void {
    const { entries, outputs } = this.evaluateAgain()
    this.compare(entries)
    const originals = new Map(entries.map((entry, i) => [entry, this.nodes[i] as TapeNode]))
    // What a transform inside of the function recorded refers to the new entries, which must then stay whole.
    const referred = entries.some(({ saved }) => saved.some((tensor) => !this.isAccountedFor(tensor, originals)))
    this.nodes.forEach((node, i) => {
      if (node.released) return
      const { saved, segment } = entries[i] as TapeNode
      node.saved = saved
      for (const tensor of saved) if (tensor !== null) own(tensor.storage)
      if (segment !== null) node.segment = segment
    })
    for (const segment of new Set(entries.map((entry) => entry.segment))) {
      if (segment instanceof Recomputation) segment.nodes = segment.nodes.map((node) => originals.get(node) ?? node)
    }
    if (!referred) entries.forEach(giveUp)
    // From here on, the first tape goes on: whatever is made of the new tensors hangs on it.
    outputs.forEach((output, i) => {
      output.node = this.nodes[i] as TapeNode
    })
    this.restored = true
  }

  /** Whether a saved value's entry is one of those that are replaced, or older than the evaluation. */
  private isAccountedFor(tensor: Tensor | null, originals: ReadonlyMap<TapeNode, TapeNode>): boolean {
    return tensor === null || tensor.node === null || tensor.node.id <= this.start || originals.has(tensor.node)
  }

  drop(): void {
    this.restored = false
    for (const node of this.nodes) {
      node.segment = this
      giveUp(node)
    }
  }

  heldBy(entry: TapeNode): readonly Tensor[] {
    return entry === this.nodes[0] ? this.tensors : []
  }

  private call(): unknown {
    return (this.fn as (...inputs: readonly unknown[]) => unknown)(...this.inputs)
  }

  private evaluateAgain(): { readonly entries: readonly TapeNode[]; readonly outputs: readonly Tensor[] } {
    const entries: TapeNode[] = []
    const outputs: Tensor[] = []
    const collect = (entry: TapeNode, output: Tensor): void => {
      entries.push(entry)
      outputs.push(output)
    }
    withGenerator(this.generator, () =>
      withDropping(false, () => withCollector(collect, () => inMode(true, () => publicly(() => this.call())))),
    )
    return { entries, outputs }
  }

  /** Throws where a value that came from outside of the function has been changed in place since. */
  private checkUnchanged(again: TapeNode, original: TapeNode): void {
    for (const tensor of again.saved) {
      if (tensor === null || tensor.node === null || tensor.node.id > this.start) continue
      if (tensor.storage.changedAt > original.id) {
        throw new GradientError(
          `backward: a tensor of shape ${showShape(tensor.shape)} that a function under checkpoint reads has been changed in place since (copy_, an optimiser's step, loadStateDict); call backward before the change, or compute the root again`,
        )
      }
    }
  }

  /** Throws where the second evaluation is not like the first. */
  private compare(again: readonly TapeNode[]): void {
    const { nodes } = this
    const place = nodes.findIndex((node, i) => {
      const other = again[i]
      return other === undefined || other.operation !== node.operation || !sameShape(other.shape, node.shape)
    })
    if (place < 0 && again.length === nodes.length) {
      for (const [i, node] of again.entries()) this.checkUnchanged(node, nodes[i] as TapeNode)
      return
    }
    const describe = (node: TapeNode | undefined) =>
      node === undefined ? 'nothing' : `"${node.operation?.name}" ${showShape(node.shape)}`
    const at = place < 0 ? nodes.length : place
    throw new GradientError(
      `backward: a function under checkpoint did something else when it was evaluated again: operation ${at} was ${describe(nodes[at])} and is ${describe(again[at])} now; it must only depend on its inputs and on what does not change`,
    )
  }
}

/** Gives up an entry's saved values. */
function giveUp(node: TapeNode): void {
  const { saved } = node
  node.saved = NOTHING_SAVED
  for (const tensor of saved) if (tensor !== null) disown(tensor.storage)
}

/** The tensors in nested arrays and objects. */
function tensorsIn(value: unknown, seen = new Set<unknown>()): Tensor[] {
  if (isTensor(value)) return [value]
  if (typeof value !== 'object' || value === null || seen.has(value)) return []
  seen.add(value)
  return Object.values(value).flatMap((part) => tensorsIn(part, seen))
}
