// The functions under test, each with random points of random shapes.
import fc, { type Arbitrary } from 'fast-check'
import type { Tensor } from '../../src/index.js'
import * as wengert from '../../src/index.js'
import {
  axes,
  axisSubsets,
  broadcastableTensors,
  masks,
  permutations,
  type TensorArbitraryOptions,
  tensors,
  wellScaled,
} from '../../src/testing/fast-check.js'

/** A function and a point. */
export interface Case {
  readonly fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[]
  readonly inputs: readonly Tensor[]
}

type Inputs = TensorArbitraryOptions

const leaf: Inputs = { requiresGrad: true, maxSize: 3 }
const positive: Inputs = { values: wellScaled({ positive: true }) }
/** For functions with kinks where numbers are equal. */
const apart: Inputs = { separation: 1 / 64 }

const single = (options: Inputs = {}) => tensors({ ...leaf, ...options })
const pair = (options: Inputs = {}) => broadcastableTensors(2, { ...leaf, ...options })
const of = (shape: readonly number[], options: Inputs = {}) => tensors({ ...leaf, ...options, shape })

/** Of one tensor, element by element. */
function unary(fn: (x: Tensor) => Tensor, options?: Inputs): Arbitrary<Case> {
  return single(options).map((x) => ({ fn: fn as Case['fn'], inputs: [x] }))
}

/** Of two tensors that broadcast. */
function binary(fn: (a: Tensor, b: Tensor) => Tensor, options?: Inputs): Arbitrary<Case> {
  return pair(options).map((inputs) => ({ fn: fn as Case['fn'], inputs }))
}

/** Over one axis. */
function alongAxis(fn: (x: Tensor, axis: number) => Tensor, options?: Inputs): Arbitrary<Case> {
  return single({ minRank: 1, ...options }).chain((x) =>
    axes(x.ndim).map((axis): Case => ({ fn: (y) => fn(y as Tensor, axis), inputs: [x] })),
  )
}

interface Reduced {
  readonly axis?: readonly number[]
  readonly keepDims: boolean
}

/** Over some axes, or all. */
function reduction(fn: (x: Tensor, options: Reduced) => Tensor, options?: Inputs): Arbitrary<Case> {
  return single(options).chain((x) =>
    fc.tuple(fc.option(axisSubsets(x.ndim), { nil: undefined }), fc.boolean()).map(([axis, keepDims]) => ({
      fn: (y) => fn(y as Tensor, axis === undefined ? { keepDims } : { axis, keepDims }),
      inputs: [x],
    })),
  )
}

/** At random sizes: products of matrices and the like. */
function sized(count: number, make: (...sizes: Sizes) => Arbitrary<Case>): Arbitrary<Case> {
  return fc
    .array(fc.integer({ min: 1, max: 3 }), { minLength: count, maxLength: count })
    .chain((sizes) => make(...(sizes as Sizes)))
}

/** As many as a function takes. */
type Sizes = [number, number, number, number]

const atPoint = (fn: Case['fn'], ...inputs: Arbitrary<Tensor>[]): Arbitrary<Case> =>
  fc.tuple(...inputs).map((point) => ({ fn, inputs: point }))

const positions = (count: number, below: number): Arbitrary<Tensor> =>
  tensors({ shape: [count], dtype: 'int32', values: fc.nat(below - 1) })

