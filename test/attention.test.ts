// Attention: the formulas, the shapes, and what depends on what.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  attentionWeights,
  concat,
  eye,
  linear,
  manualSeed,
  matmul,
  noGrad,
  ones,
  randn,
  type Shape,
  scaledDotProductAttention,
  slice,
  softmax,
  stack,
  type Tensor,
  tensor,
  where,
  zeros,
} from 'wengert'
import { MultiHeadAttention, type MultiHeadAttentionOptions, SelfAttention } from 'wengert/nn'
import { assertGradcheck, assertGradgradcheck } from 'wengert/testing'
import { orders } from './support/arbitraries.js'
import { expectNear, expectSame, gradOf } from './support/expectations.js'
import { type Dense, denseOf, permute, matmul as product } from './support/reference.js'

const options = { dtype: 'float64' } as const
const normal = (shape: Shape) => randn(shape, options)
const close = { relative: 1e-12, absolute: 1e-13 }
const allowed = (rows: number[][]) => tensor(rows, { dtype: 'bool' })
const indices = (list: readonly number[]) => tensor([...list], { dtype: 'int32' })

/** Rows of softmax by plain loops; −∞ gives 0, and nothing but −∞ zeros. */
function softmaxRows({ shape, data }: Dense): Dense {
  const n = shape.at(-1) as number
  const result = data.map((_, i) => {
    const row = data.slice(i - (i % n), i - (i % n) + n)
    const largest = Math.max(...row)
    if (largest === Number.NEGATIVE_INFINITY) return 0
    const exponentials = row.map((value) => Math.exp(value - largest))
    return (exponentials[i % n] as number) / exponentials.reduce((a, b) => a + b)
  })
  return { shape, data: result }
}

const scaled = ({ shape, data }: Dense, factor: number): Dense => ({ shape, data: data.map((value) => factor * value) })

const transposed = (x: Dense): Dense => {
  const axes = [...x.shape.keys()]
  return permute(x, [...axes.slice(0, -2), ...axes.slice(-2).reverse()])
}

describe('scaledDotProductAttention', () => {
  test('is softmax(Q Kᵀ / √d_k) V', () => {
    manualSeed(1)
    const [q, k, v] = [normal([2, 5, 3]), normal([2, 4, 3]), normal([2, 4, 6])]
    const scores = scaled(product(denseOf(q), transposed(denseOf(k))), 1 / Math.sqrt(3))
    const a = softmaxRows(scores)
    expectNear(attentionWeights(q, k), a, close)
    expectNear(scaledDotProductAttention(q, k, v), product(a, denseOf(v)), close)
  })

  test('takes another scale, 0 and negative ones too', () => {
    manualSeed(2)
    const [q, k] = [normal([3, 4]), normal([3, 4])]
    for (const scale of [2, 0, -1]) {
      const expected = softmaxRows(scaled(product(denseOf(q), transposed(denseOf(k))), scale))
      expectNear(attentionWeights(q, k, { scale }), expected, close)
    }
  })

  test('broadcasts batches of queries, keys and values', () => {
    manualSeed(3)
    const [q, k, v] = [normal([2, 1, 5, 3]), normal([3, 4, 3]), normal([4, 6])]
    const y = scaledDotProductAttention(q, k, v)
    expect(y.shape).toEqual([2, 3, 5, 6])
    const whole = (x: Tensor, rows: number) => x.broadcastTo([2, 3, rows, x.shape.at(-1) as number]).clone()
    expectNear(y, scaledDotProductAttention(whole(q, 5), whole(k, 4), whole(v, 4)), close)
  })

  test('no queries, no keys', () => {
    expect(scaledDotProductAttention(zeros([0, 3]), ones([4, 3]), ones([4, 2])).shape).toEqual([0, 2])
    expect(scaledDotProductAttention(ones([2, 3]), zeros([0, 3]), zeros([0, 2])).toArray()).toEqual([
      [0, 0],
      [0, 0],
    ])
  })

  test('causal with other numbers of queries and keys: query n sees keys up to n', () => {
    const a = attentionWeights(zeros([3, 1], options), zeros([5, 1], options), { causal: true })
    expectNear(
      a,
      tensor(
        [
          [1, 0, 0, 0, 0],
          [1 / 2, 1 / 2, 0, 0, 0],
          [1 / 3, 1 / 3, 1 / 3, 0, 0],
        ],
        options,
      ),
      close,
    )
  })

  test('in float32 agrees with float64', () => {
    manualSeed(4)
    const [q, k, v] = [normal([6, 8]), normal([6, 8]), normal([6, 8])]
    const single = scaledDotProductAttention(q.to('float32'), k.to('float32'), v.to('float32'))
    expect(single.dtype).toBe('float32')
    expectNear(single, scaledDotProductAttention(q, k, v), { absolute: 2e-6 })
  })
})

