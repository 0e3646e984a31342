// Attention without its weights in memory, against the form that has them.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  attentionWeights,
  checkpoint,
  dropout,
  grad,
  jvp,
  manualSeed,
  matmul,
  noGrad,
  randn,
  type Shape,
  ShapeError,
  scaledDotProductAttention,
  type Tensor,
  tapeOf,
  tensor,
  where,
  zeros,
} from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { assertGradcheck, assertGradgradcheck } from 'wengert/testing'
import { arenaStatistics, setArenaBudget } from '../../src/memory/arena.js'
import { shapesBelow } from '../support/arbitraries.js'
import { restoreArenaBudget } from '../support/arena.js'
import { expectError, expectNear, expectSame, gradOf } from '../support/expectations.js'

restoreArenaBudget()

type Floating = 'float32' | 'float64'
type Options = NonNullable<Parameters<typeof scaledDotProductAttention>[3]>

const infinity = Number.POSITIVE_INFINITY

/** The same by the weights; dropout draws the same numbers. */
function composed(q: Tensor, k: Tensor, v: Tensor, { dropout: p = 0, ...options }: Options): Tensor {
  return matmul(dropout(attentionWeights(q, k, options), { p }), v)
}

/** How the numbers of a (…, rows, columns) operand lie in memory. */
const layouts = {
  'row-major': (x: Tensor) => x,
  'columns first': (x: Tensor) => x.transpose().clone().transpose(),
  'rows outermost': (x: Tensor) => {
    const order = [x.ndim - 2, ...Array.from({ length: x.ndim - 2 }, (_, axis) => axis), x.ndim - 1]
    const inverse = order.map((_, axis) => order.indexOf(axis))
    return x.permute(order).clone().permute(inverse)
  },
}
const layout = fc.constantFrom(...(Object.keys(layouts) as (keyof typeof layouts)[]))

// Around the width of a vector, of a tile, and of a block (128).
const small = fc.integer({ min: 1, max: 9 })
const count = fc.oneof(
  { weight: 6, arbitrary: small },
  fc.integer({ min: 10, max: 40 }),
  fc.integer({ min: 120, max: 140 }),
)
const dim = fc.oneof({ weight: 6, arbitrary: small }, fc.integer({ min: 10, max: 20 }), fc.constantFrom(257))

interface Case {
  readonly dtype: Floating
  readonly seed: number
  readonly shapes: readonly [q: Shape, k: Shape, v: Shape]
  readonly layouts: readonly (keyof typeof layouts)[]
  readonly mask: { readonly shape: Shape; readonly kind: 'bool' | 'added' | 'added with −∞' } | null
  readonly causal: boolean
  readonly scale: number | undefined
}

function cases(limits: { readonly count: fc.Arbitrary<number>; readonly dim: fc.Arbitrary<number> }) {
  return fc
    .record({
      batch: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
      sizes: fc.tuple(limits.count, limits.count, limits.dim, limits.dim),
    })
    .chain(({ batch, sizes: [queries, keys, keyDim, valueDim] }) =>
      fc
        .record({
          dtype: fc.constantFrom<Floating>('float32', 'float64'),
          seed: fc.nat(),
          shapes: fc.tuple(shapesBelow(batch), shapesBelow(batch), shapesBelow(batch)).map(
            ([q, k, v]) =>
              [
                [...q, queries, keyDim],
                [...k, keys, keyDim],
                [...v, keys, valueDim],
              ] as const,
          ),
          layouts: fc.tuple(layout, layout, layout),
          maskKind: fc.constantFrom('none', 'bool', 'added', 'added with −∞'),
          causal: fc.boolean(),
          scale: fc.constantFrom(undefined, 0.5, -1, 0),
        })
        .chain(({ maskKind, ...rest }) => {
          if (maskKind === 'none') return fc.constant<Case>({ ...rest, mask: null })
          const [q, k] = rest.shapes
          const scores = [...broadcast(q.slice(0, -2), k.slice(0, -2)), queries, keys]
          return shapesBelow(scores).map(
            (shape): Case => ({ ...rest, mask: { shape, kind: maskKind as NonNullable<Case['mask']>['kind'] } }),
          )
        }),
    )
}