export const catalogue: Readonly<Record<string, Arbitrary<Case>>> = {
  neg: unary(wengert.neg),
  abs: unary(wengert.abs),
  exp: unary(wengert.exp),
  expm1: unary(wengert.expm1),
  log: unary(wengert.log, positive),
  log1p: unary(wengert.log1p, positive),
  sqrt: unary(wengert.sqrt, positive),
  rsqrt: unary(wengert.rsqrt, positive),
  square: unary(wengert.square),
  reciprocal: unary(wengert.reciprocal),
  sin: unary(wengert.sin),
  cos: unary(wengert.cos),
  tan: unary((x) => wengert.tan(x.scale(0.4))),
  tanh: unary(wengert.tanh),
  sigmoid: unary(wengert.sigmoid),
  relu: unary(wengert.relu),
  gelu: unary((x) => wengert.gelu(x)),
  'gelu, tanh': unary((x) => wengert.gelu(x, { approximate: 'tanh' })),
  silu: unary(wengert.silu),
  softplus: unary(wengert.softplus),
  logSigmoid: unary(wengert.logSigmoid),
  leakyRelu: unary((x) => wengert.leakyRelu(x)),
  elu: unary((x) => wengert.elu(x)),
  hardtanh: unary((x) => wengert.hardtanh(x, { min: -1.1, max: 1.3 })),
  erf: unary(wengert.erf),
  clamp: unary((x) => wengert.clamp(x, { min: -1.1, max: 1.3 })),
  scale: unary((x) => wengert.scale(x, -1.7)),
  add: binary(wengert.add),
  sub: binary(wengert.sub),
  mul: binary(wengert.mul),
  div: binary(wengert.div),
  pow: binary(wengert.pow, positive),
  atan2: binary(wengert.atan2),
  maximum: binary(wengert.maximum, apart),
  minimum: binary(wengert.minimum, apart),
  logaddexp: binary(wengert.logaddexp),
  where: pair().chain((inputs) =>
    masks({ shape: [...wengert.add(inputs[0] as Tensor, inputs[1] as Tensor).shape] }).map((mask) => ({
      fn: (a, b) => wengert.where(mask, a as Tensor, b as Tensor),
      inputs,
    })),
  ),
  maskedFill: single().chain((x) =>
    masks({ shape: [...x.shape] }).map((mask) => ({
      fn: (y) => wengert.maskedFill(y as Tensor, mask, 0.7),
      inputs: [x],
    })),
  ),
  sum: reduction(wengert.sum),
  mean: reduction(wengert.mean),
  max: reduction(wengert.max, apart),
  min: reduction(wengert.min, apart),
  prod: reduction(wengert.prod),
  variance: reduction((x, options) => wengert.variance(x, { ...options, correction: 0 })),
  std: reduction((x, options) => wengert.std(x, { ...options, correction: 0 })),
  norm: reduction(wengert.norm),
  logsumexp: reduction(wengert.logsumexp),
  cumsum: alongAxis(wengert.cumsum),
  cumprod: alongAxis(wengert.cumprod),
  softmax: alongAxis(wengert.softmax),
  logSoftmax: alongAxis(wengert.logSoftmax),
  sort: alongAxis((x, axis) => wengert.sort(x, { axis }).values, apart),
  permute: single().chain((x) =>
    permutations(x.ndim).map((order): Case => ({ fn: (y) => wengert.permute(y as Tensor, order), inputs: [x] })),
  ),
  reshape: unary((x) => wengert.reshape(x, [1, x.size])),
  broadcastTo: single().map((x) => ({
    fn: (y) => wengert.broadcastTo(wengert.unsqueeze(y as Tensor, 0), [2, ...x.shape]),
    inputs: [x],
  })),
  flip: reduction((x, { axis }) => wengert.flip(x, axis)),
  roll: alongAxis((x, axis) => wengert.roll(x, 1, axis)),
  slice: unary(
    (x) =>
      wengert.slice(
        x,
        x.shape.map((size) => size >> 1),
      ),
    { minRank: 1 },
  ),
  pad: unary(
    (x) =>
      wengert.pad(
        x,
        x.shape.map(() => [1, 2] as const),
      ),
    { maxRank: 2, minRank: 1 },
  ),
  tile: unary((x) => wengert.tile(x, 2), { minRank: 1, maxRank: 2 }),
  concat: alongAxis((x, axis) => wengert.concat([x, wengert.square(x)], axis)),
  stack: pair({ minRank: 1 }).map((inputs) => ({
    fn: (a, b) => wengert.stack([wengert.add(a as Tensor, b as Tensor), wengert.mul(a as Tensor, b as Tensor)], -1),
    inputs,
  })),
  indexSelect: sized(3, (rows, columns, count) =>
    fc.tuple(of([rows, columns]), positions(count, rows)).map(([x, indices]) => ({
      fn: (y) => wengert.indexSelect(y as Tensor, 0, indices),
      inputs: [x],
    })),
  ),
  diagonal: sized(2, (rows, columns) => atPoint((x) => wengert.diagonal(x as Tensor), of([rows, columns]))),
  tril: sized(2, (rows, columns) => atPoint((x) => wengert.tril(x as Tensor), of([rows, columns]))),
  matmul: sized(4, (batch, rows, inner, columns) =>
    fc.oneof(
      atPoint((a, b) => wengert.matmul(a as Tensor, b as Tensor), of([rows, inner]), of([inner, columns])),
      atPoint((a, b) => wengert.matmul(a as Tensor, b as Tensor), of([batch, rows, inner]), of([inner, columns])),
      atPoint((a, b) => wengert.matmul(a as Tensor, b as Tensor), of([rows, inner]), of([batch, 1, inner, columns])),
      atPoint((a, b) => wengert.matmul(a as Tensor, b as Tensor), of([inner]), of([inner, columns])),
    ),
  ),
  linear: sized(3, (rows, inner, columns) =>
    atPoint(
      (x, weight, bias) => wengert.linear(x as Tensor, weight as Tensor, bias),
      of([rows, inner]),
      of([columns, inner]),
      of([columns]),
    ),
  ),
  dot: sized(1, (size) => atPoint((a, b) => wengert.dot(a as Tensor, b as Tensor), of([size]), of([size]))),
  outer: sized(2, (m, n) => atPoint((a, b) => wengert.outer(a as Tensor, b as Tensor), of([m]), of([n]))),
  einsum: sized(4, (b, i, j, k) =>
    atPoint((x, y) => wengert.einsum('bij,bjk->ki', x as Tensor, y as Tensor), of([b, i, j]), of([b, j, k])),
  ),
  layerNorm: sized(2, (rows, columns) =>
    atPoint(
      (x, weight, bias) => wengert.layerNorm(x as Tensor, weight, bias, { eps: 0.1 }),
      of([rows, columns + 1]),
      of([columns + 1]),
      of([columns + 1]),
    ),
  ),
  rmsNorm: sized(2, (rows, columns) =>
    atPoint((x, weight) => wengert.rmsNorm(x as Tensor, weight), of([rows, columns]), of([columns])),
  ),
  conv2d: sized(4, (channels, filters, height, width) =>
    atPoint(
      (x, weight, bias) => wengert.conv2d(x as Tensor, weight as Tensor, bias),
      of([1, channels, height + 1, width + 1]),
      of([filters, channels, 2, 2]),
      of([filters]),
    ),
  ),
  attention: sized(3, (rows, keys, width) =>
    atPoint(
      (q, k, v) => wengert.scaledDotProductAttention(q as Tensor, k as Tensor, v as Tensor),
      of([rows, width]),
      of([keys, width]),
      of([keys, width]),
    ),
  ),
  mseLoss: sized(2, (rows, columns) =>
    atPoint((x, y) => wengert.mseLoss(x as Tensor, y as Tensor), of([rows, columns]), of([rows, columns])),
  ),
  crossEntropy: sized(2, (rows, classes) =>
    fc.tuple(of([rows, classes]), positions(rows, classes)).map(([logits, target]) => ({
      fn: (x) => wengert.crossEntropy(x as Tensor, target),
      inputs: [logits],
    })),
  ),
  cosineSimilarity: sized(2, (rows, columns) =>
    atPoint(
      (a, b) => wengert.cosineSimilarity(a as Tensor, b as Tensor),
      of([rows, columns + 1]),
      of([rows, columns + 1]),
    ),
  ),
}
