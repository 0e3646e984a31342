// The functions of tensors as methods. Tensor itself stays free of them, so that imports point one way.
import { type BackwardOptions, backward } from './autograd/backward.js'
import type { DType } from './core/dtype.js'
import type { Shape } from './core/shape.js'
import { Tensor } from './core/tensor.js'
import type { Operand } from './ops/arguments.js'
import * as ops from './ops/index.js'
import type { ReductionOptions } from './ops/reduce.js'
import type { PositionOptions, VarianceOptions } from './ops/reductions.js'

/** The operations that read well as methods: `x.op(…)` is `op(x, …)`. */
export interface TensorMethods {
  /** See {@link ops.neg}. */
  neg(): Tensor
  /** See {@link ops.abs}. */
  abs(): Tensor
  /** See {@link ops.sign}. */
  sign(): Tensor
  /** See {@link ops.exp}. */
  exp(): Tensor
  /** See {@link ops.log}. */
  log(): Tensor
  /** See {@link ops.sqrt}. */
  sqrt(): Tensor
  /** See {@link ops.square}. */
  square(): Tensor
  /** See {@link ops.reciprocal}. */
  reciprocal(): Tensor
  /** See {@link ops.tanh}. */
  tanh(): Tensor
  /** See {@link ops.sigmoid}. */
  sigmoid(): Tensor
  /** See {@link ops.relu}. */
  relu(): Tensor
  /** See {@link ops.erf}. */
  erf(): Tensor
  /** See {@link ops.gelu}. */
  gelu(options?: Parameters<typeof ops.gelu>[1]): Tensor
  /** See {@link ops.add}. */
  add(other: Operand): Tensor
  /** See {@link ops.sub}. */
  sub(other: Operand): Tensor
  /** See {@link ops.mul}. */
  mul(other: Operand): Tensor
  /** See {@link ops.div}. */
  div(other: Operand): Tensor
  /** See {@link ops.pow}. */
  pow(other: Operand): Tensor
  /** See {@link ops.maximum}. */
  maximum(other: Operand): Tensor
  /** See {@link ops.minimum}. */
  minimum(other: Operand): Tensor
  /** See {@link ops.eq}. */
  eq(other: Operand): Tensor
  /** See {@link ops.ne}. */
  ne(other: Operand): Tensor
  /** See {@link ops.lt}. */
  lt(other: Operand): Tensor
  /** See {@link ops.le}. */
  le(other: Operand): Tensor
  /** See {@link ops.gt}. */
  gt(other: Operand): Tensor
  /** See {@link ops.ge}. */
  ge(other: Operand): Tensor
  /** See {@link ops.logicalAnd}. */
  logicalAnd(other: Tensor): Tensor
  /** See {@link ops.logicalOr}. */
  logicalOr(other: Tensor): Tensor
  /** See {@link ops.logicalNot}. */
  logicalNot(): Tensor
  /** See {@link ops.scale}. */
  scale(factor: number): Tensor
  /** See {@link ops.maskedFill}. */
  maskedFill(mask: Tensor, value: number): Tensor
  /** See {@link ops.sum}. */
  sum(options?: ReductionOptions): Tensor
  /** See {@link ops.mean}. */
  mean(options?: ReductionOptions): Tensor
  /** See {@link ops.max}. */
  max(options?: ReductionOptions): Tensor
  /** See {@link ops.min}. */
  min(options?: ReductionOptions): Tensor
  /** See {@link ops.argmax}. */
  argmax(options?: PositionOptions): Tensor
  /** See {@link ops.argmin}. */
  argmin(options?: PositionOptions): Tensor
  /** See {@link ops.variance}. */
  variance(options?: VarianceOptions): Tensor
  /** See {@link ops.reshape}. */
  reshape(shape: Shape): Tensor
  /** See {@link ops.transpose}. */
  transpose(axis0?: number, axis1?: number): Tensor
  /** See {@link ops.permute}. */
  permute(axes: readonly number[]): Tensor
  /** See {@link ops.squeeze}. */
  squeeze(axis?: number | readonly number[]): Tensor
  /** See {@link ops.unsqueeze}. */
  unsqueeze(axis: number): Tensor
  /** See {@link ops.flatten}. */
  flatten(startAxis?: number, endAxis?: number): Tensor
  /** See {@link ops.broadcastTo}. */
  broadcastTo(shape: Shape): Tensor
  /** See {@link ops.split}. */
  split(sizes: number | readonly number[], axis?: number): Tensor[]
  /** See {@link ops.unstack}. */
  unstack(axis?: number): Tensor[]
  /** See {@link ops.slice}. */
  slice(start: number | readonly number[], end?: number | readonly number[], step?: number | readonly number[]): Tensor
  /** See {@link ops.indexSelect}. */
  indexSelect(axis: number, indices: Tensor): Tensor
  /** See {@link ops.matmul}. */
  matmul(other: Tensor): Tensor
  /** See {@link ops.softmax}. */
  softmax(axis?: number): Tensor
  /** See {@link ops.logSoftmax}. */
  logSoftmax(axis?: number): Tensor
  /** See {@link ops.to}. */
  to(dtype: DType): Tensor
  /** See {@link ops.clone}. */
  clone(): Tensor
  /** See {@link ops.detach}. */
  detach(): Tensor
  /** See {@link ops.copy_}. */
  copy_(source: Tensor): Tensor
  /** See {@link backward}. */
  backward(cotangent?: Tensor | null, options?: BackwardOptions): void
}