function broadcast(a: Shape, b: Shape): number[] {
  const rank = Math.max(a.length, b.length)
  const size = (shape: Shape, axis: number) => shape[axis - rank + shape.length] ?? 1
  return Array.from({ length: rank }, (_, axis) => Math.max(size(a, axis), size(b, axis)))
}

function maskOf({ shape, kind }: NonNullable<Case['mask']>, dtype: Floating): Tensor {
  if (kind === 'added') return randn(shape, { dtype })
  const allowed = randn(shape).gt(-0.5)
  return kind === 'bool' ? allowed : where(allowed, randn(shape, { dtype }), -infinity)
}

/** Operands of a case, as leaves, and as they lie in memory. */
function operandsOf({ dtype, seed, shapes, layouts: kinds, mask, causal, scale }: Case) {
  manualSeed(seed)
  const leaves = shapes.map((shape) => randn(shape, { dtype, requiresGrad: true })) as [Tensor, Tensor, Tensor]
  const laid = leaves.map((leaf, i) => layouts[kinds[i] as keyof typeof layouts](leaf)) as [Tensor, Tensor, Tensor]
  const options: Options = { ...(mask === null ? {} : { mask: maskOf(mask, dtype) }), causal, scale }
  return { leaves, laid, options }
}

const tolerances = {
  float32: { relative: 1e-4, absolute: 2e-4 },
  float64: { relative: 1e-11, absolute: 1e-12 },
}

describe('equals the composed form', () => {
  test('in its result, and in its gradients towards every subset of q, k and v', () => {
    fc.assert(
      fc.property(cases({ count, dim }), fc.subarray([0, 1, 2], { minLength: 1 }), (given, wanted) => {
        const { leaves, laid, options } = operandsOf(given)
        const operands = laid.map((x, i) => (wanted.includes(i) ? x : x.detach())) as [Tensor, Tensor, Tensor]
        const near = tolerances[given.dtype]
        const y = scaledDotProductAttention(...operands, options)
        const expected = composed(...operands, options)
        expectNear(y, expected, near)
        const g = randn(y.shape, { dtype: given.dtype })
        expected.backward(g, { retainGraph: true })
        const gradients = wanted.map((i) => gradOf(leaves[i] as Tensor))
        for (const leaf of leaves) leaf.grad = null
        y.backward(g)
        wanted.forEach((i, place) => {
          expectNear(gradOf(leaves[i] as Tensor), gradients[place] as Tensor, near)
        })
        for (const i of [0, 1, 2]) if (!wanted.includes(i)) expect((leaves[i] as Tensor).grad).toBeNull()
      }),
      { numRuns: 300 },
    )
  })

  test('in its second derivatives, and in forward mode', () => {
    fc.assert(
      fc.property(cases({ count: small, dim: small }), (given) => {
        const { leaves, laid, options } = operandsOf({ ...given, dtype: 'float64' })
        const second = (attention: typeof composed) => {
          for (const leaf of leaves) leaf.grad = null
          attention(...laid, options)
            .square()
            .sum()
            .backward(null, { createGraph: true, retainGraph: true })
          const firsts = leaves.map(gradOf)
          for (const leaf of leaves) leaf.grad = null
          firsts
            .map((gradient) => gradient.square().sum())
            .reduce((a, b) => a.add(b))
            .backward(null, { retainGraph: true })
          return leaves.map(gradOf)
        }
        const expected = second(composed)
        second(scaledDotProductAttention).forEach((gradient, i) => {
          const size = Math.max(...(expected[i] as Tensor).data.map(Math.abs))
          expectNear(gradient, expected[i] as Tensor, { absolute: 1e-11 * (1 + size) })
        })
        const values = leaves.map((leaf) => leaf.detach()) as [Tensor, Tensor, Tensor]
        const tangents = values.map(({ shape }) => randn(shape, { dtype: 'float64' })) as [Tensor, Tensor, Tensor]
        const along = (attention: typeof composed) =>
          jvp((q: Tensor, k: Tensor, v: Tensor) => attention(q, k, v, options), values, tangents)
        const [y, t] = along(scaledDotProductAttention)
        const [wantedY, wantedT] = along(composed)
        expectNear(y, wantedY, { relative: 1e-11, absolute: 1e-12 })
        expectNear(t, wantedT, { relative: 1e-10, absolute: 1e-11 })
        // Forward over reverse: the tangents of the gradients.
        const alongGradients = (attention: typeof composed) => {
          const energy = (q: Tensor, k: Tensor, v: Tensor) => attention(q, k, v, options).square().sum()
          return jvp(grad(energy, { argnums: [0, 1, 2] }), values, tangents)[1]
        }
        const wanted = alongGradients(composed)
        alongGradients(scaledDotProductAttention).forEach((tangent, i) => {
          const size = Math.max(...(wanted[i] as Tensor).data.map(Math.abs))
          expectNear(tangent, wanted[i] as Tensor, { absolute: 1e-11 * (1 + size) })
        })
      }),
      { numRuns: 60 },
    )
  })

  test('with operands of several dtypes', () => {
    manualSeed(1)
    const q = randn([4, 3])
    const [k, v] = [randn([5, 3], { dtype: 'float64' }), tensor([1, 2, 3, 4, 5]).to('int32').reshape([5, 1])]
    const y = scaledDotProductAttention(q, k, v, { causal: true })
    expect(y.dtype).toBe('float64')
    expectNear(y, composed(q, k, v, { causal: true }), { relative: 1e-14 })
    const mask = randn([4, 5], { dtype: 'float64' })
    const w = randn([5, 2])
    const z = scaledDotProductAttention(q, k.to('float32'), w, { mask })
    expect(z.dtype).toBe('float64')
    expectNear(z, composed(q, k.to('float32'), w, { mask }), { relative: 1e-5, absolute: 1e-6 })
  })
})