describe('SelfAttention', () => {
  test('has the parameters and shapes of its formula', () => {
    const layer = new SelfAttention({ inputDim: 7, keyDim: 3, valueDim: 5 })
    expect(layer.namedParameters().map(([name, { shape }]) => [name, shape])).toEqual([
      ['WQ', [3, 7]],
      ['WK', [3, 7]],
      ['WV', [5, 7]],
    ])
    const x = randn([4, 7])
    expect([layer.forward(x).shape, layer.attention(x).shape, layer.bilinearForm().shape]).toEqual([
      [4, 5],
      [4, 4],
      [7, 7],
    ])
    const plain = new SelfAttention({ inputDim: 7 })
    expect([plain.keyDim, plain.valueDim, plain.WQ.dtype]).toEqual([7, 7, 'float32'])
    expect(new SelfAttention({ inputDim: 7, keyDim: 2 }).valueDim).toBe(2)
    expect(new SelfAttention({ inputDim: 2, ...options }).WV.dtype).toBe('float64')
  })

  test.each([
    ['sqrt', 1 / Math.sqrt(3)],
    ['none', 1],
    [0.25, 0.25],
  ] as const)('computes Q, K, V, S, A and Y, with scale %s', (scale, factor) => {
    manualSeed(5)
    const layer = new SelfAttention({ inputDim: 6, keyDim: 3, valueDim: 2, scale, ...options })
    const x = normal([4, 6])
    expect(layer.scale).toBe(factor)
    const project = (weight: Tensor) => product(denseOf(x), transposed(denseOf(weight)))
    const scores = product(project(layer.WQ), transposed(project(layer.WK)))
    const a = softmaxRows(scaled(scores, factor))
    expectNear(layer.attention(x), a, close)
    expectNear(layer.forward(x), product(a, project(layer.WV)), close)
    // S = X M Xᵀ
    const m = denseOf(layer.bilinearForm())
    expectNear(
      tensor([...product(product(denseOf(x), m), transposed(denseOf(x))).data], options).reshape([4, 4]),
      scores,
      close,
    )
  })

  test('M = W_Qᵀ W_K need not be symmetric', () => {
    manualSeed(6)
    const m = new SelfAttention({ inputDim: 3, ...options }).bilinearForm()
    expect(m.eq(m.transpose()).sum().item()).toBe(3)
  })
})

