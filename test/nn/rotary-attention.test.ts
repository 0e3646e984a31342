// Attention whose queries and keys are turned by where their rows stand.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  arange,
  concat,
  grad,
  jvp,
  linear,
  manualSeed,
  randn,
  ShapeError,
  softmax,
  type Tensor,
  tensor,
  zeros,
} from 'wengert'
import {
  type AttentionRotary,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  type Rotary2dOptions,
  type RotaryOptions,
  rotary,
  rotary2d,
  SelfAttention,
  TransformerBlock,
} from 'wengert/nn'
import { assertGradcheck, assertGradgradcheck, checkGrads } from 'wengert/testing'
import { expectError, expectNear, expectSame, gradOf, untyped } from '../support/expectations.js'

const float64 = { dtype: 'float64' } as const
const near = { absolute: 1e-12, relative: 1e-12 }

const kinds: [string, AttentionRotary, (x: Tensor) => Tensor][] = [
  ['in a row', true, (x) => rotary(x)],
  ['in a row, of another base', { base: 50 }, (x) => rotary(x, { base: 50 })],
  ['in a grid', { rows: 2, columns: 3 }, (x) => rotary2d(x, { rows: 2, columns: 3 })],
  [
    'in a grid, of another base',
    { rows: 3, columns: 2, base: 7 },
    (x) => rotary2d(x, { rows: 3, columns: 2, base: 7 }),
  ],
]

const layerOf = (options: Partial<MultiHeadAttentionOptions> = {}) => {
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, ...float64, bias: true, ...options })
  for (const [name, bias] of layer.namedParameters()) if (name.startsWith('b')) bias.copy_(randn(bias.shape, float64))
  return layer
}

/** One head at a time, with the scores in the open. */
function composed(layer: MultiHeadAttention, x: Tensor, turn: (x: Tensor) => Tensor, causal: boolean) {
  const part = (bias: Tensor | null, h: number, size: number) => bias?.slice(h * size, (h + 1) * size)
  const heads = Array.from({ length: layer.numHeads }, (_, h) => {
    const { WQ, WK, WV } = layer.head(h)
    const q = turn(linear(x, WQ, part(layer.bQ, h, layer.keyDim)))
    const k = turn(linear(x, WK, part(layer.bK, h, layer.keyDim)))
    const scores = q.matmul(k.transpose()).scale(layer.scale)
    const count = scores.shape.at(-1) as number
    const later = arange(count).unsqueeze(0).gt(arange(count).unsqueeze(1))
    const a = softmax(causal ? scores.maskedFill(later, Number.NEGATIVE_INFINITY) : scores)
    return { a, y: a.matmul(linear(x, WV, part(layer.bV, h, layer.valueDim))) }
  })
  const joined = concat(
    heads.map(({ y }) => y),
    -1,
  )
  return {
    a: concat(
      heads.map(({ a }) => a.unsqueeze(-3)),
      -3,
    ),
    y: linear(joined, layer.WO, layer.bO ?? undefined),
  }
}

