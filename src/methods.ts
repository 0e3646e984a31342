// The functions of tensors as methods. Tensor itself stays free of them, so that imports point one way.
import { type BackwardOptions, backward } from './autograd/backward.js'
import { registerHook, retainGrad } from './autograd/hooks.js'
import type { DType } from './core/dtype.js'
import type { Hook } from './core/node.js'
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
  /** See {@link ops.expm1}. */
  expm1(): Tensor
  /** See {@link ops.log1p}. */
  log1p(): Tensor
  /** See {@link ops.rsqrt}. */
  rsqrt(): Tensor
  /** See {@link ops.sin}. */
  sin(): Tensor
  /** See {@link ops.cos}. */
  cos(): Tensor
  /** See {@link ops.tan}. */
  tan(): Tensor
  /** See {@link ops.silu}. */
  silu(): Tensor
  /** See {@link ops.softplus}. */
  softplus(): Tensor
  /** See {@link ops.logSigmoid}. */
  logSigmoid(): Tensor
  /** See {@link ops.floor}. */
  floor(): Tensor
  /** See {@link ops.ceil}. */
  ceil(): Tensor
  /** See {@link ops.round}. */
  round(): Tensor
  /** See {@link ops.leakyRelu}. */
  leakyRelu(options?: Parameters<typeof ops.leakyRelu>[1]): Tensor
  /** See {@link ops.elu}. */
  elu(options?: Parameters<typeof ops.elu>[1]): Tensor
  /** See {@link ops.hardtanh}. */
  hardtanh(options?: ops.ClampOptions): Tensor
  /** See {@link ops.clamp}. */
  clamp(options: ops.ClampOptions): Tensor
  /** See {@link ops.prod}. */
  prod(options?: ReductionOptions): Tensor
  /** See {@link ops.logsumexp}. */
  logsumexp(options?: ReductionOptions): Tensor
  /** See {@link ops.norm}. */
  norm(options?: ReductionOptions): Tensor
  /** See {@link ops.all}. */
  all(options?: ReductionOptions): Tensor
  /** See {@link ops.any}. */
  any(options?: ReductionOptions): Tensor
  /** See {@link ops.std}. */
  std(options?: VarianceOptions): Tensor
  /** See {@link ops.cumsum}. */
  cumsum(axis: number): Tensor
  /** See {@link ops.cumprod}. */
  cumprod(axis: number): Tensor
  /** See {@link ops.chunk}. */
  chunk(chunks: number, axis?: number): Tensor[]
  /** See {@link ops.pad}. */
  pad(padding: Parameters<typeof ops.pad>[1], options?: Parameters<typeof ops.pad>[2]): Tensor
  /** See {@link ops.tril}. */
  tril(options?: ops.TriangleOptions): Tensor
  /** See {@link ops.triu}. */
  triu(options?: ops.TriangleOptions): Tensor
  /** See {@link ops.flip}. */
  flip(axes?: number | readonly number[]): Tensor
  /** See {@link ops.roll}. */
  roll(shift: number | readonly number[], axis?: number | readonly number[]): Tensor
  /** See {@link ops.tile}. */
  tile(repeats: number | readonly number[]): Tensor
  /** See {@link ops.repeatInterleave}. */
  repeatInterleave(repeats: number | readonly number[], axis?: number): Tensor
  /** See {@link ops.gather}. */
  gather(axis: number, indices: Tensor): Tensor
  /** See {@link ops.dot}. */
  dot(other: Tensor): Tensor
  /** See {@link ops.outer}. */
  outer(other: Tensor): Tensor
  /** See {@link ops.diag}. */
  diag(options?: ops.TriangleOptions): Tensor
  /** See {@link ops.diagonal}. */
  diagonal(options?: ops.DiagonalOptions): Tensor
  /** See {@link ops.trace}. */
  trace(): Tensor
  /** See {@link ops.sort}. */
  sort(options?: ops.SortOptions): ops.Ordered
  /** See {@link ops.argsort}. */
  argsort(options?: ops.SortOptions): Tensor
  /** See {@link ops.topk}. */
  topk(k: number, options?: ops.TopkOptions): ops.Ordered
  /** See {@link ops.at}. */
  at(...indices: readonly ops.Index[]): Tensor
  /** See {@link ops.to}. */
  to(dtype: DType): Tensor
  /** See {@link ops.clone}. */
  clone(): Tensor
  /** See {@link ops.detach}. */
  detach(): Tensor
  /** See {@link ops.copy_}. */
  copy_(source: Tensor): Tensor
  /** See {@link registerHook}. */
  registerHook(hook: Hook): () => void
  /** See {@link retainGrad}. */
  retainGrad(): Tensor
  /** See {@link backward}. */
  backward(cotangent?: Tensor | null, options?: BackwardOptions): void
}