describe('MultiHeadAttention', () => {
  test('has the parameters and shapes of its formula', () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, keyDim: 5, valueDim: 4, bias: true })
    expect(layer.namedParameters().map(([name, { shape }]) => [name, shape])).toEqual([
      ['WQ', [10, 6]],
      ['WK', [10, 6]],
      ['WV', [8, 6]],
      ['WO', [6, 8]],
      ['bQ', [10]],
      ['bK', [10]],
      ['bV', [8]],
      ['bO', [6]],
    ])
    const x = randn([3, 6])
    expect([layer.forward(x).shape, layer.attention(x).shape, layer.bilinearForm(1).shape]).toEqual([
      [3, 6],
      [2, 3, 3],
      [6, 6],
    ])
    const standard = new MultiHeadAttention({ embedDim: 768, numHeads: 12 })
    expect([standard.keyDim, standard.valueDim, standard.WO.shape]).toEqual([64, 64, [768, 768]])
    expect(standard.parameters()).toHaveLength(4)
    expect([standard.bQ, standard.bO]).toEqual([null, null])
    expect(new MultiHeadAttention({ embedDim: 5, numHeads: 2, keyDim: 3, valueDim: 1 }).WQ.shape).toEqual([6, 5])
  })

  const layers: [string, Partial<MultiHeadAttentionOptions>][] = [
    ['standard dimensions', {}],
    ['other dimensions', { keyDim: 5, valueDim: 4 }],
    ['one head', { numHeads: 1 }],
    ['as many heads as dimensions', { numHeads: 6 }],
    ['no scaling', { scale: 'none' }],
    ['biases', { bias: true }],
  ]

  test.each(layers)('is its heads side by side, projected: %s', (_, given) => {
    manualSeed(7)
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 3, ...options, ...given })
    for (const [name, parameter] of layer.namedParameters())
      if (name.startsWith('b')) parameter.copy_(normal(parameter.shape))
    const x = normal([4, 6])
    const { numHeads: H, keyDim, valueDim } = layer
    const part = (bias: Tensor | null, h: number, size: number) =>
      bias === null ? undefined : slice(bias, h * size, (h + 1) * size)
    const heads = Array.from({ length: H }, (_, h) => {
      const { WQ, WK, WV } = layer.head(h)
      const q = linear(x, WQ, part(layer.bQ, h, keyDim))
      const k = linear(x, WK, part(layer.bK, h, keyDim))
      const a = softmax(matmul(q, k.transpose()).scale(layer.scale))
      return { a, y: matmul(a, linear(x, WV, part(layer.bV, h, valueDim))) }
    })
    expectNear(layer.attention(x), stack(heads.map(({ a }) => a)), close)
    const y = linear(
      concat(
        heads.map(({ y }) => y),
        -1,
      ),
      layer.WO,
      layer.bO ?? undefined,
    )
    expectNear(layer.forward(x), y, close)
    if (given.bias !== true) {
      const summed = heads.map((head, h) => linear(head.y, layer.head(h).WO)).reduce((sum, value) => sum.add(value))
      expectNear(layer.forward(x), summed, close)
    }
  })

  test('one head is SelfAttention, projected', () => {
    manualSeed(8)
    const single = new SelfAttention({ inputDim: 4, keyDim: 3, valueDim: 2, ...options })
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 1, keyDim: 3, valueDim: 2, ...options })
    layer.loadStateDict({ ...single.stateDict(), WO: layer.WO.detach() })
    const x = normal([5, 4])
    expectNear(layer.forward(x), linear(single.forward(x), layer.WO), close)
    expectNear(layer.attention(x).squeeze(0), single.attention(x), close)
  })

  test('head gives the rows of a head, from either end, differentiably', () => {
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, keyDim: 3, valueDim: 1, ...options })
    const { WQ, WK, WV, WO } = layer.head(1)
    expect([WQ.shape, WK.shape, WV.shape, WO.shape]).toEqual([
      [3, 4],
      [3, 4],
      [1, 4],
      [4, 1],
    ])
    expectSame(WQ, slice(layer.WQ, 3, 6))
    expectSame(WO, slice(layer.WO, [0, 1], [4, 2]))
    expectSame(layer.head(-1).WK, WK)
    expectSame(layer.head(-2).WV, layer.head(0).WV)
    WQ.sum().add(WO.sum()).backward()
    expectSame(gradOf(layer.WQ), concat([zeros([3, 4], options), ones([3, 4], options)]))
    expectSame(gradOf(layer.WO), concat([zeros([4, 1], options), ones([4, 1], options)], 1))
  })

  test('the bilinear form of a head gives its scores', () => {
    manualSeed(9)
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, ...options })
    const x = normal([3, 4])
    for (const h of [0, 1, -1]) {
      const scores = matmul(matmul(x, layer.bilinearForm(h)), x.transpose())
      const a = layer
        .attention(x)
        .slice(h === 0 ? 0 : 1, h === 0 ? 1 : 2)
        .squeeze(0)
      expectNear(softmax(scores.scale(layer.scale)), a, close)
    }
  })
})

