// Forward mode. A tensor carries tangents, one for each forward pass under way that reaches it, told apart by tags;
// when an operation has run, its output's tangents are made from its inputs'. Nothing is kept for later, so memory does
// not grow with depth.
//
// The product J t comes from the operation's own vector-Jacobian rule: g ↦ gᵀJ is linear in g, so its derivative
// towards g, applied to t, is J t, whatever g. The rule is recorded at g = 0 and swept at once.
import { isFloating } from '../core/dtype.js'
import { GradientError } from '../core/errors.js'
import type { TapeNode } from '../core/node.js'
import {
  derivativeFor,
  entryFor,
  isJoint,
  isRecording,
  type Observer,
  type Operation,
  withObserver,
  withRecording,
} from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { closeScope, disown, openScope } from '../memory/scope.js'
import { zerosView } from '../ops/arguments.js'
import { unwatched } from './anomaly.js'
import { withCollector } from './collect.js'
import { entriesBetween } from './entries.js'
import { pullBack } from './vjp.js'

let tags = 0
/** The tags of the passes under way, the outermost first. */
let active: readonly number[] = []
let propagating = true

/** Whether operations make tangents at present. */
export function isPropagating(): boolean {
  return propagating
}

/** Runs `fn` with tangents passed on, or not. */
export function withPropagation<Result>(enabled: boolean, fn: () => Result): Result {
  const before = propagating
  propagating = enabled
  try {
    return fn()
  } finally {
    propagating = before
  }
}

/** Runs a forward pass: `fn` gets the tag under which it gives tangents to its tensors. */
export function forwardPass<Result>(fn: (tag: number) => Result): Result {
  const before = active
  const tag = ++tags
  active = propagating ? [...active, tag] : [tag]
  try {
    return withObserver(propagate, () => withPropagation(true, () => fn(tag)))
  } finally {
    active = before
  }
}

/** Gives a tensor a tangent. */
export function setTangent(x: Tensor, tag: number, tangent: Tensor): void {
  x.tangents ??= new Map()
  x.tangents.set(tag, tangent)
}

const propagate: Observer = (operation, inputs, attributes, output) => {
  if (!propagating || operation.derivatives === null || !isFloating(output.dtype)) return
  const passes = active
  // The outer passes first: the tangents of an inner one are made of values that carry the tangents of the outer ones.
  passes.forEach((tag, depth) => {
    if (!inputs.some((input) => input.tangents?.has(tag))) return
    active = passes.slice(0, depth)
    try {
      const tangent = unwatched(() =>
        withCollector(null, () => pushForward(operation, inputs, attributes, output, tag)),
      )
      if (tangent !== null) setTangent(output, tag, tangent)
    } finally {
      active = passes
    }
  })
}

/** The Jacobian-vector product of one call: Σ over the inputs that carry a tangent. */
function pushForward(
  operation: Operation,
  inputs: readonly Tensor[],
  attributes: unknown,
  output: Tensor,
  tag: number,
): Tensor | null {
  const carries = (x: Tensor) => x.tangents?.has(tag) === true
  const call = entryFor(operation, inputs, attributes, output, carries)
  const mark = openScope()
  let tangent: Tensor | null = null
  try {
    const cotangent = zerosView(output).requiresGrad_()
    const start = cotangent.node as TapeNode
    const roots: TapeNode[] = []
    const seeds: Tensor[] = []
    withRecording(true, () => {
      const derivatives = operation.derivatives as NonNullable<Operation['derivatives']>
      const all = isJoint(derivatives) ? derivatives.joint(cotangent, call) : null
      inputs.forEach((input, i) => {
        const given = input.tangents?.get(tag)
        if (given === undefined) return
        const product = isJoint(derivatives)
          ? (all?.[i] ?? null)
          : (derivativeFor(derivatives, i)?.rule(cotangent, call, i) ?? null)
        if (product === null) return
        if (product.node !== null) {
          roots.push(product.node)
          seeds.push(given)
        } else if (all !== null) {
          throw new GradientError(
            `jvp: the rule of "${operation.name}" is not made of operations on its cotangent, so that it cannot be used in forward mode; return null for an input that no cotangent reaches`,
          )
        }
      })
    })
    start.retired = true
    const course = entriesBetween(roots, [start])
    const createGraph = isRecording() && (course.outside || seeds.some(({ node }) => node !== null))
    tangent = pullBack(course, roots, seeds, [start], { createGraph })[0] ?? null
  } finally {
    // It lives as long as the output that carries it, which no scope can know.
    if (tangent !== null) tangent.storage.escaped = true
    closeScope(mark, null)
    for (const tensor of call.saved) if (tensor !== null) disown(tensor.storage)
  }
  return tangent
}
