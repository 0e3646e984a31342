// Every differentiable operation: its gradient and the gradient of its gradient against finite differences, and the
// float32 gradient against the float64 one.
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { type Shape, type Tensor, tensor } from 'wengert'
import { assertGradcheck, assertGradgradcheck, type DifferentiableFunction } from 'wengert/testing'
import { seeded } from '../../src/testing/seeded.js'

type Function_ = DifferentiableFunction

type OneTensor = (x: Tensor, ...options: unknown[]) => Tensor
const operations = wengert as unknown as Readonly<Record<string, (...values: unknown[]) => Tensor>>

/** One call of an operation: shapes of its differentiable inputs, and where to take their numbers from. */
interface Case {
  readonly op: string
  readonly title: string
  readonly fn: Function_
  readonly shapes: readonly Shape[]
  readonly range: readonly [number, number]
}

const SIGNED = [-2, 2] as const
const POSITIVE = [0.3, 2] as const

const cases: Case[] = []

/** Adds a call to the table. Numbers are drawn from the range and keep away from 0 and from each other. */
function add(
  op: string,
  fn: Function_,
  shapes: readonly Shape[],
  title = '',
  range: readonly [number, number] = SIGNED,
): void {
  cases.push({ op, fn, shapes, title, range })
}

function numbers(count: number, [low, high]: readonly [number, number], seed: number): number[] {
  const uniform = seeded(seed)
  // Distinct multiples of a step, shuffled: no ties for max and sort, no kinks of clamp and relu.
  const step = (high - low) / count
  const values = Array.from({ length: count }, (_, i) => low + (i + 0.3 + 0.4 * uniform()) * step)
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(uniform() * (i + 1))
    const swap = values[i] as number
    values[i] = values[other] as number
    values[other] = swap
  }
  return values
}

const sizeOf = (shape: Shape) => shape.reduce((product, size) => product * size, 1)
const inputsOf = ({ shapes, range }: Case, dtype: 'float32' | 'float64') =>
  shapes.map((shape, i) => tensor(numbers(sizeOf(shape), range, i + 1), { shape, dtype, requiresGrad: true }))

const ints = (...values: number[]) => tensor(Int32Array.from(values))
const mask = (shape: Shape) =>
  tensor(
    Uint8Array.from({ length: sizeOf(shape) }, (_, i) => Number(i % 3 !== 0)),
    { shape, dtype: 'bool' },
  )

for (const op of [
  'neg abs sign exp expm1 square tanh sigmoid relu erf gelu silu softplus logSigmoid sin cos tan leakyRelu elu hardtanh',
  'floor ceil round',
]
  .join(' ')
  .split(' ')) {
  // Not at −1 and 1, where hardtanh has kinks, nor at the jumps of the rounding functions.
  add(op, operations[op] as Function_, [[2, 3]], '', [-1.7, 1.6])
}
for (const op of ['log', 'log1p', 'sqrt', 'rsqrt', 'reciprocal'] as const)
  add(op, operations[op] as Function_, [[2, 3]], '', POSITIVE)
add('gelu', (x) => wengert.gelu(x, { approximate: 'tanh' }), [[2, 3]], 'tanh')
add('leakyRelu', (x) => wengert.leakyRelu(x, { negativeSlope: 0.2 }), [[5]], 'slope')
add('elu', (x) => wengert.elu(x, { alpha: 0.7 }), [[5]], 'alpha')
add('clamp', (x) => wengert.clamp(x, { min: -0.5, max: 0.8 }), [[7]])
add('clamp', (x) => wengert.clamp(x, { max: 0.8 }), [[7]], 'max only')
add('scale', (x) => wengert.scale(x, -1.5), [[3]])

for (const op of ['add', 'sub', 'mul', 'maximum', 'minimum', 'logaddexp', 'atan2'] as const) {
  add(op, operations[op] as Function_, [[2, 3], [3]], 'broadcast')
  add(
    op,
    operations[op] as Function_,
    [
      [2, 1],
      [1, 3],
    ],
    'both broadcast',
  )
}
add('div', wengert.div, [[2, 3], [3]], '', POSITIVE)
add('pow', wengert.pow, [[2, 3], [3]], '', POSITIVE)
add('pow', (x) => wengert.pow(x, 3), [[4]], 'negative bases')
add('where', (a, b) => wengert.where(mask([2, 3]), a, b), [[2, 3], [3]])
add('maskedFill', (x) => wengert.maskedFill(x, mask([3]), 7), [[2, 3]])

