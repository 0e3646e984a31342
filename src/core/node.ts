import { own } from '../memory/scope.js'
import type { Operation } from './operation.js'
import type { Shape } from './shape.js'
import type { Tensor } from './tensor.js'

/** Position of the output among the saved values. */
export const OUTPUT = -1

/** The saved values of an entry that has none, or has given them up. */
export const NOTHING_SAVED: readonly (Tensor | null)[] = []

/** Sees a tensor's cotangent during a sweep; a tensor that it returns takes the cotangent's place. */
// biome-ignore lint/suspicious/noConfusingVoidType: `(cotangent) => console.log(cotangent)` is a hook, and returns void
export type Hook = (cotangent: Tensor) => Tensor | null | undefined | void

/** Entries whose saved values are not kept but computed again when a sweep comes to them. */
export interface Segment {
  /** Whether the saved values are there at present. */
  readonly restored: boolean
  /** Throws where they cannot be computed again. */
  check(): void
  restore(): void
  /** Gives the saved values up until they are needed again. */
  drop(): void
  /** What is kept for the computation, counted with the segment's first entry. */
  heldBy(entry: TapeNode): readonly Tensor[]
}

/** What `detectAnomaly` knows of a call. */
export interface Origin {
  /** `file:line:column`; null where the engine does not tell. */
  readonly line: string | null
  /** The inputs' shapes and ranges as text. */
  readonly inputs: string
}

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
  /** Whether this is the leaf of a transform whose function has returned: a constant for everyone else. */
  retired = false
  /** What sees the cotangent, in this order. */
  hooks: Hook[] | null = null
  /** Where the saved values come from if they are not kept. */
  segment: Segment | null = null
  /** Where in the user's code the operation was called, with its inputs' ranges; known under `detectAnomaly`. */
  origin: Origin | null = null

  constructor(
    /** Rises in the order of execution; also the tick at which the saved values were current. */
    readonly id: number,
    /** What was executed; null for a leaf. */
    readonly operation: Operation<Attributes> | null,
    readonly attributes: Attributes,
    /** The inputs' entries; null for inputs that need no gradient. */
    readonly parents: readonly (TapeNode | null)[],
    readonly inputShapes: readonly Shape[],
    /**
     * The values that the rules need: a place for each input, what else is kept, the output last; null where not needed;
     * none at all where no rule needs any.
     */
    public saved: readonly (Tensor | null)[],
    readonly shape: Shape,
    /** The tensor whose `grad` gathers the cotangent: a leaf itself, or a result that `retainGrad` named; else null. */
    public gatherer: Tensor | null,
  ) {
    for (let i = 0; i < saved.length; i++) {
      const tensor = saved[i] as Tensor | null
      if (tensor !== null) own(tensor.storage)
    }
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
