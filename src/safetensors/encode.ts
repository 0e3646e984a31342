// Nested plain values as JSON and named tensors, and back. JSON has no tensors and no ∞, −∞, NaN or −0: they become
// objects with one name, { "$tensor": name } and { "$number": text }. Names of the user's that begin with $ get one more.
import { ArgumentError, FormatError, showValue } from '../core/errors.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { METADATA } from './header.js'
import { isPlainObject } from './plain.js'
import { showName } from './scanner.js'

/** What a checkpoint holds: tensors and plain values, nested as you like. Numbers come back with the same bits. */
export type CheckpointValue =
  | null
  | boolean
  | number
  | string
  | Tensor
  | readonly CheckpointValue[]
  | { readonly [name: string]: CheckpointValue }

const TENSOR = '$tensor'
const NUMBER = '$number'
const DEEPEST = 200

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const inJson = (value: number) => Number.isFinite(value) && !Object.is(value, -0)

/** A value as JSON, with its tensors by name: where they stand in it, `optimizer.state.0`. */
export function encode(op: string, root: object): { json: Json; tensors: Record<string, Tensor> } {
  const names = new Map<Tensor, string>()
  const taken = new Set([METADATA])
  const nameFor = (tensor: Tensor, path: string): string => {
    // A tensor that stands in several places is written once. UTF-8 cannot hold half a surrogate pair.
    let name = names.get(tensor) ?? path.replace(/\p{Surrogate}/gu, '\ufffd')
    while (!names.has(tensor) && taken.has(name)) name += "'"
    names.set(tensor, name)
    taken.add(name)
    return name
  }
  const visit = (value: unknown, path: string, depth: number): Json => {
    const where = path === '' ? 'the state' : path
    if (depth > DEEPEST) {
      throw new ArgumentError(`${op}: ${where.slice(0, 80)}… is nested deeper than ${DEEPEST}, or contains itself`)
    }
    if (typeof value === 'number')
      return inJson(value) ? value : { [NUMBER]: Object.is(value, -0) ? '-0' : String(value) }
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
    if (isTensor(value)) return { [TENSOR]: nameFor(value, path) }
    const below = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`)
    if (Array.isArray(value)) return Array.from(value, (item, index) => visit(item, below(index), depth + 1))
    if (!isPlainObject(value)) throw notPlain(op, where, value)
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    return Object.fromEntries(
      entries.map(([name, item]) => {
        if (name === '__proto__') throw new ArgumentError(`${op}: the name __proto__ in ${where} is not allowed`)
        return [name.startsWith('$') ? `$${name}` : name, visit(item, below(name), depth + 1)]
      }),
    )
  }
  const json = visit(root, '', 0)
  return { json, tensors: Object.fromEntries([...names].map(([tensor, name]) => [name, tensor])) }
}

function notPlain(op: string, where: string, value: unknown): ArgumentError {
  const remedy = ArrayBuffer.isView(value)
    ? 'make a tensor of it'
    : 'pass what it holds as numbers, strings, booleans, null, tensors, arrays and plain objects, for example its stateDict()'
  const shown = typeof value === 'object' ? Object.prototype.toString.call(value) : showValue(value)
  return new ArgumentError(`${op}: ${where} is ${shown}, which a checkpoint cannot hold; ${remedy}`)
}

/** The value that `encode` took apart. Every tensor must have its place in it. */
export function decode(op: string, json: unknown, tensors: Readonly<Record<string, Tensor>>): CheckpointValue {
  const used = new Set<string>()
  const visit = (value: unknown, depth: number): CheckpointValue => {
    if (depth > DEEPEST) throw new FormatError(`${op}: the state is nested deeper than ${DEEPEST}`)
    if (Array.isArray(value)) return value.map((item) => visit(item, depth + 1))
    if (!isPlainObject(value)) return value as null | boolean | number | string
    const entries = Object.entries(value)
    const [name, content] = entries[0] ?? ['', null]
    if (name.startsWith('$') && !name.startsWith('$$')) {
      if (entries.length === 1 && name === TENSOR) return findTensor(content)
      if (entries.length === 1 && name === NUMBER) return specialNumber(op, content)
      throw new FormatError(`${op}: the state has ${showName(name)} where a name must stand`)
    }
    return Object.fromEntries(
      entries.map(([key, item]) => {
        if (key === '__proto__') throw new FormatError(`${op}: the name __proto__ in the state is not allowed`)
        return [key.startsWith('$$') ? key.slice(1) : key, visit(item, depth + 1)]
      }),
    )
  }
  const findTensor = (name: unknown): Tensor => {
    if (typeof name !== 'string' || !Object.hasOwn(tensors, name)) {
      throw new FormatError(`${op}: the state refers to the tensor ${showName(showValue(name))}, which is not there`)
    }
    used.add(name)
    return tensors[name] as Tensor
  }
  const result = visit(json, 0)
  const unused = Object.keys(tensors).find((name) => !used.has(name))
  if (unused !== undefined) throw new FormatError(`${op}: the tensor ${showName(unused)} has no place in the state`)
  return result
}

function specialNumber(op: string, text: unknown): number {
  const value = Number(text)
  if (typeof text !== 'string' || inJson(value) || (Object.is(value, -0) ? '-0' : String(value)) !== text) {
    throw new FormatError(`${op}: the state has ${showName(showValue(text))} where ∞, NaN or −0 must stand`)
  }
  return value
}