for (const op of ['sum', 'mean', 'prod', 'max', 'min', 'variance', 'std', 'logsumexp', 'norm'] as const) {
  add(op, (x) => (operations[op] as OneTensor)(x), [[2, 3]], 'all axes')
  add(op, (x) => (operations[op] as OneTensor)(x, { axis: 1 }), [[2, 3, 2]], 'one axis')
  add(op, (x) => (operations[op] as OneTensor)(x, { axis: [0, -1], keepDims: true }), [[2, 2, 3]], 'two axes kept')
}
add('variance', (x) => wengert.variance(x, { axis: 0, correction: 0 }), [[3, 2]], 'population')
add('std', (x) => wengert.std(x, { axis: 0, correction: 0 }), [[3, 2]], 'population')
for (const op of ['cumsum', 'cumprod'] as const) {
  for (const axis of [0, 1, -1]) add(op, (x) => (operations[op] as OneTensor)(x, axis), [[3, 2, 3]], `axis ${axis}`)
}

add('reshape', (x) => wengert.reshape(x, [3, 2]), [[2, 3]])
add('flatten', (x) => wengert.flatten(x), [[2, 3]])
add('transpose', (x) => wengert.transpose(x), [[2, 3]])
add('permute', (x) => wengert.permute(x, [2, 0, 1]), [[2, 3, 2]])
add('squeeze', (x) => wengert.squeeze(x), [[1, 3, 1]])
add('unsqueeze', (x) => wengert.unsqueeze(x, 1), [[3]])
add('broadcastTo', (x) => wengert.broadcastTo(x, [2, 3]), [[1, 3]])
add(
  'concat',
  (a, b) => wengert.concat([a as Tensor, b as Tensor, a as Tensor], 1),
  [
    [2, 1],
    [2, 2],
  ],
  'one input twice',
)
add('stack', (a, b) => wengert.stack([a as Tensor, b as Tensor], 1), [[2], [2]])
add('split', (x) => wengert.split(x, [1, 2], 1), [[2, 3]])
add('chunk', (x) => wengert.chunk(x, 2, 1), [[2, 3]])
add('unstack', (x) => wengert.unstack(x), [[2, 3]])
add('slice', (x) => wengert.slice(x, [0, 1], [2, 4], [1, 2]), [[2, 4]])
add(
  'pad',
  (x) =>
    wengert.pad(
      x,
      [
        [1, 0],
        [0, 2],
      ],
      { value: 3 },
    ),
  [[2, 2]],
)
add('tril', (x) => wengert.tril(x), [[2, 3, 3]])
add('triu', (x) => wengert.triu(x, { diagonal: 1 }), [[3, 4]])
add('flip', (x) => wengert.flip(x, [0, -1]), [[2, 2, 3]])
add('roll', (x) => wengert.roll(x, [1, -1], [0, 1]), [[2, 3]])
add('roll', (x) => wengert.roll(x, 2), [[2, 3]], 'as one line')
add('tile', (x) => wengert.tile(x, [2, 1, 3]), [[2, 2]])
add('repeatInterleave', (x) => wengert.repeatInterleave(x, 2, 1), [[2, 2]])
add('repeatInterleave', (x) => wengert.repeatInterleave(x, [0, 3], 0), [[2, 2]], 'listed')
add('indexSelect', (x) => wengert.indexSelect(x, 1, ints(2, 0, 2)), [[2, 3]])
add('gather', (x) => wengert.gather(x, 1, wengert.reshape(ints(2, 0, 2, -1), [2, 2])), [[3, 3]])
add('embedding', (weight) => wengert.embedding(wengert.reshape(ints(2, 0, 2, 1), [2, 2]), weight), [[3, 2]])
add('at', (x) => wengert.at(x, 1, '...', null, '::-2'), [[2, 2, 4]])
add('at', (x) => wengert.at(x, ':', wengert.reshape(ints(2, 0, 2, 1), [2, 2])), [[2, 3]], 'by a tensor')
add('diag', (x) => wengert.diag(x, { diagonal: -1 }), [[3]], 'of a vector')
add('diag', (x) => wengert.diag(x, { diagonal: 1 }), [[3, 4]], 'of a matrix')
add('diagonal', (x) => wengert.diagonal(x, { axis0: 0, axis1: 2 }), [[2, 3, 3]])
add('trace', (x) => wengert.trace(x), [[2, 3, 3]])