describe('dropout', () => {
  test('drops what the composed form drops, and the same again in the backward sweep', () => {
    fc.assert(
      fc.property(cases({ count, dim: small }), fc.constantFrom(0.1, 0.5, 0.9, 1), (given, p) => {
        const { leaves, laid, options } = operandsOf(given)
        const near = tolerances[given.dtype]
        const run = (attention: typeof composed) => {
          for (const leaf of leaves) leaf.grad = null
          manualSeed(given.seed)
          const y = attention(...laid, { ...options, dropout: p })
          y.backward(randn(y.shape, { dtype: given.dtype }), { retainGraph: true })
          return [y, ...leaves.map(gradOf)]
        }
        const expected = run(composed)
        run(scaledDotProductAttention).forEach((result, i) => {
          expectNear(result, expected[i] as Tensor, near)
        })
      }),
      { numRuns: 60 },
    )
  })

  test('keeps each weight with probability 1 − p, and the mean of the result', () => {
    manualSeed(2)
    const n = 400
    // Of equal weights and the unit matrix as values: the result is the weights.
    const identity = tensor(Float32Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0))).reshape([n, n])
    const p = 0.3
    const weights = scaledDotProductAttention(zeros([n, 4]), zeros([n, 4]), identity, { dropout: p }).data
    const kept = weights.filter((weight) => weight !== 0)
    for (const weight of kept) expect(Math.abs(weight * n * (1 - p) - 1)).toBeLessThan(1e-6)
    // 400² Bernoulli trials: five standard deviations of their mean.
    expect(Math.abs(kept.length / n ** 2 - (1 - p))).toBeLessThan((5 * Math.sqrt(p * (1 - p))) / n)
  })

  test('has the gradient of what it drew, to the second order', () => {
    const leaf = (shape: Shape) => randn(shape, { dtype: 'float64', requiresGrad: true })
    manualSeed(3)
    const inputs = [leaf([2, 5, 3]), leaf([2, 6, 3]), leaf([2, 6, 2])]
    const f = (q: Tensor, k: Tensor, v: Tensor) => {
      manualSeed(4)
      return scaledDotProductAttention(q, k, v, { dropout: 0.4 })
    }
    assertGradcheck(f, inputs)
    assertGradgradcheck(f, inputs)
  })

  test('is drawn the same again under checkpoint, and moves the generator on once', () => {
    const run = (around: (fn: () => Tensor) => Tensor) => {
      manualSeed(5)
      const q = randn([6, 4], { requiresGrad: true })
      const y = around(() => scaledDotProductAttention(q, q, q, { dropout: 0.5 }))
      y.square().sum().backward()
      return [y, gradOf(q), randn([3])]
    }
    const expected = run((fn) => fn())
    run((fn) => checkpoint(fn)).forEach((result, i) => {
      expectSame(result, expected[i] as Tensor)
    })
  })
})

