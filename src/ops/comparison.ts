// Elementwise comparisons. Results are bool; no gradient passes.
import type { Tensor } from '../core/tensor.js'
import { checkTensor, constant, type Operand } from './arguments.js'
import { binary } from './elementwise.js'

type Comparison = (a: Operand, b: Operand) => Tensor

const bool = { result: 'bool' } as const

/** `a = b`, as bool. Broadcasts; promotes. NaN equals nothing. */
export const eq: Comparison = binary('eq', 'equal', null, bool)

/** `a ≠ b`, as bool. Broadcasts; promotes. */
export const ne: Comparison = binary('ne', 'notEqual', null, bool)

/** `a < b`, as bool. Broadcasts; promotes. */
export const lt: Comparison = binary('lt', 'less', null, bool)

/** `a ≤ b`, as bool. Broadcasts; promotes. */
export const le: Comparison = binary('le', 'lessOrEqual', null, bool)

/** `a > b`, as bool. Broadcasts; promotes. */
export const gt: Comparison = binary('gt', 'less', null, { ...bool, swapped: true })

/** `a ≥ b`, as bool. Broadcasts; promotes. */
export const ge: Comparison = binary('ge', 'lessOrEqual', null, { ...bool, swapped: true })

const both = binary('logicalAnd', 'minimum', null)
const either = binary('logicalOr', 'maximum', null)

/** Whether both are not 0, as bool. Broadcasts. */
export function logicalAnd(a: Tensor, b: Tensor): Tensor {
  return both(truth('logicalAnd', a), truth('logicalAnd', b))
}

/** Whether either is not 0, as bool. Broadcasts. */
export function logicalOr(a: Tensor, b: Tensor): Tensor {
  return either(truth('logicalOr', a), truth('logicalOr', b))
}

/** Whether x is 0, as bool. */
export function logicalNot(x: Tensor): Tensor {
  checkTensor('logicalNot', x)
  return eq(x, constant(0, x.dtype))
}

function truth(op: string, x: Tensor): Tensor {
  checkTensor(op, x)
  return x.dtype === 'bool' ? x : ne(x, constant(0, x.dtype))
}
