import type { Tensor } from '../core/tensor.js'
import { detach } from '../ops/copy.js'
import { Buffer } from './buffer.js'
import { Parameter } from './parameter.js'
import { type StateDict, writeState } from './state.js'

/**
 * A part of a network: its fields that are parameters, buffers, modules, or arrays of those are its parts. Subclasses
 * assign them in the constructor and define what they compute (`forward`, by custom):
 *
 *     class Gate extends Module {
 *       readonly linear = new Linear(8, 8)
 *       forward(x: Tensor) {
 *         return x.mul(this.linear.forward(x).sigmoid())
 *       }
 *     }
 */
export abstract class Module {
  /** Whether the module is being trained (the default) or evaluated. */
  training = true

  /** The parts by name: the fields. A subclass may name them otherwise. */
  protected parts(): Iterable<readonly [string, unknown]> {
    return Object.entries(this)
  }

  /** Shows this module and everything among its parts, each once, with its name (`layers.0.weight`) if asked for. */
  #visit(see: (name: string, part: Module | Parameter | Buffer) => void, named = true): void {
    const seen = new Set<unknown>()
    const visit = (value: unknown, name: string): void => {
      if (typeof value !== 'object' || value === null || seen.has(value)) return
      const isLeaf = value instanceof Parameter || value instanceof Buffer
      if (!isLeaf && !(value instanceof Module) && !Array.isArray(value)) return
      seen.add(value)
      if (!Array.isArray(value)) see(name, value)
      if (isLeaf) return
      for (const [key, part] of value instanceof Module ? value.parts() : Object.entries(value)) {
        visit(part, named && name !== '' ? `${name}.${key}` : key)
      }
    }
    visit(this, '')
  }

  /** The parameters of this module and its parts by name (`layers.0.weight`), in the order of their assignment. */
  namedParameters(): [string, Parameter][] {
    const found: [string, Parameter][] = []
    this.#visit((name, part) => {
      if (part instanceof Parameter) found.push([name, part])
    })
    return found
  }

  /** The parameters of this module and its parts. */
  parameters(): Parameter[] {
    const found: Parameter[] = []
    this.#visit((_, part) => {
      if (part instanceof Parameter) found.push(part)
    }, false)
    return found
  }

  /** The buffers of this module and its parts by name. */
  namedBuffers(): [string, Buffer][] {
    const found: [string, Buffer][] = []
    this.#visit((name, part) => {
      if (part instanceof Buffer) found.push([name, part])
    })
    return found
  }

  /** The buffers of this module and its parts. */
  buffers(): Buffer[] {
    return this.namedBuffers().map(([, buffer]) => buffer)
  }

  /** This module, named `''`, and all modules among its parts by name. */
  namedModules(): [string, Module][] {
    const found: [string, Module][] = []
    this.#visit((name, part) => {
      if (part instanceof Module) found.push([name, part])
    })
    return found
  }

  /** This module and all modules among its parts. */
  modules(): Module[] {
    return this.namedModules().map(([, module]) => module)
  }

  /** What the state dict holds, by name. */
  #state(): [string, Tensor][] {
    const found: [string, Tensor][] = []
    this.#visit((name, part) => {
      if (part instanceof Parameter || (part instanceof Buffer && part.persistent)) found.push([name, part])
    })
    return found
  }

  /** Copies of all parameters and persistent buffers by name. */
  stateDict(): StateDict {
    return Object.fromEntries(this.#state().map(([name, tensor]) => [name, detach(tensor).clone()]))
  }

  /**
   * Writes tensors into the parameters and persistent buffers of the same names, in place. To load a part of them:
   * `model.loadStateDict({ ...model.stateDict(), ...part })`.
   *
   * @throws ArgumentError where names or shapes do not match exactly; it lists them all, and nothing is changed
   */
  loadStateDict(state: StateDict): void {
    writeState('loadStateDict', this.#state(), state)
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