add('matmul', wengert.matmul, [
  [2, 3],
  [3, 2],
])
add(
  'matmul',
  wengert.matmul,
  [
    [3, 2, 2],
    [2, 2],
  ],
  'batch',
)
add('matmul', (x) => wengert.matmul(x, x), [[3, 3]], 'one input twice')
add('linear', wengert.linear as Function_, [[2, 3], [2, 3], [2]])
add('dot', wengert.dot, [[3], [3]])
add('outer', wengert.outer, [[2], [3]])
add('einsum', (a, b) => wengert.einsum('bij,bjk->bik', a as Tensor, b as Tensor), [
  [2, 2, 3],
  [2, 3, 2],
])
add(
  'einsum',
  (a, b, c) => wengert.einsum('ii,...ij,j', a as Tensor, b as Tensor, c as Tensor),
  [[2, 2], [3, 2, 3], [3]],
  'three',
)

for (const axis of [0, -1]) {
  add('softmax', (x) => wengert.softmax(x, axis), [[3, 3]], `axis ${axis}`)
  add('logSoftmax', (x) => wengert.logSoftmax(x, axis), [[3, 3]], `axis ${axis}`)
}
add('layerNorm', wengert.layerNorm as Function_, [[2, 4], [4], [4]])
add('layerNorm', (x) => wengert.layerNorm(x), [[2, 4]], 'plain')
add(
  'layerNorm',
  wengert.layerNorm as Function_,
  [
    [2, 2, 2],
    [2, 2],
    [2, 2],
  ],
  'two axes',
)
add('rmsNorm', wengert.rmsNorm as Function_, [[2, 4], [4]])
add('rmsNorm', (x) => wengert.rmsNorm(x, undefined, { eps: 0.1 }), [[2, 4]], 'plain')
add('mseLoss', (a, b) => wengert.mseLoss(a as Tensor, b as Tensor), [
  [2, 3],
  [2, 3],
])
add('crossEntropy', (x) => wengert.crossEntropy(x, ints(2, 0), { labelSmoothing: 0.1 }), [[2, 3]], 'classes')
add(
  'crossEntropy',
  wengert.crossEntropy as Function_,
  [
    [2, 3],
    [2, 3],
  ],
  'probabilities',
  POSITIVE,
)
add(
  'binaryCrossEntropyWithLogits',
  wengert.binaryCrossEntropyWithLogits as Function_,
  [
    [2, 3],
    [2, 3],
  ],
  '',
  [0.1, 0.9],
)
add(
  'binaryCrossEntropyWithLogits',
  (x, t) => wengert.binaryCrossEntropyWithLogits(x as Tensor, t as Tensor, { reduction: 'none', posWeight: 3 }),
  [[3], [3]],
  'weighted',
  [0.1, 0.9],
)
add('cosineSimilarity', (a, b) => wengert.cosineSimilarity(a as Tensor, b as Tensor), [[2, 3], [3]])
add(
  'cosineSimilarity',
  (a, b) => wengert.cosineSimilarity(a as Tensor, b as Tensor, { axis: 0 }),
  [
    [2, 3],
    [2, 3],
  ],
  'axis',
)
add(
  'dropout',
  (x) => {
    wengert.manualSeed(5)
    return wengert.dropout(x, { p: 0.4 })
  },
  [[2, 4]],
)
add('attentionWeights', (q, k) => wengert.attentionWeights(q as Tensor, k as Tensor), [
  [2, 2],
  [3, 2],
])
add('scaledDotProductAttention', operations['scaledDotProductAttention'] as Function_, [
  [2, 2],
  [3, 2],
  [3, 2],
])
add(
  'scaledDotProductAttention',
  (q, k, v) => {
    wengert.manualSeed(4)
    return wengert.scaledDotProductAttention(q as Tensor, k as Tensor, v as Tensor, { dropout: 0.3, causal: true })
  },
  [
    [3, 2],
    [3, 2],
    [3, 2],
  ],
  'causal with dropout',
)

