// What wrong derivatives are written with.
import fc, { type Arbitrary } from 'fast-check'
import type { Tensor } from '../../../src/index.js'
import * as w from '../../../src/index.js'
import { tensors } from '../../../src/testing/fast-check.js'
import type { Case } from '../catalogue.js'
import type { Call, WrongRule } from '../substitute.js'

/** One wrong derivative: what is wrong, the rule, and where it is made. */
export type Mistake = readonly [kind: string, rule: WrongRule, place?: Place]

export interface Place {
  /** The operation that has it, within the function; default: the one of the same name. */
  readonly operation?: string
  /** Points at which it can show; default: those of the catalogue. */
  readonly cases?: Arbitrary<Case>
}

/** Mistakes by the functions in which they are made. */
export type Mistakes = Readonly<Record<string, readonly Mistake[]>>

/** The shape of matrices in which rows can be taken for columns. */
export const square = [3, 3] as const

/** In the operation itself, at tensors of these shapes with numbers that differ. */
export function at(fn: (...inputs: Tensor[]) => Tensor, ...shapes: (readonly number[])[]): { cases: Arbitrary<Case> } {
  const inputs = shapes.map((shape) => tensors({ requiresGrad: true, shape, separation: 1 / 64 }))
  return { cases: fc.tuple(...inputs).map((point) => ({ fn, inputs: point })) }
}

/** The first input, and the output. */
export const x = ({ inputs }: Call) => inputs[0] as Tensor
export const y = ({ output }: Call) => output
/** Of two operands the one towards which, and the other one. */
export const operand = ({ inputs, index }: Call) => inputs[index] as Tensor
export const other = ({ inputs, index }: Call) => inputs[1 - index] as Tensor

/** The rule of an elementwise function with this slope. */
export function slope(of: (call: Call) => Tensor): WrongRule {
  return (call) => summedTo(w.mul(call.g, of(call)), call.inputShape)
}

/** A mistake towards one of the inputs alone. */
export function towards(index: number, rule: WrongRule): WrongRule {
  return (call) => (call.index === index ? rule(call) : null)
}

/** The operands in each other's place. */
export const swapped: WrongRule = ({ inputs, right }) => right({ inputs: [...inputs].reverse() })

/** The right rule, told other attributes. */
export function told(attributes: object): WrongRule {
  return (call) => call.right({ attributes: { ...(call.attributes as object), ...attributes } })
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}

/** The sum over the axes along which `shape` was broadcast to that of the tensor. */
export function summedTo(value: Tensor, shape: readonly number[]): Tensor {
  const lead = value.ndim - shape.length
  const axis = [...value.shape.keys()].filter((i) => i < lead || (shape[i - lead] === 1 && value.shape[i] !== 1))
  return w.reshape(w.sum(value, { axis }), [...shape])
}

/** The first of the slices along the axes along which `shape` was broadcast. */
export function firstSlice(value: Tensor, shape: readonly number[]): Tensor {
  const lead = value.ndim - shape.length
  const end = value.shape.map((size, i) => (i < lead ? 1 : Math.min(size, shape[i - lead] as number)))
  return w.reshape(w.slice(value, [], end), [...shape])
}

/** The tensor with a 0 in the last place. */
export function exceptLast(value: Tensor): Tensor {
  const kept = new Float64Array(value.size).fill(1)
  kept[kept.length - 1] = 0
  return w.mul(value, w.tensor(kept, { shape: value.shape }))
}
