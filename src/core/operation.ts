import { now, tick } from '../memory/arena.js'
import { closeScope, disown, keep, openScope, own } from '../memory/scope.js'
import { isFloating } from './dtype.js'
import { NOTHING_SAVED, OUTPUT, TapeNode } from './node.js'
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
   * any number alike (it is told which); a joint one gives all products at once; null as a whole where the output does
   * not depend differentiably on any.
   */
  readonly derivatives: Derivatives<Attributes> | null
}

/** Derivatives towards all inputs at once. They may read every input and the output. */
export interface JointDerivatives<Attributes> {
  /** One product for each input, null for none. */
  readonly joint: (cotangent: Tensor, call: TapeNode<Attributes>) => readonly (Tensor | null)[]
  /** What the forward pass made for the rule alone: saved behind the inputs. */
  readonly keeps?: (attributes: Attributes) => readonly Tensor[]
}

type SeparateDerivatives<Attributes> = readonly (Derivative<Attributes> | null)[] | Derivative<Attributes>

export type Derivatives<Attributes> = SeparateDerivatives<Attributes> | JointDerivatives<Attributes>

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

/** Sees every operation that has been executed, after it was recorded. */
export type Observer = (
  operation: Operation<unknown>,
  inputs: readonly Tensor[],
  attributes: unknown,
  output: Tensor,
) => void

let observers: readonly Observer[] = []

/** Runs `fn` with an observer, once however often it is named. */
export function withObserver<Result>(observer: Observer, fn: () => Result): Result {
  if (observers.includes(observer)) return fn()
  const before = observers
  observers = [...before, observer]
  try {
    return fn()
  } finally {
    observers = before
  }
}

let within = false

/** Whether the operation that is executed is part of another one's forward. */
export function isInner(): boolean {
  return within
}

/** The forward, for observers that tell its parts from operations. */
function inside<Attributes>(
  operation: Operation<Attributes>,
  inputs: readonly Tensor[],
  attributes: Attributes,
): Tensor {
  const before = within
  within = true
  try {
    return operation.forward(inputs, attributes)
  } finally {
    within = before
  }
}

/** Executes an operation and records it where an input needs a gradient. */
export function apply<Attributes>(
  operation: Operation<Attributes>,
  inputs: readonly Tensor[],
  attributes: Attributes,
): Tensor {
  const mark = openScope()
  tick()
  let output: Tensor | null = null
  try {
    output = observers.length === 0 ? operation.forward(inputs, attributes) : inside(operation, inputs, attributes)
    if (recording && operation.derivatives !== null && isAnyRecorded(inputs) && isFloating(output.dtype)) {
      output.node = entryFor(operation, inputs, attributes, output, isRecorded) as TapeNode
    }
    for (let i = 0; i < observers.length; i++) {
      ;(observers[i] as Observer)(operation as Operation<unknown>, inputs, attributes, output)
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

/** Like `composite`, for a function with several results. */
export function compositeAll(fn: () => readonly Tensor[]): readonly Tensor[] {
  const mark = openScope()
  let results: readonly Tensor[] = []
  try {
    const made = fn()
    for (const { storage } of made) own(storage)
    results = made
    return made
  } finally {
    closeScope(mark, null)
    for (const { storage } of results) {
      keep(storage)
      disown(storage)
    }
  }
}

function isRecorded(x: Tensor): boolean {
  return x.node !== null
}

function isAnyRecorded(inputs: readonly Tensor[]): boolean {
  for (let i = 0; i < inputs.length; i++) if ((inputs[i] as Tensor).node !== null) return true
  return false
}

/** The entry of a call, with the values that the rules towards the wanted inputs read. */
export function entryFor<Attributes>(
  operation: Operation<Attributes>,
  inputs: readonly Tensor[],
  attributes: Attributes,
  output: Tensor,
  wanted: (input: Tensor) => boolean,
): TapeNode<Attributes> {
  const count = inputs.length
  const parents = new Array<TapeNode | null>(count)
  const shapes = new Array<Shape>(count)
  for (let i = 0; i < count; i++) {
    const input = inputs[i] as Tensor
    parents[i] = input.node
    shapes[i] = input.shape
  }
  const derivatives = operation.derivatives as Derivatives<Attributes>
  const saved = isJoint(derivatives)
    ? [...inputs, ...(derivatives.keeps?.(attributes) ?? []), output]
    : savedFor(derivatives, inputs, output, wanted)
  return new TapeNode<Attributes>(now(), operation, attributes, parents, shapes, saved, output.shape, null)
}

function savedFor<Attributes>(
  derivatives: SeparateDerivatives<Attributes>,
  inputs: readonly Tensor[],
  output: Tensor,
  wanted: (input: Tensor) => boolean,
): readonly (Tensor | null)[] {
  const count = inputs.length
  let saved: (Tensor | null)[] | null = null
  for (let i = 0; i < count; i++) {
    if (!wanted(inputs[i] as Tensor)) continue
    const derivative = derivativeFor(derivatives, i)
    if (derivative === null) continue
    const { saves } = derivative
    for (let j = 0; j < saves.length; j++) {
      const position = saves[j] as number
      if (saved === null) {
        saved = new Array<Tensor | null>(count + 1)
        for (let k = 0; k <= count; k++) saved[k] = null
      }
      if (position === OUTPUT) saved[count] = output
      else saved[position] = inputs[position] as Tensor
    }
  }
  return saved ?? NOTHING_SAVED
}

/** Whether the derivatives are given all at once. */
export function isJoint<Attributes>(derivatives: Derivatives<Attributes>): derivatives is JointDerivatives<Attributes> {
  return !Array.isArray(derivatives) && 'joint' in derivatives
}

/** The derivative towards the input at `index`; null where there is none. */
export function derivativeFor<Attributes>(
  derivatives: SeparateDerivatives<Attributes>,
  index: number,
): Derivative<Attributes> | null {
  return isList(derivatives) ? (derivatives[index] as Derivative<Attributes> | null) : derivatives
}

function isList<Attributes>(
  derivatives: SeparateDerivatives<Attributes>,
): derivatives is readonly (Derivative<Attributes> | null)[] {
  return Array.isArray(derivatives)
}