add('conv2d', (x, w, b) => wengert.conv2d(x as Tensor, w as Tensor, b), [[2, 2, 3, 3], [2, 2, 2, 2], [2]])
add(
  'conv2d',
  (x, w) =>
    wengert.conv2d(x as Tensor, w as Tensor, undefined, { stride: [2, 1], padding: 1, dilation: [1, 2], groups: 2 }),
  [
    [2, 4, 4],
    [2, 1, 2, 2],
  ],
  'every option',
)
add('maxPool2d', (x) => wengert.maxPool2d(x, 2, { stride: 1 }), [[2, 3, 3]])
add('maxPool2d', (x) => wengert.maxPool2d(x, [2, 3], { padding: 1 }), [[1, 1, 4, 4]], 'padded')
add('avgPool2d', (x) => wengert.avgPool2d(x, 2, { padding: [0, 1] }), [[2, 4, 4]])
add('sort', (x) => wengert.sort(x, { axis: 0 }).values, [[4, 2]])
add('topk', (x) => wengert.topk(x, 2, { largest: false }).values, [[2, 4]])

add('clone', (x) => wengert.clone(x), [[2]])
add('to', (x) => wengert.mul(wengert.to(x, 'float64'), x), [[2]])

/** What has no derivative, or is no operation. */
const OTHERS = new Set(
  `eq ne lt le gt ge logicalAnd logicalOr logicalNot argmax argmin argsort all any detach copy_ arange eye full fullLike
   linspace oneHot ones onesLike tensor zeros zerosLike manualSeed getGeneratorState setGeneratorState rand randint randn`.split(
    /\s+/,
  ),
)

test('the table has every operation', async () => {
  const names = Object.keys(await import('../../src/ops/index.js'))
  const listed = new Set(cases.map(({ op }) => op))
  expect(names.filter((name) => !listed.has(name) && !OTHERS.has(name))).toEqual([])
})

describe.each(cases)('$op $title', (entry) => {
  test('gradient', () => assertGradcheck(entry.fn, inputsOf(entry, 'float64')))

  test('gradient of the gradient', () => assertGradgradcheck(entry.fn, inputsOf(entry, 'float64')))

  test('forward mode gives the transposed Jacobian of reverse mode', () => {
    const inputs = inputsOf(entry, 'float64')
    const weigh = (x: Tensor, seed: number) =>
      x.mul(tensor(numbers(x.size, SIGNED, seed), { shape: x.shape, dtype: 'float64' })).sum()
    const fn = (...given: Tensor[]) =>
      wengert.stack([entry.fn(...given)].flat().map((y, i) => weigh(y as Tensor, 20 + i))).sum()
    const tangents = inputs.map((x, i) => tensor(numbers(x.size, SIGNED, 30 + i), { shape: x.shape, dtype: 'float64' }))
    const [, pushed] = wengert.jvp(
      fn,
      inputs.map((x) => x.detach()),
      tangents,
    )
    const loss = fn(...inputs)
    loss.backward()
    const pulled = inputs.reduce(
      (total, { grad }, i) =>
        total +
        (grad as Tensor)
          .mul(tangents[i] as Tensor)
          .sum()
          .item(),
      0,
    )
    expect(Math.abs(pushed.item() - pulled)).toBeLessThan(1e-11 * (1 + Math.abs(pulled)))
  })

  test('float32', () => {
    const gradients = (['float64', 'float32'] as const).map((dtype) => {
      const inputs = inputsOf(entry, dtype)
      const outputs = [entry.fn(...inputs)].flat() as Tensor[]
      // Weights between 1 and 2 that differ, so that no two errors cancel.
      const parts = outputs.map((y) =>
        y
          .mul(tensor(numbers(y.size, [1, 2], 9), { shape: y.shape, dtype }))
          .sum()
          .reshape([1]),
      )
      wengert.concat(parts).sum().backward()
      return inputs.map((input) => {
        expect(input.grad?.dtype).toBe(dtype)
        return [...(input.grad as Tensor).data]
      })
    })
    const [exact, single] = gradients as [number[][], number[][]]
    exact.forEach((wanted, i) => {
      const size = Math.max(...wanted.map(Math.abs), 1e-3)
      // Some twenty roundings, of numbers up to ten times as large as the result.
      wanted.forEach((value, j) => {
        expect(Math.abs((single[i]?.[j] as number) - value) / size).toBeLessThan(200 * 2 ** -24)
      })
    })
  })
})