const methods = {
  abs: ops.abs,
  add: ops.add,
  argmax: ops.argmax,
  argmin: ops.argmin,
  broadcastTo: ops.broadcastTo,
  clone: ops.clone,
  copy_: ops.copy_,
  detach: ops.detach,
  div: ops.div,
  eq: ops.eq,
  erf: ops.erf,
  exp: ops.exp,
  flatten: ops.flatten,
  ge: ops.ge,
  gelu: ops.gelu,
  gt: ops.gt,
  indexSelect: ops.indexSelect,
  le: ops.le,
  log: ops.log,
  logSoftmax: ops.logSoftmax,
  logicalAnd: ops.logicalAnd,
  logicalNot: ops.logicalNot,
  logicalOr: ops.logicalOr,
  lt: ops.lt,
  maskedFill: ops.maskedFill,
  matmul: ops.matmul,
  max: ops.max,
  maximum: ops.maximum,
  mean: ops.mean,
  min: ops.min,
  minimum: ops.minimum,
  mul: ops.mul,
  ne: ops.ne,
  neg: ops.neg,
  permute: ops.permute,
  pow: ops.pow,
  reciprocal: ops.reciprocal,
  relu: ops.relu,
  reshape: ops.reshape,
  scale: ops.scale,
  sigmoid: ops.sigmoid,
  sign: ops.sign,
  slice: ops.slice,
  softmax: ops.softmax,
  split: ops.split,
  sqrt: ops.sqrt,
  square: ops.square,
  squeeze: ops.squeeze,
  sub: ops.sub,
  sum: ops.sum,
  tanh: ops.tanh,
  to: ops.to,
  transpose: ops.transpose,
  unsqueeze: ops.unsqueeze,
  unstack: ops.unstack,
  variance: ops.variance,
  backward,
} as Record<string, (x: Tensor, a?: unknown, b?: unknown, c?: unknown) => unknown>

for (const [name, operation] of Object.entries(methods)) {
  Object.defineProperty(Tensor.prototype, name, {
    // A fixed number of arguments is faster than a rest parameter; missing ones take their defaults.
    value(this: Tensor, a?: unknown, b?: unknown, c?: unknown) {
      return operation(this, a, b, c)
    },
    writable: true,
    configurable: true,
  })
}