describe.each(kinds)('%s', (_, kind, turn) => {
  const sizes: Partial<MultiHeadAttentionOptions>[] = [{}, { keyDim: 12, valueDim: 3 }, { bias: false, scale: 'none' }]

  test.each(sizes)('is each head’s queries and keys turned, then attention: %o', (size) => {
    manualSeed(3)
    const layer = layerOf({ rotary: kind, ...size })
    for (const causal of [false, true]) {
      const x = randn([2, 6, 8], float64).requiresGrad_()
      const y = layer.forward(x, { causal })
      const expected = composed(layer, x, turn, causal)
      expectNear(layer.attention(x, { causal }), expected.a, near)
      expectNear(y, expected.y, near)
      const cotangent = randn(y.shape, float64)
      const gradients = (output: Tensor) => {
        x.grad = null
        layer.zeroGrad()
        output.backward(cotangent)
        return [x, ...layer.parameters()].map(gradOf)
      }
      const wanted = gradients(expected.y)
      gradients(y).forEach((gradient, i) => {
        expectNear(gradient, wanted[i] as Tensor, { absolute: 1e-11, relative: 1e-11 })
      })
    }
  })

  test('of a single head, too', () => {
    manualSeed(4)
    const layer = new SelfAttention({ inputDim: 5, keyDim: 8, valueDim: 3, rotary: kind, ...float64 })
    const x = randn([6, 5], float64)
    const scores = turn(linear(x, layer.WQ)).matmul(turn(linear(x, layer.WK)).transpose())
    const a = softmax(scores.scale(layer.scale))
    expectNear(layer.attention(x), a, near)
    expectNear(layer.forward(x), a.matmul(linear(x, layer.WV)), near)
    expect(new SelfAttention({ inputDim: 4, rotary: true }).namedParameters()).toHaveLength(3)
  })

  test('derivatives of both orders, in both modes, are those of differences', () => {
    manualSeed(5)
    const layer = layerOf({ rotary: kind })
    const x = randn([6, 8], float64).requiresGrad_()
    const fn = (input: Tensor) => layer.forward(input, { causal: true }).square()
    assertGradcheck(fn, [x])
    assertGradgradcheck(fn, [x])
    checkGrads(fn, [x], { order: 2, modes: ['reverse', 'forward'] })
    const direction = randn([6, 8], float64)
    const slope = grad((input: Tensor) => fn(input).sum())(x.detach())
      .mul(direction)
      .sum()
    const [, tangent] = jvp((input: Tensor) => fn(input).sum(), [x.detach()], [direction])
    expectNear(tangent, slope, { relative: 1e-10 })
  })

  test('is not in the state dict', () => {
    manualSeed(6)
    const [turned, plain] = [layerOf({ rotary: kind }), layerOf()]
    expect(Object.keys(turned.stateDict())).toEqual(Object.keys(plain.stateDict()))
    const other = layerOf({ rotary: kind })
    other.loadStateDict(turned.stateDict())
    const x = randn([6, 8], float64)
    expectSame(other.forward(x), turned.forward(x))
    plain.loadStateDict(turned.stateDict())
    expect(plain.forward(x).data).not.toEqual(turned.forward(x).data)
  })

  test('in a block, whose attention is the layer’s', () => {
    manualSeed(7)
    const block = new TransformerBlock({ embedDim: 8, numHeads: 2, rotary: kind, ...float64 })
    const x = randn([6, 8], float64)
    const rows = block.norm1.forward(x)
    expectNear(block.attention(x), composed(block.selfAttention, rows, turn, false).a, near)
    const h = x.add(composed(block.selfAttention, rows, turn, false).y)
    expectNear(block.forward(x), h.add(block.mlp.forward(block.norm2.forward(h))), near)
    expect(block.forward(x.to('float32')).dtype).toBe('float64')
    const small = new TransformerBlock({ embedDim: 8, numHeads: 2, rotary: kind })
    expect(small.forward(x.to('float32')).dtype).toBe('float32')
  })
})

describe('where rows stand', () => {
  test('matters by distances alone: of equal rows, scores are constant along diagonals', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 7 }), fc.integer({ min: 1, max: 3 }), fc.nat(), (count, half, seed) => {
        manualSeed(seed)
        const layer = layerOf({ rotary: true, keyDim: 2 * half, valueDim: 4 })
        const x = randn([8], float64).broadcastTo([count, 8])
        const a = layer.attention(x).log()
        // Rows of A are scores up to a constant, so that differences along a row are differences of scores.
        for (let h = 0; h < 2; h++) {
          const at = (n: number, m: number) => a.data[(h * count + n) * count + m] as number
          for (let n = 1; n < count; n++) {
            for (let m = 2; m < count; m++) {
              expect(at(n, m) - at(n, m - 1)).toBeCloseTo(at(n - 1, m - 1) - at(n - 1, m - 2), 9)
            }
          }
        }
      }),
    )
  })

  test('in a grid, matters by distances in rows and columns', () => {
    manualSeed(8)
    const grid = { rows: 3, columns: 4 }
    const layer = layerOf({ rotary: grid })
    const a = layer
      .attention(randn([8], float64).broadcastTo([12, 8]))
      .log()
      .slice(0, 1)
    const score = (n: number, m: number) => a.data[n * 12 + m] as number
    const place = (row: number, column: number) => row * 4 + column
    for (const [row, column] of [
      [0, 0],
      [1, 0],
      [1, 1],
    ] as const) {
      const from = place(row, column)
      const [right, below] = [place(row, column + 1), place(row + 1, column)]
      expect(score(from, right) - score(from, below)).toBeCloseTo(score(0, 1) - score(0, 4), 9)
      expect(score(from, right) - score(from, from)).toBeCloseTo(score(0, 1) - score(0, 0), 9)
    }
    expect(Math.abs(score(0, 1) - score(0, 4))).toBeGreaterThan(1e-3)
  })

  test('makes permuted rows another input, as it does not without', () => {
    manualSeed(9)
    const x = randn([4, 8], float64)
    const order = tensor([2, 0, 3, 1], { dtype: 'int32' })
    const moved = (layer: MultiHeadAttention) =>
      layer.forward(x.indexSelect(0, order)).sub(layer.forward(x).indexSelect(0, order)).abs().max().item()
    expect(moved(layerOf())).toBeLessThan(1e-12)
    expect(moved(layerOf({ rotary: true }))).toBeGreaterThan(1e-3)
  })
})

