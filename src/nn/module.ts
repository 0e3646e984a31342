import { ArgumentError } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { copy_, detach } from '../ops/copy.js'
import { Parameter } from './parameter.js'

/** Named tensors: what a module has learned. */
export type StateDict = Record<string, Tensor>

/**
 * A part of a network: its fields that are parameters, modules, or arrays of either are its parts. Subclasses assign
 * them in the constructor and define what they compute (`forward`, by custom).
 */
export abstract class Module {
  /** Whether the module is being trained (the default) or evaluated. */
  training = true

  /** The parameters of this module and its parts by name (`layers.0.weight`), in the order of their assignment. */
  namedParameters(): [string, Parameter][] {
    const found: [string, Parameter][] = []
    findParameters(this, '', new Set(), (parameter, name) => found.push([name, parameter]))
    return found
  }

  /** The parameters of this module and its parts. */
  parameters(): Parameter[] {
    const found: Parameter[] = []
    findParameters(this, null, new Set(), (parameter) => found.push(parameter))
    return found
  }

  /** This module and all modules among its parts. */
  modules(): Module[] {
    const found: Module[] = []
    const visit = (value: unknown): void => {
      if (value instanceof Module) {
        if (found.includes(value)) return
        found.push(value)
      } else if (!Array.isArray(value)) return
      for (const part of Object.values(value)) visit(part)
    }
    visit(this)
    return found
  }

  /** Copies of all parameters by name. */
  stateDict(): StateDict {
    return Object.fromEntries(this.namedParameters().map(([name, parameter]) => [name, detach(parameter).clone()]))
  }

  /**
   * Writes tensors into the parameters of the same names, in place.
   *
   * @throws ArgumentError where names or shapes do not match exactly; it lists them all, and nothing is changed
   */
  loadStateDict(state: StateDict): void {
    if (typeof state !== 'object' || state === null) {
      throw new ArgumentError(`loadStateDict: the state must be an object of named tensors, got ${String(state)}`)
    }
    const parameters = new Map(this.namedParameters())
    const missing = [...parameters.keys()].filter((name) => !Object.hasOwn(state, name))
    const unexpected = Object.keys(state).filter((name) => !parameters.has(name))
    const wrong = [...parameters].flatMap(([name, parameter]) => {
      const given = Object.hasOwn(state, name) ? state[name] : undefined
      if (given === undefined) return []
      if (!isTensor(given)) return [`${name} is no tensor`]
      if (sameShape(given.shape, parameter.shape)) return []
      return [`${name} has shape ${showShape(given.shape)} instead of ${showShape(parameter.shape)}`]
    })
    if (missing.length + unexpected.length + wrong.length > 0) {
      const parts = [
        missing.length > 0 ? `missing: ${missing.join(', ')}` : '',
        unexpected.length > 0 ? `unexpected: ${unexpected.join(', ')}` : '',
        ...wrong,
      ]
      throw new ArgumentError(`loadStateDict: the names or shapes do not match; ${parts.filter(Boolean).join('; ')}`)
    }
    for (const [name, parameter] of parameters) copy_(parameter, state[name] as Tensor)
  }

  /** Sets this module and its parts to be trained, or not. */
  train(training = true): this {
    for (const module of this.modules()) module.training = training
    return this
  }

  /** Sets this module and its parts to be evaluated. */
  eval(): this {
    return this.train(false)
  }

  /** Sets the gradients of all parameters to null. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.grad = null
  }
}

/** Shows every parameter in a value, once, with its name; names are not made where the value's own is null. */
function findParameters<Name extends string | null>(
  value: unknown,
  name: Name,
  seen: Set<unknown>,
  see: (parameter: Parameter, name: Name) => void,
): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  if (value instanceof Parameter) {
    seen.add(value)
    see(value, name)
  } else if (value instanceof Module || Array.isArray(value)) {
    seen.add(value)
    for (const key of Object.keys(value)) {
      const part: unknown = (value as unknown as Record<string, unknown>)[key]
      findParameters(part, (name === null ? null : name === '' ? key : `${name}.${key}`) as Name, seen, see)
    }
  }
}
