// How modules call the layers that they are made of.
import { ArgumentError } from '../core/errors.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import { Module } from './module.js'

/** A module from one tensor to one tensor, or a function that is one. */
export type Layer = (Module & { forward(x: Tensor): Tensor }) | ((x: Tensor) => Tensor)

/** Modules whose `forward` keeps none of the tensors that it sees, by prototype. */
const discreet = new WeakMap<object, unknown>()

/** Declares that a class's `forward` keeps no tensor, neither its input nor what it makes on the way. */
export function keepsNothing(layer: { readonly prototype: { forward(x: Tensor): Tensor } }): void {
  discreet.set(layer.prototype, layer.prototype.forward)
}

/**
 * The output of a layer. What is not the library's own may keep the tensors that it sees: they are the user's then.
 */
export function run<Rest extends readonly unknown[]>(
  layer: { forward(x: Tensor, ...rest: Rest): Tensor } | ((x: Tensor, ...rest: Rest) => Tensor),
  x: Tensor,
  ...rest: Rest
): Tensor {
  if (typeof layer !== 'function' && discreet.get(Object.getPrototypeOf(layer)) === layer.forward) {
    return layer.forward(x, ...rest)
  }
  x.storage.escaped = true
  return publicly(() => {
    const y: unknown = typeof layer === 'function' ? layer(x, ...rest) : layer.forward(x, ...rest)
    if (!isTensor(y))
      throw new ArgumentError(`forward: a layer must return a tensor, got ${y === null ? 'null' : typeof y}`)
    return y
  })
}

/** Throws unless `layer` is one. */
export function checkLayer(op: string, layer: unknown): void {
  if (typeof layer === 'function' && layer.prototype instanceof Module) {
    throw new ArgumentError(`${op}: ${layer.name} is a class; make a layer of it with new ${layer.name}(…)`)
  }
  const isModule = layer instanceof Module && 'forward' in layer && typeof layer.forward === 'function'
  if (!isModule && typeof layer !== 'function') {
    throw new ArgumentError(`${op}: a layer is a module with forward(x), or a function of x, got ${typeof layer}`)
  }
}