const bothLayers = {
  SelfAttention: () => new SelfAttention({ inputDim: 6, keyDim: 4, valueDim: 5, ...options }),
  MultiHeadAttention: () => new MultiHeadAttention({ embedDim: 6, numHeads: 3, bias: true, ...options }),
}

describe.each(Object.entries(bothLayers))('%s', (_, make) => {
  test('every row of A sums to 1 and has no negative entry', () => {
    manualSeed(10)
    const layer = make()
    const a = layer.attention(normal([2, 5, 6]).scale(4))
    const sums = a.sum({ axis: -1 })
    expectNear(sums, ones(sums.shape, options), { absolute: 1e-14 })
    expect(a.min().item()).toBeGreaterThanOrEqual(0)
  })

  test('permutes its output as its input is permuted', () => {
    manualSeed(11)
    const layer = make()
    const x = normal([5, 6])
    const [y, a] = [layer.forward(x), layer.attention(x)]
    fc.assert(
      fc.property(orders(5), (order) => {
        const place = indices(order)
        const permuted = x.indexSelect(0, place)
        expectNear(layer.forward(permuted), y.indexSelect(0, place), close)
        expectNear(layer.attention(permuted), a.indexSelect(-2, place).indexSelect(-1, place), close)
      }),
      { numRuns: 30 },
    )
  })

  test('treats the items of a batch as it treats each alone', () => {
    manualSeed(12)
    const layer = make()
    const x = normal([2, 3, 4, 6])
    const [y, a] = [layer.forward(x), layer.attention(x)]
    x.unstack().forEach((batch, i) => {
      batch.unstack().forEach((item, j) => {
        const at = (t: Tensor) => t.slice([i, j], [i + 1, j + 1]).squeeze([0, 1])
        expectNear(at(y), layer.forward(item), close)
        expectNear(at(a), layer.attention(item), close)
      })
    })
    const [first] = x.unstack()
    expectNear((y.unstack() as [Tensor])[0], layer.forward(first as Tensor), close)
  })

  test('gives gradients in batches that are the sums over the items', () => {
    manualSeed(13)
    const layer = make()
    const x = normal([3, 4, 6])
    layer.forward(x).square().sum().backward()
    const together = layer.parameters().map(gradOf)
    layer.zeroGrad()
    for (const item of x.unstack()) layer.forward(item).square().sum().backward()
    layer.parameters().forEach((parameter, i) => {
      expectNear(gradOf(parameter), together[i] as Tensor, { relative: 1e-11, absolute: 1e-12 })
    })
  })

  test('takes an empty batch, and no rows', () => {
    const layer = make()
    const width = layer.forward(normal([1, 6])).shape.at(-1)
    expect(layer.forward(zeros([0, 4, 6], options)).shape).toEqual([0, 4, width])
    expect(layer.forward(zeros([0, 6], options)).shape).toEqual([0, width])
    layer
      .forward(zeros([0, 4, 6], options))
      .sum()
      .backward()
    for (const parameter of layer.parameters()) {
      const { data } = gradOf(parameter)
      expect(data.every((value) => value === 0)).toBe(true)
    }
  })

  test('takes a bool mask as −∞ in a float mask', () => {
    manualSeed(14)
    const layer = make()
    const x = normal([2, 3, 6])
    const mask = allowed([
      [1, 0, 1],
      [1, 1, 0],
      [0, 0, 0],
    ])
    const added = where(mask, 0, Number.NEGATIVE_INFINITY).to('float64')
    expectSame(layer.forward(x, { mask: added }), layer.forward(x, { mask }))
    const a = layer.attention(x, { mask })
    expect(a.maskedFill(mask.broadcastTo(a.shape), 0).max().item()).toBe(0)
    expectSame(layer.forward(x, { mask: ones([3, 3], { dtype: 'bool' }) }), layer.forward(x))
    expectSame(layer.forward(x, { mask: zeros([3, 3], options) }), layer.forward(x))
  })

  test('adds a float mask to the scores', () => {
    manualSeed(15)
    const layer = make()
    const x = normal([4, 6])
    const [unmasked, bias] = [layer.attention(x), normal([4, 4])]
    // softmax(log A + bias) = softmax(S + bias)
    expectNear(layer.attention(x, { mask: bias }), softmax(unmasked.log().add(bias)), close)
    // A shift of a whole row changes nothing.
    expectNear(layer.attention(x, { mask: normal([4, 1]) }), unmasked, close)
  })

  test('broadcasts masks over batches', () => {
    manualSeed(16)
    const layer = make()
    const x = normal([2, 3, 6])
    const rank = layer.attention(x).ndim
    // Which keys exist, for each item of the batch.
    const padding = allowed([
      [1, 1, 0],
      [1, 0, 0],
    ]).reshape([2, ...Array<number>(rank - 2).fill(1), 3])
    const y = layer.forward(x, { mask: padding }).unstack()
    x.unstack().forEach((item, i) => {
      const kept = item.slice(0, 2 - i)
      expectNear((y[i] as Tensor).slice(0, 2 - i), layer.forward(kept), close)
    })
  })

  test('causal: nobody sees what comes later', () => {
    manualSeed(17)
    const layer = make()
    const x = normal([5, 6])
    const triangle = eye(5)
      .add(tensor(Array.from({ length: 25 }, (_, i) => Number(i % 5 < Math.floor(i / 5)))).reshape([5, 5]))
      .gt(0)
    const y = layer.forward(x, { causal: true })
    expectSame(y, layer.forward(x, { mask: triangle }))
    expectSame(layer.attention(x, { causal: true, mask: triangle }), layer.attention(x, { causal: true }))
    const a = layer.attention(x, { causal: true })
    expect(a.maskedFill(triangle.broadcastTo(a.shape), 0).max().item()).toBe(0)
    // The first row sees itself alone.
    expectSame(
      a.slice(a.ndim === 3 ? [0, 0, 0] : [0, 0], a.ndim === 3 ? [1, 1, 1] : [1, 1]).reshape([]),
      tensor(1, options),
    )
    for (let n = 0; n < 5; n++) {
      const changed = concat([x.slice(0, n + 1), normal([4 - n, 6])])
      expectSame(layer.forward(changed, { causal: true }).slice(0, n + 1), y.slice(0, n + 1))
    }
    const leaf = x.clone().requiresGrad_()
    layer.forward(leaf, { causal: true }).slice(2, 3).sum().backward()
    const rows = gradOf(leaf).toArray() as number[][]
    expect(
      rows
        .slice(3)
        .flat()
        .every((value) => value === 0),
    ).toBe(true)
    expect(rows.slice(0, 3).every((row) => row.some((value) => value !== 0))).toBe(true)
  })

  test('causal and a mask together allow what both allow', () => {
    manualSeed(18)
    const layer = make()
    const x = normal([3, 6])
    const mask = allowed([
      [0, 1, 1],
      [1, 1, 1],
      [0, 1, 0],
    ])
    const both = allowed([
      [0, 0, 0],
      [1, 1, 0],
      [0, 1, 0],
    ])
    expectSame(layer.forward(x, { mask, causal: true }), layer.forward(x, { mask: both }))
  })

  test('a single row attends to itself: W_Q and W_K do not matter and get no gradient', () => {
    manualSeed(19)
    const layer = make()
    const x = normal([1, 6])
    expect(layer.attention(x).data.every((value) => value === 1)).toBe(true)
    layer.forward(x).square().sum().backward()
    for (const weight of [layer.WQ, layer.WK]) expect(gradOf(weight).data.every((value) => value === 0)).toBe(true)
    expect(gradOf(layer.WV).data.some((value) => value !== 0)).toBe(true)
  })

  test('saturated scores give W_Q and W_K nothing, W_V what it always gets', () => {
    manualSeed(20)
    const layer = make()
    noGrad(() => {
      for (const weight of [layer.WQ, layer.WK]) weight.copy_(weight.scale(100))
    })
    layer
      .forward(normal([4, 6]))
      .square()
      .sum()
      .backward()
    const size = (x: Tensor) => Math.sqrt(gradOf(x).square().sum().item())
    expect(size(layer.WQ)).toBeLessThan(1e-12)
    expect(size(layer.WK)).toBeLessThan(1e-12)
    expect(size(layer.WV)).toBeGreaterThan(0.1)
  })

  test('its gradients are right, to the second order', () => {
    manualSeed(21)
    const layer = make()
    const names = layer.namedParameters().map(([name]) => name)
    for (const mask of [
      undefined,
      allowed([
        [1, 0, 1],
        [0, 0, 0],
        [1, 1, 1],
      ]),
      tensor([0.5, -1, 0], options),
    ]) {
      const f = (x: Tensor, ...weights: Tensor[]) => {
        // The given leaves take the place of the layer's own parameters.
        const twin = Object.assign(make(), Object.fromEntries(names.map((name, i) => [name, weights[i]])))
        return twin.forward(x, { mask, causal: mask === undefined })
      }
      const leaves = [normal([3, 6]), ...layer.parameters().map((parameter) => parameter.detach().clone())]
      for (const leaf of leaves) leaf.requiresGrad_()
      assertGradcheck(f, leaves, { samples: 20, directions: 4 })
      assertGradgradcheck(f, leaves, { samples: 10, directions: 4 })
    }
  })
})