describe.each(['float32', 'float64'] as const)('what may not be seen has no part in anything, %s', (dtype) => {
  const bad = [Number.NaN, infinity, -infinity]

  /** Rows of keys and values that nobody may see, as ordinary numbers and as something else. */
  function withRows(x: Tensor, rows: readonly number[], value: number): Tensor {
    const hidden = tensor(Array.from({ length: x.shape[0] as number }, (_, i) => rows.includes(i))).reshape([-1, 1])
    return where(hidden, value, x).detach().requiresGrad_()
  }

  const n = 150
  const hidden = [1, 7, 140]
  const allowed = tensor(Array.from({ length: n }, (_, i) => !hidden.includes(i)))
  const added = where(allowed, 0, -infinity).to(dtype)

  test.each([
    ['a bool mask', { mask: allowed }],
    ['−∞ in a float mask', { mask: added }],
  ])('keys and values behind %s', (_, options) => {
    manualSeed(6)
    const [q, k, v] = [randn([n, 3], { dtype }), randn([n, 3], { dtype }), randn([n, 5], { dtype })]
    const run = (value: number) => {
      const operands = [q.detach().requiresGrad_(), withRows(k, hidden, value), withRows(v, hidden, value)] as const
      const y = scaledDotProductAttention(...operands, options)
      y.square().sum().backward()
      return [y, ...operands.map(gradOf)]
    }
    const expected = run(0)
    for (const value of bad) {
      run(value).forEach((result, i) => {
        expectNear(result, expected[i] as Tensor, tolerances[dtype])
        if (i > 1) for (const row of hidden) expect([...result.at(row).data].every((x) => x === 0)).toBe(true)
      })
    }
  })

  test('keys and values that come later, under causal', () => {
    manualSeed(7)
    const operands = () => [5, 5, 2].map((width) => randn([n, width], { dtype, requiresGrad: true }))
    const [q, k, v] = operands() as [Tensor, Tensor, Tensor]
    const seen = 130
    const later = Array.from({ length: n - seen }, (_, i) => seen + i)
    const first = (y: Tensor) => y.slice(0, seen)
    const expected = first(scaledDotProductAttention(q, k, v, { causal: true }))
    expected.square().sum().backward()
    for (const value of bad) {
      const [badK, badV] = [withRows(k, later, value), withRows(v, later, value)]
      const fresh = q.detach().requiresGrad_()
      const y = first(scaledDotProductAttention(fresh, badK, badV, { causal: true }))
      expectNear(y, expected, tolerances[dtype])
      // Whoever sees them, sees NaN: here nobody asks.
      expect([...y.data].every(Number.isFinite)).toBe(true)
    }
  })

  test('a query that sees nothing gives 0 and takes nothing, whatever it is', () => {
    manualSeed(8)
    const mask = tensor(Array.from({ length: n }, (_, i) => i !== 3)).reshape([n, 1])
    for (const value of bad) {
      const q = withRows(randn([n, 3], { dtype }), [3], value)
      const [k, v] = [3, 4].map((width) => randn([n, width], { dtype, requiresGrad: true })) as [Tensor, Tensor]
      const y = scaledDotProductAttention(q, k, v, { mask })
      expect([...y.at(3).data]).toEqual([0, 0, 0, 0])
      y.square().sum().backward()
      expect([...gradOf(q).at(3).data]).toEqual([0, 0, 0])
      for (const x of [y, gradOf(q), gradOf(k), gradOf(v)]) expect([...x.data].every(Number.isFinite)).toBe(true)
    }
  })

  test('nobody sees anything', () => {
    const [q, k, v] = [3, 3, 4].map((width) => randn([5, width], { dtype, requiresGrad: true })) as [
      Tensor,
      Tensor,
      Tensor,
    ]
    const y = scaledDotProductAttention(q, k, v, { mask: zeros([5, 5], { dtype: 'bool' }) })
    y.backward(randn([5, 4], { dtype }))
    for (const x of [y, gradOf(q), gradOf(k), gradOf(v)]) expect([...x.data].every((value) => value === 0)).toBe(true)
  })

  test('a query that sees one key passes it exactly nothing', () => {
    manualSeed(9)
    const [q, k, v] = [7, 7, 300].map((width) => randn([n, width], { dtype, requiresGrad: true })) as [
      Tensor,
      Tensor,
      Tensor,
    ]
    const mask = tensor(Array.from({ length: n }, (_, i) => i === 0))
    const y = scaledDotProductAttention(q, k, v, { mask })
    expectSame(y.at(5), v.detach().at(0))
    y.backward(randn([n, 300], { dtype }))
    for (const x of [q, k]) expect([...gradOf(x).data].every((value) => value === 0)).toBe(true)
  })
})

