// Differentiable functions of every kind, and random compositions of them.
import fc, { type Arbitrary } from 'fast-check'
import {
  attentionWeights,
  concat,
  crossEntropy,
  indexSelect,
  manualSeed,
  maskedFill,
  mseLoss,
  randint,
  type Shape,
  scaledDotProductAttention,
  stack,
  type Tensor,
  where,
} from 'wengert'
import { broadcastShape, sizeOf } from './reference.js'

/** How many numbers a tensor of a random composition has at most. */
export const LARGEST = 3000

export const pick = <T>(list: readonly T[], choice: number): T => list[choice % list.length] as T

/** Functions of one tensor that keep its shape; values stay moderate. */
export const unaries: readonly ((x: Tensor) => Tensor)[] = [
  (x) => x.tanh(),
  (x) => x.sigmoid(),
  (x) => x.relu(),
  (x) => x.tanh().exp(),
  (x) => x.square().add(1).log(),
  (x) => x.square().add(1).sqrt(),
  (x) => x.square().add(1).reciprocal(),
  (x) => x.gelu(),
  (x) => x.gelu({ approximate: 'tanh' }),
  (x) => x.erf(),
  (x) => x.scale(0.5),
  (x) => x.neg(),
  (x) => x.abs(),
  (x) => x.tanh().pow(3),
  (x) => x.clone(),
  (x) => (x.ndim === 0 ? x.tanh() : x.softmax()),
  (x) => (x.ndim === 0 ? x.tanh() : x.softmax(0)),
  (x) => (x.ndim === 0 ? x.tanh() : x.logSoftmax()),
  (x) => maskedFill(x, x.gt(0.3), -1),
]

/** Functions of two tensors that broadcast together. */
export const binaries: readonly ((x: Tensor, y: Tensor) => Tensor)[] = [
  (x, y) => x.add(y),
  (x, y) => x.sub(y),
  (x, y) => x.mul(y.tanh()),
  (x, y) => x.tanh().mul(y),
  (x, y) => x.div(y.square().add(1)),
  (x, y) => x.maximum(y),
  (x, y) => x.minimum(y),
  (x, y) => where(x.gt(y), x, y),
  (x, y) => x.tanh().exp().pow(y.tanh()),
]

/** Other arrangements of a tensor's numbers. */
export const views: readonly ((x: Tensor, b: number) => Tensor)[] = [
  (x) => (x.ndim < 2 ? x.unsqueeze(0) : x.transpose()),
  (x) => x.permute([...x.shape.keys()].reverse()),
  (x) => x.reshape([x.size]),
  (x) => x.unsqueeze(-1),
  (x) => x.squeeze(),
  (x, b) => x.unsqueeze(0).broadcastTo([1 + (b % 3), ...x.shape]),
  (x) => x.flatten(),
  (x, b) => (x.ndim === 0 ? x.reshape([1]) : x.slice(b % 2, (x.shape[0] as number) + (b % 3) - 1, 1 + (b % 2))),
  (x, b) => (x.ndim === 0 ? x.reshape([1]) : pick(x.split(1 + (b % 3), -1), b)),
  (x, b) => (x.ndim === 0 || x.shape[0] === 0 ? x.unsqueeze(0) : pick(x.unstack(), b)),
  (x) => (x.ndim === 0 ? stack([x, x]) : concat([x, x.scale(2), x], -1)),
  (x, b) => stack([x, x.tanh()], b % (x.ndim + 1)),
  (x) => {
    const length = x.shape[0] ?? 0
    return length === 0 ? x.unsqueeze(0) : indexSelect(x, 0, randint(-length, length, [4]))
  },
]

