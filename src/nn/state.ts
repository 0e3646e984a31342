import { ArgumentError, showValue } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { copy_ } from '../ops/copy.js'

/** Named tensors: what a module has learned. */
export type StateDict = Record<string, Tensor>

/**
 * Writes tensors into others of the same names, in place.
 *
 * @throws ArgumentError where names or shapes do not match exactly; it lists them all, and nothing is changed
 */
export function writeState(op: string, targets: readonly (readonly [string, Tensor])[], state: StateDict): void {
  checkState(op, state)
  const present = new Map(targets)
  const missing = [...present.keys()].filter((name) => !Object.hasOwn(state, name))
  const unexpected = Object.keys(state).filter((name) => !present.has(name))
  const wrong = [...present].flatMap(([name, tensor]) => {
    if (!Object.hasOwn(state, name)) return []
    const given: unknown = state[name]
    if (!isTensor(given)) return [`${name} is no tensor`]
    if (sameShape(given.shape, tensor.shape)) return []
    return [`${name} has shape ${showShape(given.shape)} instead of ${showShape(tensor.shape)}`]
  })
  if (missing.length + unexpected.length + wrong.length > 0) {
    const parts = [
      missing.length > 0 ? `missing: ${missing.join(', ')}` : '',
      unexpected.length > 0 ? `unexpected: ${unexpected.join(', ')}` : '',
      ...wrong,
    ]
    throw new ArgumentError(`${op}: the names or shapes do not match; ${parts.filter(Boolean).join('; ')}`)
  }
  for (const [name, tensor] of present) copy_(tensor, state[name] as Tensor)
}

/** Throws unless a state is an object. */
export function checkState(op: string, state: unknown): void {
  if (typeof state === 'object' && state !== null) return
  throw new ArgumentError(`${op}: the state must be an object of named tensors, got ${showValue(state)}`)
}