describe('scores that are not finite', () => {
  test.each([
    ['NaN', Number.NaN],
    ['∞', infinity],
  ])('%s in a row is as in the composed form, and no other row knows', (_, value) => {
    const q = tensor([[1], [value], [1], [2]])
    const [k, v] = [tensor([[1], [2], [3]]), tensor([[1, 2, 3]]).transpose()]
    const y = scaledDotProductAttention(q, k, v)
    expectNear(y, composed(q, k, v, {}), { relative: 1e-6 })
    expect([...y.data].map(Number.isNaN)).toEqual([false, Number.isNaN(value), false, false])
  })

  test('where a cotangent is 0, nothing comes back to q', () => {
    const q = tensor([[1], [Number.NaN], [1], [2]], { requiresGrad: true })
    const [k, v] = [tensor([[1], [2], [3]]), tensor([[1, 2, 3]]).transpose()]
    const y = scaledDotProductAttention(q, k, v)
    y.backward(tensor([[1], [0], [1], [1]]))
    expect([...gradOf(q).data].map((value) => value === 0)).toEqual([false, true, false, false])
    expect([...gradOf(q).data].every(Number.isFinite)).toBe(true)
  })

  test('a scale is that of the scores: where they are 0, the largest does nothing', () => {
    const q = tensor([[0], [1e-30], [0]], { requiresGrad: true })
    const [k, v] = [tensor([[1], [2], [10]]), tensor([[1], [2], [6]])]
    const scale = 3e38
    scaledDotProductAttention(q, k, v, { scale }).sum().backward()
    const gradient = gradOf(q)
    expectNear(scaledDotProductAttention(q, k, v, { scale }), tensor([[3], [6], [3]]), { relative: 1e-6 })
    q.grad = null
    composed(q, k, v, { scale }).sum().backward()
    expectSame(gradient, gradOf(q))
  })

  test('large scores do not overflow', () => {
    const q = tensor([[1e4], [-1e4], [0]])
    const y = scaledDotProductAttention(q, q, tensor([[1], [2], [3]]), { scale: 1 })
    expect(y.toArray()).toEqual([[1], [2], [2]])
  })
})

