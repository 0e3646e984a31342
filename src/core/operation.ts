import { tick } from '../memory/arena.js'
import { closeScope, openScope } from '../memory/scope.js'
import { isFloating } from './dtype.js'
import { OUTPUT, TapeNode } from './node.js'
import type { Shape } from './shape.js'
import type { Tensor } from './tensor.js'

/** The vector-Jacobian product towards one input: from the output's cotangent to the input's. */
export type VectorJacobianRule<Attributes> = (cotangent: Tensor, call: TapeNode<Attributes>, index: number) => Tensor

/** A derivative towards one input, and which values it reads: input positions, or `OUTPUT`. */
export interface Derivative<Attributes> {
  readonly saves: readonly number[]
  readonly rule: VectorJacobianRule<Attributes>
}

/** One differentiable function of tensors: all that the engine knows of it. */
export interface Operation<Attributes = unknown> {
  readonly name: string
  /** Computes the output. Attributes are what is not a tensor: axes, factors, ranges. */
  forward(inputs: readonly Tensor[], attributes: Attributes): Tensor
  /**
   * The derivatives, one for each input, null for those that are never differentiable; a single one serves inputs of
   * any number alike (it is told which); null as a whole where the output does not depend differentiably on any.
   */
  readonly derivatives: Derivatives<Attributes> | null
}

export type Derivatives<Attributes> = readonly (Derivative<Attributes> | null)[] | Derivative<Attributes>

/** Whether operations are recorded on the tape at present. */
let recording = true

export function isRecording(): boolean {
  return recording
}

/** Runs `fn` with recording on or off, and restores what was before, also when it throws. */
export function withRecording<Result>(enabled: boolean, fn: () => Result): Result {
  const before = recording
  recording = enabled
  try {
    return fn()
  } finally {
    recording = before
  }
}

/** Executes an operation and records it where an input needs a gradient. */
export function apply<Attributes>(
  operation: Operation<Attributes>,
  inputs: readonly Tensor[],
  attributes: Attributes,
): Tensor {
  const mark = openScope()
  const id = tick()
  let output: Tensor | null = null
  try {
    output = operation.forward(inputs, attributes)
    if (recording && operation.derivatives !== null && isFloating(output.dtype)) {
      for (let i = 0; i < inputs.length; i++) {
        if ((inputs[i] as Tensor).node !== null) {
          record(id, operation, inputs, attributes, output)
          break
        }
      }
    }
  } finally {
    closeScope(mark, output === null ? null : output.storage)
  }
  return output
}

/** Runs a function made of operations, whose intermediate tensors stay private and are freed as soon as they can be. */
export function composite(fn: () => Tensor): Tensor {
  const mark = openScope()
  let result: Tensor | null = null
  try {
    result = fn()
    return result
  } finally {
    closeScope(mark, result === null ? null : result.storage)
  }
}

function record<Attributes>(
  id: number,
  operation: Operation<Attributes>,
  inputs: readonly Tensor[],
  attributes: Attributes,
  output: Tensor,
): void {
  const count = inputs.length
  const derivatives = operation.derivatives as Derivatives<Attributes>
  const parents = new Array<TapeNode | null>(count)
  const shapes = new Array<Shape>(count)
  const saved = new Array<Tensor | null>(count + 1)
  for (let i = 0; i <= count; i++) saved[i] = null
  for (let i = 0; i < count; i++) {
    const input = inputs[i] as Tensor
    parents[i] = input.node
    shapes[i] = input.shape
    if (input.node === null) continue
    const { saves } = derivativeFor(derivatives, i)
    for (let j = 0; j < saves.length; j++) {
      const position = saves[j] as number
      if (position === OUTPUT) saved[count] = output
      else saved[position] = inputs[position] as Tensor
    }
  }
  output.node = new TapeNode<Attributes>(
    id,
    operation,
    attributes,
    parents,
    shapes,
    saved,
    output.shape,
    null,
  ) as TapeNode
}

/** The derivative towards the input at `index`. */
export function derivativeFor<Attributes>(derivatives: Derivatives<Attributes>, index: number): Derivative<Attributes> {
  return 'rule' in derivatives ? derivatives : (derivatives[index] as Derivative<Attributes>)
}