describe('head h depends on its own rows of W_Q, W_K and W_V alone', () => {
  const H = 3
  const make = () => {
    manualSeed(22)
    return new MultiHeadAttention({ embedDim: 6, numHeads: H, keyDim: 2, valueDim: 4, ...options })
  }
  /** Which heads have a row that is not exactly 0. */
  const headsIn = (gradient: Tensor, size: number) =>
    gradient
      .reshape([H, size * 6])
      .unstack()
      .map((rows) => rows.data.some((value) => value !== 0))

  test.each([0, 1, 2])('the attention of head %i', (h) => {
    const layer = make()
    const weighted = layer
      .attention(normal([4, 6]))
      .slice(h, h + 1)
      .square()
      .sum()
    weighted.backward()
    const own = Array.from({ length: H }, (_, i) => i === h)
    expect(headsIn(gradOf(layer.WQ), 2)).toEqual(own)
    expect(headsIn(gradOf(layer.WK), 2)).toEqual(own)
    expect([layer.WV.grad, layer.WO.grad]).toEqual([null, null])
  })

  test.each([0, 1, 2])('the output, where W_O takes head %i alone', (h) => {
    const layer = make()
    const columns = tensor(
      Array.from({ length: H * 4 }, (_, i) => Number(Math.floor(i / 4) === h)),
      options,
    )
    noGrad(() => layer.WO.copy_(layer.WO.mul(columns)))
    layer
      .forward(normal([4, 6]))
      .square()
      .sum()
      .backward()
    const own = Array.from({ length: H }, (_, i) => i === h)
    expect(headsIn(gradOf(layer.WQ), 2)).toEqual(own)
    expect(headsIn(gradOf(layer.WK), 2)).toEqual(own)
    expect(headsIn(gradOf(layer.WV), 4)).toEqual(own)
  })

  test.each([0, 1, 2])('changing the rows of head %i changes its attention alone', (h) => {
    const layer = make()
    const x = normal([4, 6])
    const before = layer.attention(x).unstack()
    const rows = tensor(
      Array.from({ length: H * 2 }, (_, i) => Number(Math.floor(i / 2) === h)),
      options,
    ).unsqueeze(1)
    noGrad(() => layer.WQ.copy_(layer.WQ.add(rows)))
    layer
      .attention(x)
      .unstack()
      .forEach((a, i) => {
        if (i === h)
          expect(
            a
              .eq(before[i] as Tensor)
              .min()
              .toArray(),
          ).toBe(false)
        else expectSame(a, before[i] as Tensor)
      })
  })
})