export const reductions: readonly ((x: Tensor, b: number) => Tensor)[] = [
  (x) => x.sum(),
  (x) => (x.size === 0 ? x : x.mean()),
  (x, b) => (x.ndim === 0 ? x : x.sum({ axis: b % x.ndim, keepDims: b % 2 === 0 })),
  (x, b) => (x.ndim === 0 || x.size === 0 ? x : x.mean({ axis: -1 - (b % x.ndim), keepDims: b % 3 === 0 })),
  (x) => (x.size === 0 ? x : x.max()),
  (x) => (x.ndim === 0 || x.shape[x.ndim - 1] === 0 ? x : x.max({ axis: -1 })),
  (x) => (x.ndim === 0 || x.shape[0] === 0 ? x : x.min({ axis: 0, keepDims: true })),
  (x) => (x.size < 2 ? x : x.variance()),
]

/** Products, attention and losses, where the shapes allow them. */
export const products: readonly ((x: Tensor, y: Tensor) => Tensor)[] = [
  (x) => (x.ndim === 0 ? x : x.ndim === 1 ? x.matmul(x) : x.matmul(x.transpose())),
  (x, y) => (x.ndim > 0 && y.ndim === 2 && x.shape.at(-1) === y.shape[0] ? x.matmul(y) : x.mul(0.5)),
  (x, y) => (x.ndim === 2 && y.ndim > 1 && x.shape[1] === y.shape.at(-2) ? x.matmul(y) : x.mul(0.25)),
  (x) => (x.ndim < 2 || x.size === 0 ? x : scaledDotProductAttention(x, x, x, { causal: true })),
  (x) => (x.ndim < 2 || x.size === 0 ? x : attentionWeights(x.transpose(), x.transpose())),
  (x, y) => (x.shape.join() === y.shape.join() && x.size > 0 ? mseLoss(x, y) : x),
  (x) => {
    const classes = x.shape.at(-1)
    return classes === undefined || x.size === 0 ? x : crossEntropy(x, randint(0, classes, x.shape.slice(0, -1)))
  },
]

/** y where it broadcasts with x to something of a bearable size, else the sum of it. */
export function fitting(x: Tensor, y: Tensor): Tensor {
  const shape = broadcastShape(x.shape, y.shape)
  return shape !== null && sizeOf(shape) <= LARGEST ? y : y.sum()
}

/** A composition of random functions, of tensors of these shapes. */
export interface RandomFunction {
  readonly shapes: readonly Shape[]
  /** One number between −1 and 1. */
  readonly call: (...inputs: readonly Tensor[]) => Tensor
}

interface Step {
  readonly kind: 'unary' | 'binary' | 'view' | 'reduction' | 'product'
  readonly a: number
  readonly b: number
  readonly c: number
}

function compose(steps: readonly Step[], inputs: readonly Tensor[]): Tensor {
  // Positions that some functions draw are the same in every call.
  manualSeed(steps.length)
  const values = [...inputs]
  for (const { kind, a, b, c } of steps) {
    const [x, y] = [pick(values, a), pick(values, b)]
    const value = {
      unary: () => pick(unaries, c)(x),
      binary: () => pick(binaries, c)(x, fitting(x, y)),
      view: () => pick(views, c)(x, b),
      reduction: () => pick(reductions, c)(x, b),
      product: () => pick(products, c)(x, y),
    }[kind]()
    values.push(value.size > LARGEST ? value.mean() : value)
  }
  return values
    .filter((value) => value.size > 0)
    .map((value) => value.tanh().mean())
    .reduce((sum, value) => sum.add(value))
    .tanh()
}

export const randomFunctions: Arbitrary<RandomFunction> = fc
  .record({
    rows: fc.integer({ min: 1, max: 4 }),
    columns: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(
      fc.record({
        kind: fc.constantFrom('unary', 'binary', 'binary', 'view', 'reduction', 'product'),
        a: fc.nat(1000),
        b: fc.nat(1000),
        c: fc.nat(1000),
      }),
      { minLength: 1, maxLength: 12 },
    ),
  })
  .map(({ rows, columns, steps }) => ({
    shapes: [[rows, columns], [columns], [columns, rows]],
    call: (...inputs: readonly Tensor[]) => compose(steps, inputs),
    [fc.toStringMethod]: () => `of (${rows}, ${columns}), (${columns},), (${columns}, ${rows}): ${fc.stringify(steps)}`,
  }))