test('rows of other numbers and dtypes, one after the other', () => {
  manualSeed(11)
  const layer = layerOf({ rotary: true })
  const x = randn([2, 6, 8], float64)
  for (const count of [6, 3, 5, 5, 6]) {
    const rows = x.slice([0, 0, 0], [2, count, 8])
    expectNear(layer.forward(rows), composed(layer, rows, rotary, false).y, near)
  }
  const single = new MultiHeadAttention({ embedDim: 8, numHeads: 2, rotary: true })
  for (const dtype of ['float32', 'float64', 'float32'] as const) {
    const y = single.forward(x.to(dtype))
    expect(y.dtype).toBe(dtype)
    expectNear(y, composed(single, x.to('float32'), rotary, false).y, { absolute: 1e-5 })
  }
})

test('nothing but a false option turns nothing', () => {
  manualSeed(10)
  const plain = layerOf()
  const same = layerOf({ rotary: false })
  same.loadStateDict(plain.stateDict())
  const x = randn([3, 8], float64)
  expectSame(same.forward(x), plain.forward(x))
  expect([plain.isRotary, same.isRotary, layerOf({ rotary: {} }).isRotary]).toEqual([false, false, true])
})

test('no rows, and rows of a grid without places', () => {
  expect(layerOf({ rotary: true }).forward(zeros([0, 8])).shape).toEqual([0, 8])
  expect(layerOf({ rotary: { rows: 0, columns: 3 } }).forward(zeros([2, 0, 8])).shape).toEqual([2, 0, 8])
})

describe('refuses', () => {
  const op = 'MultiHeadAttention'
  const of = (rotation: unknown, keyDim = 4) => layerOf({ rotary: untyped(rotation), keyDim, valueDim: 4 })
  const wrong: [string, () => unknown, ...string[]][] = [
    ['a number', () => of(2), 'rotary', '2'],
    ['null', () => of(null), 'rotary', 'null'],
    ['a word', () => of('2d'), 'rotary', '2d'],
    ['an array', () => of([2, 2]), 'options'],
    ['positions', () => of({ positions: zeros([2]) } satisfies RotaryOptions), 'positions', 'base, rows, columns'],
    ['half a grid', () => of({ rows: 2 } satisfies Partial<Rotary2dOptions>), 'columns', 'undefined'],
    ['half a place', () => of({ rows: 2, columns: 1.5 }), 'columns', '1.5'],
    ['a base of 0', () => of({ base: 0 }), 'base', '0'],
    ['a base of NaN in a grid', () => of({ rows: 1, columns: 1, base: Number.NaN }), 'base', 'NaN'],
    ['odd queries', () => of(true, 3), 'divisible by 2', '3'],
    ['queries without quarters', () => of({ rows: 2, columns: 2 }, 6), 'divisible by 4', '6'],
  ]
  test.each(wrong)('%s', (_, run, ...says) => {
    expectError(run, ArgumentError, op, ...says)
  })

  test('rows that do not fill the grid', () => {
    const layer = of({ rows: 2, columns: 3 })
    expectError(() => layer.forward(zeros([2, 5, 8])), ShapeError, op, '2 × 3', '(2, 5, 8)', '5 rows')
    expectError(() => layer.attention(zeros([7, 8])), ShapeError, op, '2 × 3')
    const single = new SelfAttention({ inputDim: 4, rotary: { rows: 2, columns: 3 } })
    expectError(() => single.forward(zeros([5, 4])), ShapeError, 'SelfAttention', '2 × 3')
  })
})
