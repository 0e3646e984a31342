// The same bits for any number of threads, over every operation whose work is divided: with pieces as small as they can
// be, shared by two, three and four threads, against one call of the kernel.
import fc, { type Arbitrary } from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  abs,
  add,
  all,
  any,
  atan2,
  broadcastTo,
  ceil,
  clone,
  cos,
  crossEntropy,
  div,
  eq,
  erf,
  exp,
  expm1,
  floor,
  gelu,
  getFusedMultiplyAdd,
  layerNorm,
  le,
  log,
  log1p,
  logaddexp,
  logSoftmax,
  logsumexp,
  lt,
  manualSeed,
  matmul,
  max,
  maximum,
  mean,
  min,
  minimum,
  mul,
  ne,
  neg,
  permute,
  pow,
  prod,
  rand,
  randint,
  randn,
  reciprocal,
  relu,
  round,
  rsqrt,
  scaledDotProductAttention,
  setFusedMultiplyAdd,
  setThreads,
  sigmoid,
  sign,
  silu,
  sin,
  slice,
  softmax,
  softplus,
  sqrt,
  square,
  std,
  sub,
  sum,
  type Tensor,
  tanh,
  variance,
  where,
  zerosLike,
} from '../../src/index.js'
import { AdamW, RMSprop, SGD } from '../../src/optim/index.js'
import { tuning } from '../../src/runtime/threads.js'
import { shareEverything, useThreads } from '../support/threads.js'

/** Sizes around the ends of pieces, vectors and tiles. */
const lengths = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 200 }) },
)
const dtypes = fc.constantFrom('float32', 'float64')

/** A tensor that is a view of another: axes in another order, parts cut off, or repeated by broadcasting. */
const views = (shape: readonly number[]): Arbitrary<Tensor> =>
  fc
    .record({
      order: fc.shuffledSubarray([...shape.keys()], { minLength: shape.length, maxLength: shape.length }),
      margin: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: shape.length, maxLength: shape.length }),
      repeated: fc.subarray([...shape.keys()]),
      broadcast: fc.boolean(),
      dtype: dtypes,
      seed: fc.nat(1000),
    })
    .map(({ order, margin, repeated, broadcast, dtype, seed }) => {
      const sizes = shape.map((size, axis) => (broadcast && repeated.includes(axis) ? 1 : size))
      const inMemory = order.map((axis) => (sizes[axis] as number) + (margin[axis] as number))
      manualSeed(seed)
      const inverse = order.map((_, axis) => order.indexOf(axis))
      const whole = permute(randn(inMemory, { dtype }), inverse)
      const start = sizes.map((_, axis) => Math.min(1, margin[axis] as number))
      const part = slice(
        whole,
        start,
        start.map((from, axis) => from + (sizes[axis] as number)),
      )
      return broadcastTo(part, [...shape])
    })

const shapesOf = (ranks: readonly [number, number]) =>
  fc
    .array(lengths, { minLength: ranks[0], maxLength: ranks[1] })
    .filter((shape) => shape.reduce((product, size) => product * size, 1) <= 60_000)

const tensors = shapesOf([1, 3]).chain(views)
const pairs = shapesOf([1, 3]).chain((shape) => fc.tuple(views(shape), views(shape)))

function bitsOf(results: readonly Tensor[]): string {
  return results.map(({ dtype, shape, data }) => `${dtype} ${shape} ${Buffer.from(data.buffer).toString('hex')}`).join()
}

/** What `run` gives in one piece and in many has the same bits. */
function expectSameBits(run: () => readonly Tensor[]): void {
  const divided = bitsOf(run())
  const { threshold } = tuning
  tuning.threshold = Number.POSITIVE_INFINITY
  try {
    // Compared as a whole: a difference between long texts is slow to show, and says little.
    expect(bitsOf(run()) === divided).toBe(true)
  } finally {
    tuning.threshold = threshold
  }
}

