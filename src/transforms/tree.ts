// Nested plain objects and arrays of tensors.
import { checkFloating } from '../core/dtype.js'
import { ArgumentError, DTypeError, ShapeError } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'

/** A tree of the same form, with a tensor for each of its tensors: gradients of parameters, for example. */
export type TensorsLike<Tree> = Tree extends Tensor
  ? Tensor
  : Tree extends object
    ? { [Key in keyof Tree]: TensorsLike<Tree[Key]> }
    : Tree

/** A tree taken apart. */
export interface Flat {
  readonly leaves: readonly Tensor[]
  /** Where each leaf stands, as text: `.layers[0].weight`; empty for a tree that is one tensor. */
  readonly paths: readonly string[]
  /** A tree of the same form, with these leaves in the order of `leaves`. */
  rebuild(leaves: readonly unknown[]): unknown
}

/** Trees of the given forms, with the leaves of all of them in one row. */
export function rebuildAll(flats: readonly Flat[], leaves: readonly unknown[]): unknown[] {
  let used = 0
  return flats.map((flat) => {
    used += flat.leaves.length
    return flat.rebuild(leaves.slice(used - flat.leaves.length, used))
  })
}

type Rebuild = (leaves: readonly unknown[]) => unknown

/**
 * Takes a tree apart: a tensor, or plain objects and arrays of trees. `null` and `undefined` are trees without
 * tensors, and stay as they are.
 *
 * @param what the tree's place in the call, for messages
 * @throws ArgumentError for anything else, naming its path
 */
export function flatten(op: string, tree: unknown, what: string): Flat {
  const leaves: Tensor[] = []
  const paths: string[] = []
  const ancestors = new Set<unknown>()
  const visit = (value: unknown, path: string): Rebuild => {
    if (isTensor(value)) {
      leaves.push(value)
      paths.push(path)
      const place = leaves.length - 1
      return (given) => given[place]
    }
    if (value === null || value === undefined) return () => value
    if (!Array.isArray(value) && !isPlainObject(value)) throw notATree(op, value, what + path)
    if (ancestors.has(value)) throw new ArgumentError(`${op}: ${what}${path} contains itself`)
    ancestors.add(value)
    const parts = Object.entries(value).map(
      ([key, part]) => [key, visit(part, path + (Array.isArray(value) ? `[${key}]` : `.${key}`))] as const,
    )
    ancestors.delete(value)
    return Array.isArray(value)
      ? (given) => parts.map(([, rebuild]) => rebuild(given))
      : (given) => Object.fromEntries(parts.map(([key, rebuild]) => [key, rebuild(given)]))
  }
  const rebuild = visit(tree, '')
  return { leaves, paths, rebuild }
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function notATree(op: string, value: unknown, what: string): ArgumentError {
  if (value instanceof Promise) {
    return new ArgumentError(`${op}: ${what} is a Promise; only synchronous functions can be differentiated`)
  }
  if (typeof value === 'object' && value !== null) {
    // A tensor of another copy of the library has a message of its own.
    if ('storage' in value) checkTensor(op, value, what)
    const name: unknown = value.constructor?.name
    return new ArgumentError(
      `${op}: ${what} is an instance of ${String(name)}; trees are made of plain objects, arrays and tensors (of a module, pass an object of its parameters)`,
    )
  }
  return new ArgumentError(
    `${op}: ${what} must be a tensor, or plain objects and arrays of tensors, got ${typeof value}; wrap numbers with tensor(...)`,
  )
}

/** A tree whose tensors are to be differentiated with respect to: floating, and at least one. */
export function flattenFloating(op: string, tree: unknown, what: string): Flat {
  const flat = flatten(op, tree, what)
  if (flat.leaves.length === 0) throw new ArgumentError(`${op}: ${what} holds no tensor`)
  flat.leaves.forEach(({ dtype }, i) => {
    try {
      checkFloating(op, dtype)
    } catch (error) {
      if (!(error instanceof DTypeError)) throw error
      throw new DTypeError(
        `${op}: ${what}${flat.paths[i]} is ${dtype}, which has no derivative; convert it with to('float32'), or leave it out`,
      )
    }
  })
  return flat
}

/**
 * The tensors of a tree built like `model`, in the order of the model's.
 *
 * @throws ArgumentError where the trees differ, ShapeError or DTypeError where a tensor is not like its model
 */
export function leavesLike(op: string, tree: unknown, what: string, model: Flat, whatModel: string): Tensor[] {
  const { leaves, paths } = flatten(op, tree, what)
  const missing = model.paths.find((path) => !paths.includes(path))
  const excess = paths.find((path) => !model.paths.includes(path))
  if (missing !== undefined || excess !== undefined) {
    const difference =
      missing === undefined ? `${what}${excess} is not in ${whatModel}` : `there is no tensor ${what}${missing}`
    throw new ArgumentError(`${op}: ${what} must be built like ${whatModel}: ${difference}`)
  }
  return model.leaves.map((like, i) => {
    const path = model.paths[i] as string
    const leaf = leaves[paths.indexOf(path)] as Tensor
    if (!sameShape(leaf.shape, like.shape)) {
      throw new ShapeError(
        `${op}: ${what}${path} has shape ${showShape(leaf.shape)}, ${whatModel}${path} has ${showShape(like.shape)}; they must be equal`,
      )
    }
    if (leaf.dtype !== like.dtype) {
      throw new DTypeError(
        `${op}: ${what}${path} is ${leaf.dtype}, ${whatModel}${path} is ${like.dtype}; they must be equal`,
      )
    }
    return leaf
  })
}

/** Throws unless `fn` is a function. */
export function checkFunction(op: string, fn: unknown): void {
  if (typeof fn === 'function') return
  throw new ArgumentError(`${op}: needs a function of tensors, got ${isTensor(fn) ? 'a tensor' : typeof fn}`)
}