const methods = {
  abs: ops.abs,
  add: ops.add,
  all: ops.all,
  any: ops.any,
  argmax: ops.argmax,
  argmin: ops.argmin,
  argsort: ops.argsort,
  broadcastTo: ops.broadcastTo,
  ceil: ops.ceil,
  chunk: ops.chunk,
  clamp: ops.clamp,
  clone: ops.clone,
  copy_: ops.copy_,
  cos: ops.cos,
  cumprod: ops.cumprod,
  cumsum: ops.cumsum,
  detach: ops.detach,
  diag: ops.diag,
  diagonal: ops.diagonal,
  div: ops.div,
  dot: ops.dot,
  elu: ops.elu,
  eq: ops.eq,
  erf: ops.erf,
  exp: ops.exp,
  expm1: ops.expm1,
  flatten: ops.flatten,
  flip: ops.flip,
  floor: ops.floor,
  gather: ops.gather,
  ge: ops.ge,
  gelu: ops.gelu,
  gt: ops.gt,
  hardtanh: ops.hardtanh,
  indexSelect: ops.indexSelect,
  le: ops.le,
  leakyRelu: ops.leakyRelu,
  log1p: ops.log1p,
  log: ops.log,
  logSigmoid: ops.logSigmoid,
  logSoftmax: ops.logSoftmax,
  logicalAnd: ops.logicalAnd,
  logicalNot: ops.logicalNot,
  logicalOr: ops.logicalOr,
  logsumexp: ops.logsumexp,
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
  norm: ops.norm,
  outer: ops.outer,
  pad: ops.pad,
  permute: ops.permute,
  pow: ops.pow,
  prod: ops.prod,
  reciprocal: ops.reciprocal,
  relu: ops.relu,
  repeatInterleave: ops.repeatInterleave,
  reshape: ops.reshape,
  roll: ops.roll,
  round: ops.round,
  rsqrt: ops.rsqrt,
  scale: ops.scale,
  sigmoid: ops.sigmoid,
  sign: ops.sign,
  silu: ops.silu,
  sin: ops.sin,
  slice: ops.slice,
  softmax: ops.softmax,
  softplus: ops.softplus,
  sort: ops.sort,
  split: ops.split,
  sqrt: ops.sqrt,
  square: ops.square,
  squeeze: ops.squeeze,
  std: ops.std,
  sub: ops.sub,
  sum: ops.sum,
  tan: ops.tan,
  tanh: ops.tanh,
  tile: ops.tile,
  to: ops.to,
  topk: ops.topk,
  trace: ops.trace,
  transpose: ops.transpose,
  tril: ops.tril,
  triu: ops.triu,
  unsqueeze: ops.unsqueeze,
  unstack: ops.unstack,
  variance: ops.variance,
  backward,
  registerHook,
  retainGrad,
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

Object.defineProperty(Tensor.prototype, 'at', {
  value(this: Tensor, ...indices: ops.Index[]) {
    return ops.at(this, ...indices)
  },
  writable: true,
  configurable: true,
})