const functions = {
  ...{ neg, abs, sign, exp, expm1, log, log1p, sqrt, rsqrt, square, reciprocal, sin, cos, tanh, sigmoid, relu, gelu },
  ...{ silu, softplus, erf, floor, ceil, round, clone },
} as const
const functionsOfTwo = { add, sub, mul, div, maximum, minimum, pow, atan2, eq, ne, lt, le, logaddexp } as const
const reductions = { sum, mean, prod, max, min, variance, std, logsumexp, all, any } as const

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) =>
  fc.constantFrom(...(Object.keys(record) as Key[]))

const fused = getFusedMultiplyAdd()

describe.each([2, 3, 4])('%i threads', (threads) => {
  let restore: () => void
  beforeAll(() => {
    restore = shareEverything()
    useThreads(threads)
  })
  afterAll(() => {
    restore()
    setThreads(1)
  })

  describe.each(fused ? [true, false] : [false])('fused multiply-add: %s', (enabled) => {
    beforeEach(() => void setFusedMultiplyAdd(enabled))
    afterEach(() => void setFusedMultiplyAdd(fused))

    test('functions of one operand, conversions, copies', () => {
      fc.assert(
        fc.property(tensors, keysOf(functions), fc.double({ noNaN: true }), (x, name, factor) => {
          expectSameBits(() => {
            const leaf = x.clone().requiresGrad_()
            functions[name](leaf).sum().backward()
            const derivative = leaf.grad as Tensor
            return [functions[name](x), derivative, x.to('int32'), x.gt(0), x.to('float64'), x.scale(factor)]
          })
        }),
      )
    })

    test('functions of two operands that broadcast', () => {
      fc.assert(
        fc.property(pairs, keysOf(functionsOfTwo), ([a, b], name) => {
          expectSameBits(() => [functionsOfTwo[name](a, b), functionsOfTwo[name](a, 2), where(a.gt(0), a, b)])
        }),
      )
    })

    test('copies in place and sums of cotangents', () => {
      fc.assert(
        fc.property(pairs, ([a, b]) => {
          expectSameBits(() => {
            const x = a.clone().requiresGrad_()
            // The second contribution to the cotangent of x is added in place.
            x.square().add(x.exp()).mul(b).sum().backward()
            return [zerosLike(a).copy_(b), x.grad as Tensor]
          })
        }),
      )
    })

    test('reductions over any axes', () => {
      const cases = tensors.chain((x) => fc.tuple(fc.constant(x), fc.subarray([...x.shape.keys()], { minLength: 1 })))
      fc.assert(
        fc.property(cases, keysOf(reductions), ([x, axis], name) => {
          const options = { axis: axis[0] as number }
          expectSameBits(() => [
            reductions[name](x, { axis }),
            reductions[name](x),
            x.argmax(options),
            x.argmin(options),
          ])
        }),
      )
    })

    test('rows: softmax and its like, normalisation, and their derivatives', () => {
      fc.assert(
        fc.property(pairs, ([a, b]) => {
          expectSameBits(() => {
            const x = a.clone().requiresGrad_()
            const results = [softmax(x), logSoftmax(x), logsumexp(x, { axis: -1 }), layerNorm(x)]
            softmax(x).add(logSoftmax(x)).add(layerNorm(x)).mul(b).sum().backward()
            return [...results, x.grad as Tensor]
          })
        }),
      )
    })

    const matrices = fc
      .record({ batch: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }), m: lengths, n: lengths, k: lengths })
      .filter(({ m, n, k }) => m * n * k <= 1_000_000)
      .chain(({ batch, m, n, k }) => fc.tuple(views([...batch, m, k]), views([...batch, k, n])))

    test('products of matrices and of batches of them, with strides and broadcast', () => {
      fc.assert(
        fc.property(matrices, ([a, b]) => {
          const right = b.to(a.dtype)
          expectSameBits(() => [matmul(a, right), matmul(a, right.reshape([-1, ...right.shape.slice(-2)]).at(0))])
        }),
      )
    })

    test('the longest products that are divided', () => {
      // More terms than a block of them, more columns than are packed at a time.
      const [a, b] = [randn([37, 600]), randn([600, 801])]
      expectSameBits(() => [matmul(a, b), matmul(b.transpose(), a.transpose()), matmul(a.transpose(), a)])
      const [x, y] = [randn([1, 3001]), randn([3001, 333])]
      expectSameBits(() => [matmul(x, y), matmul(y.transpose(), x.transpose()), matmul(y.transpose(), x.at(0))])
    })

    test('updates of parameters', () => {
      const optimizers = {
        SGD: (x: Tensor) => new SGD([x], { lr: 0.1, momentum: 0.9, nesterov: true }),
        plainSGD: (x: Tensor) => new SGD([x], { lr: 0.1 }),
        AdamW: (x: Tensor) => new AdamW([x]),
        RMSprop: (x: Tensor) => new RMSprop([x], { centered: true, momentum: 0.5 }),
      }
      fc.assert(
        fc.property(tensors, keysOf(optimizers), (start, name) => {
          expectSameBits(() => {
            const x = start.clone().requiresGrad_()
            const optimizer = optimizers[name](x)
            for (let i = 0; i < 2; i++) {
              optimizer.zeroGrad()
              x.square().sum().backward()
              optimizer.step()
            }
            return [x]
          })
        }),
      )
    })

    test('cross-entropy and its derivative', () => {
      const cases = fc.tuple(lengths, fc.integer({ min: 2, max: 40 }), dtypes, fc.nat())
      fc.assert(
        fc.property(cases, ([rows, classes, dtype, seed]) => {
          manualSeed(seed)
          const scores = randn([rows, classes], { dtype })
          const target = randint(0, classes, [rows])
          expectSameBits(() => {
            const x = scores.clone().requiresGrad_()
            const loss = crossEntropy(x, target)
            loss.backward()
            return [loss, x.grad as Tensor]
          })
        }),
      )
    })

    const attentions = fc
      .record({ batch: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }), n: lengths, m: lengths })
      .chain(({ batch, n, m }) => fc.tuple(views([...batch, n, 5]), views([...batch, m, 5]), views([...batch, m, 3])))

    test('attention and its derivatives, of heads and of parts of them', () => {
      fc.assert(
        fc.property(attentions, fc.boolean(), fc.constantFrom(0, 0.3), (operands, causal, dropout) => {
          const { dtype } = operands[0]
          const mask = rand([operands[0].shape.at(-2) as number, 1]).gt(0.1)
          expectSameBits(() => {
            manualSeed(3)
            const [q, k, v] = operands.map((x) => x.to(dtype).detach().requiresGrad_()) as [Tensor, Tensor, Tensor]
            const y = scaledDotProductAttention(q, k, v, { mask, causal, dropout })
            y.square().sum().backward()
            return [y, ...[q, k, v].map(({ grad }) => grad as Tensor)]
          })
        }),
      )
    })

    test('random numbers', () => {
      fc.assert(
        fc.property(lengths, fc.nat(), dtypes, fc.nat(3), (length, seed, dtype, before) => {
          const shape = [length, 3]
          expectSameBits(() => {
            manualSeed(seed)
            return [rand([before]), rand(shape, { dtype }), randn(shape, { dtype }), randint(-5, 9, shape), rand([2])]
          })
        }),
      )
    })
  })
})

test('one thread and two', () => {
  const x = randn([300, 1001])
  const w = randn([1001, 130])
  const run = () => bitsOf([x.matmul(w), x.exp().sum({ axis: 1 }), x.softmax(), x.transpose().clone()])
  setThreads(1)
  const alone = run()
  const restore = shareEverything()
  try {
    useThreads(2)
    expect(run() === alone).toBe(true)
  } finally {
    restore()
    setThreads(1)
  }
})
