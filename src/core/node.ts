import { own } from '../memory/scope.js'
import type { Operation } from './operation.js'
import type { Shape } from './shape.js'
import type { Tensor } from './tensor.js'

/** Position of the output among the saved values. */
export const OUTPUT = -1

/**
 * One entry of the Wengert list: how a tensor came to be. It hangs on the tensor, so that an unused forward pass is
 * ordinary garbage. Leaves have an entry without an operation.
 */
export class TapeNode<Attributes = unknown> {
  /** The cotangent gathered so far in the sweep under way. */
  cotangent: Tensor | null = null
  /** The sweep that last visited this entry. */
  visit = 0
  /** Whether a sweep has passed and the saved values are gone. */
  released = false

  constructor(
    /** Rises in the order of execution; also the tick at which the saved values were current. */
    readonly id: number,
    /** What was executed; null for a leaf. */
    readonly operation: Operation<Attributes> | null,
    readonly attributes: Attributes,
    /** The inputs' entries; null for inputs that need no gradient. */
    readonly parents: readonly (TapeNode | null)[],
    readonly inputShapes: readonly Shape[],
    /** The values that the rules need: one place for each input, and the output last; null where not needed. */
    public saved: (Tensor | null)[],
    readonly shape: Shape,
    /** The leaf itself; null for an operation's entry. */
    readonly leaf: Tensor | null,
  ) {
    for (const tensor of saved) if (tensor !== null) own(tensor.storage)
  }

  /** A saved input. */
  input(index: number): Tensor {
    return this.saved[index] as Tensor
  }

  /** The saved output. */
  get output(): Tensor {
    return this.saved[this.saved.length - 1] as Tensor
  }

  /** Shape of an input. */
  inputShape(index: number): Shape {
    return this.inputShapes[index] as Shape
  }
}
