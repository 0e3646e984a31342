// Puts a wrong derivative in the place of an operation's own, wherever a function uses the operation.

import { OUTPUT, type TapeNode } from '../../src/core/node.js'
import { derivativeFor, entryFor, isJoint, type Operation, withObserver } from '../../src/core/operation.js'
import type { Shape } from '../../src/core/shape.js'
import type { Tensor } from '../../src/index.js'
import type { Case } from './catalogue.js'

/** One call of a derivative. */
export interface Call {
  /** The cotangent of the output. */
  readonly g: Tensor
  /** The inputs. Those that are not tensors of floating dtype among them. */
  readonly inputs: readonly Tensor[]
  readonly output: Tensor
  /** The input towards which. */
  readonly index: number
  readonly inputShape: Shape
  readonly attributes: unknown
  /** The right product, or what the right rule makes of other values. */
  right(changes?: Changes): Tensor
}

/** What the right rule is told instead. */
export interface Changes {
  readonly g?: Tensor
  readonly inputs?: readonly Tensor[]
  readonly output?: Tensor
  /** Shape of the input towards which. */
  readonly inputShape?: Shape
  readonly attributes?: unknown
}

/** A wrong product; null where the mutant is none for this input. */
export type WrongRule = (call: Call) => Tensor | null

/** The same function, differentiated with a wrong rule for the operations of one name. */
export function withWrongRule(fn: Case['fn'], name: string, rule: WrongRule): Case['fn'] {
  return (...inputs) =>
    withObserver(
      (operation, operands, attributes, output) => {
        if (operation.name !== name || output.node === null) return
        const mutant = mutantOf(operation, operands.length, rule)
        output.node = entryFor(mutant, operands, attributes, output, isRecorded)
      },
      () => fn(...inputs),
    )
}

function isRecorded(x: Tensor): boolean {
  return x.node !== null
}

/** The operation with the wrong rule. It saves whatever there is. */
function mutantOf(operation: Operation, count: number, rule: WrongRule): Operation {
  const { derivatives, name } = operation
  if (derivatives === null) throw new Error(`${name} has no rules`)
  if (isJoint(derivatives)) {
    const joint = (g: Tensor, node: TapeNode) => {
      const right = (index: number, changes: Changes = {}) =>
        derivatives.joint(changes.g ?? g, changed(node, index, changes))[index] ?? null
      return node.parents.map((_, index) =>
        right(index) === null ? null : wrong(rule, g, node, index, (changes) => right(index, changes) as Tensor),
      )
    }
    return { ...operation, derivatives: { ...derivatives, joint } }
  }
  return {
    ...operation,
    derivatives: {
      saves: [...Array(count).keys(), OUTPUT],
      rule: (g, node, index) => {
        const own = derivativeFor(derivatives, index)
        if (own === null) throw new Error(`${name} has no rule for input ${index}`)
        return wrong(rule, g, node, index, (changes = {}) =>
          own.rule(changes.g ?? g, changed(node, index, changes), index),
        )
      },
    },
  }
}

/** What a wrong rule gives; the right product where the mutant is none. */
function wrong(rule: WrongRule, g: Tensor, node: TapeNode, index: number, right: Call['right']): Tensor {
  const inputs = node.saved.slice(0, node.parents.length) as Tensor[]
  const { output, attributes } = node
  return rule({ g, inputs, output, index, inputShape: node.inputShape(index), attributes, right }) ?? right()
}

/** The entry as the right rule sees it. */
function changed(node: TapeNode, index: number, changes: Changes): TapeNode {
  const count = node.parents.length
  const { inputs = node.saved.slice(0, count), output = node.output, attributes = node.attributes } = changes
  const { inputShape } = changes
  const inputShapes = node.inputShapes.map((shape, i) => (i === index ? (inputShape ?? shape) : shape))
  return Object.create(node, {
    saved: { value: [...inputs, ...node.saved.slice(count, -1), output] },
    inputShapes: { value: inputShapes },
    attributes: { value: attributes },
  })
}
