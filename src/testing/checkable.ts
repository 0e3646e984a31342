// What the checks work on, whether it is made of tensors or not.
import type { Layout, Vector } from './layout.js'

/** A function f: Rⁿ → Rᵐ at the point where it is checked, with a derivative of its own. */
export interface Checkable {
  readonly inputs: Layout
  readonly point: Vector
  /** Known once the function has been evaluated. */
  readonly outputs: Layout
  /** f */
  values(at: Vector): Vector
  /** Evaluates f at the point, for its derivative there. */
  derivative(): Derivative
}

/** f and its derivative at the point, by one evaluation. */
export type Derivative = Pullback | Pushforward

export interface Pullback {
  readonly mode: 'reverse'
  readonly values: Vector
  /** Positions of outputs that do not lead back to the inputs. */
  readonly cut: readonly number[]
  /** `cotangentᵀ · J` */
  pull(cotangent: Vector): Gradient
}

export interface Pushforward {
  readonly mode: 'forward'
  readonly values: Vector
  /** `J · tangent` */
  push(tangent: Vector): Vector
}

/** A vector-Jacobian product as one vector. */
export interface Gradient {
  readonly values: Vector
  /** Of each checked input, whether any output leads to it. */
  readonly reached: readonly boolean[]
  /** What is wrong with the gradients' form. */
  readonly faults: readonly string[]
}