describe('memory', () => {
  const MEBIBYTE = 2 ** 20

  test('the tape keeps q, k, v, y and two numbers of each query', () => {
    const leaf = (shape: Shape) => randn(shape, { requiresGrad: true })
    const y = scaledDotProductAttention(leaf([2, 50, 8]), leaf([2, 60, 8]), leaf([2, 60, 4]))
    const own = tapeOf(y).entries.at(-1)
    expect(own?.op).toBe('scaledDotProductAttention')
    expect(own?.bytesSaved).toBe(4 * 2 * (50 * 8 + 60 * 8 + 60 * 4 + 50 * 4 + 50 * 2))
  })

  test('no matrix of queries by keys, neither forward nor backward', () => {
    // One would be 16 MiB.
    const n = 2048
    manualSeed(10)
    setArenaBudget(MEBIBYTE, MEBIBYTE)
    const x = randn([n, 8], { requiresGrad: true })
    const mask = randn([n]).gt(0)
    scaledDotProductAttention(x, x, x, { mask, causal: true, dropout: 0.1 }).square().sum().backward()
    expect([...gradOf(x).data].every(Number.isFinite)).toBe(true)
    expect(arenaStatistics().extent).toBeLessThan(3 * MEBIBYTE)
  })

  test('what is kept goes with the tape', () => {
    const [q, k, v] = [0, 1, 2].map(() => randn([20, 8], { requiresGrad: true })) as [Tensor, Tensor, Tensor]
    const cotangent = randn([20, 8])
    const step = () => {
      scaledDotProductAttention(q, k, v).backward(cotangent)
      for (const x of [q, k, v]) x.grad = null
    }
    step()
    const before = arenaStatistics().residents
    for (let i = 0; i < 10; i++) step()
    // The results, which the user could have kept.
    expect(arenaStatistics().residents - before).toBe(10)
    noGrad(() => {
      for (let i = 0; i < 10; i++) scaledDotProductAttention(q, k, v)
    })
    expect(arenaStatistics().residents - before).toBe(20)
  })

  test('is the same with much and with little memory', () => {
    const run = () => {
      manualSeed(11)
      const layer = new MultiHeadAttention({ embedDim: 32, numHeads: 4 })
      const x = randn([2, 70, 32], { requiresGrad: true })
      layer
        .forward(layer.forward(x, { causal: true }))
        .square()
        .mean()
        .backward()
      return [gradOf(x), ...layer.parameters().map(gradOf)].map(({ data }) => [...data])
    }
    setArenaBudget(64 * MEBIBYTE)
    const expected = run()
    setArenaBudget(1024, 1024)
    expect(run()).toEqual(expected)
  })

  test('heads stay views of one matrix: results and gradients lie like the operands', () => {
    const x = randn([2, 5, 3, 4], { requiresGrad: true })
    const heads = x.permute([0, 2, 1, 3])
    const y = scaledDotProductAttention(heads, heads, heads)
    expect(y.permute([0, 2, 1, 3]).strides).toBeNull()
    expectNear(y, composed(heads, heads, heads, {}), { relative: 1e-5, absolute: 1e-6 })
  })
})

describe('errors', () => {
  const x = randn([2, 3])
  test('leading axes that do not broadcast', () => {
    const says = ['(2, 4, 3)', '(3, 4, 3)', 'do not broadcast'] as const
    const name = 'scaledDotProductAttention'
    expectError(() => attentionWeights(zeros([2, 4, 3]), zeros([3, 4, 3])), ShapeError, name, ...says)
    const [two, three] = [zeros([2, 4, 3]), zeros([3, 4, 3])]
    expectError(() => scaledDotProductAttention(two, three, three), ShapeError, name, ...says)
    expectError(() => scaledDotProductAttention(two, two, three), ShapeError, name, ...says)
  })

  test('nothing has been drawn when an argument is refused', () => {
    manualSeed(12)
    const expected = randn([4])
    manualSeed(12)
    expect(() => scaledDotProductAttention(x, x, x, { dropout: 0.5, mask: zeros([7]) })).toThrow(ShapeError)
    expectSame(randn([4]), expected)
  })
})

test('a float mask that needs its gradient gets it', () => {
  manualSeed(13)
  const [q, k, v] = [randn([2, 4, 3]), randn([2, 5, 3]), randn([2, 5, 3])].map((x) => x.to('float64').requiresGrad_())
  const mask = randn([4, 5], { dtype: 'float64', requiresGrad: true })
  const f = (...inputs: Tensor[]) => {
    const [a, b, c, bias] = inputs as [Tensor, Tensor, Tensor, Tensor]
    return scaledDotProductAttention(a, b, c, { mask: bias, causal: true })
  }
  const inputs = [q, k, v, mask] as Tensor[]
  assertGradcheck(f, inputs)
  assertGradgradcheck(f, inputs)
})
