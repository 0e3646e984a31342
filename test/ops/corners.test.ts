// Where the formulas break off: zeros, ties, infinities, NaN, nothing at all. In both dtypes.
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { type Shape, type Tensor, tensor } from 'wengert'

const { NaN: nan, POSITIVE_INFINITY: inf, EPSILON } = Number
const dtypes = ['float64', 'float32'] as const

type Function1 = (x: Tensor) => Tensor

const ints = (...values: number[]) => tensor(Int32Array.from(values))

describe.each(dtypes)('%s', (dtype) => {
  const leaf = (values: readonly number[], shape: Shape = [values.length]) =>
    tensor(values, { shape, dtype, requiresGrad: true })
  const tolerance = dtype === 'float64' ? 8 * EPSILON : 8 * 2 ** -23

  function expectNumbers(x: Tensor | null, wanted: readonly number[]): void {
    expect(x).not.toBeNull()
    const found = [...(x as Tensor).data]
    expect(found.length).toBe(wanted.length)
    wanted.forEach((value, i) => {
      const got = found[i] as number
      const close = Object.is(got, value) || got === value || Math.abs(got - value) <= tolerance * Math.abs(value)
      expect(close, `[${i}]: got [${found.join(', ')}], wanted [${wanted.join(', ')}]`).toBe(true)
    })
  }

  /** Value and gradient, for a cotangent of ones, at a point. */
  function expectAt(fn: Function1, at: readonly number[], value: readonly number[], gradient: readonly number[]): void {
    const x = leaf(at)
    const y = fn(x)
    expectNumbers(y, value)
    y.sum().backward()
    expectNumbers(x.grad, gradient)
  }

  /** The diagonal of the second derivative of Σ fn(x), where it is diagonal. */
  function expectSecond(fn: Function1, at: readonly number[], wanted: readonly number[]): void {
    const x = leaf(at)
    fn(x).sum().backward(null, { createGraph: true })
    const gradient = x.grad as Tensor
    x.grad = null
    gradient.sum().backward()
    expectNumbers(x.grad, wanted)
  }

  test('pow', () => {
    expectAt((x) => x.pow(0), [0, -2, inf, nan], [1, 1, 1, 1], [0, 0, 0, 0])
    expectAt((x) => x.pow(3), [-2, 0], [-8, 0], [12, 0])
    expectAt((x) => x.pow(-1), [-2], [-0.5], [-0.25])
    expectAt((x) => x.pow(0.5), [0], [0], [inf])
    expectAt((x) => x.pow(2.5), [-2], [nan], [nan])
    expectAt((x) => wengert.pow(x, 1), [0, -3], [0, -3], [1, 1])
    // Towards the exponent: 0^y is constant.
    expectAt((y) => wengert.pow(0, y), [0, 2], [1, 0], [0, 0])
    expectAt((y) => wengert.pow(1, y), [3], [1], [0])
    expectSecond((x) => x.pow(3), [0, -2], [0, -12])
    expectSecond((x) => x.pow(tensor([1, 2, 3], { dtype })), [0, 0, 0], [0, 2, 0])
    expectSecond((y) => wengert.pow(0, y), [0, 2], [0, 0])
  })

  test('abs, relu, sign, norm and std have gradient 0 at 0', () => {
    for (const fn of [wengert.abs, wengert.relu, wengert.sign]) expectAt(fn, [0], [0], [0])
    expectAt(wengert.norm, [0, 0], [0], [0, 0])
    expectAt((x) => wengert.norm(x, { axis: 0 }), [0], [0], [0])
    expectAt(wengert.std, [3, 3, 3], [0], [0, 0, 0])
    expectSecond(wengert.norm, [0, 0], [0, 0])
    expectSecond(wengert.std, [3, 3], [0, 0])
  })

  test('norm of large, tiny and infinite numbers', () => {
    const [large, tiny] = dtype === 'float64' ? [1e200, 1e-200] : [1e30, 1e-30]
    expectAt(wengert.norm, [3 * large, 4 * large], [5 * large], [0.6, 0.8])
    expectAt(wengert.norm, [3 * tiny, 4 * tiny], [5 * tiny], [0.6, 0.8])
    const rows = leaf([3 * large, 4 * large, 3 * tiny, 4 * tiny, 0, 0, 3, 4], [4, 2])
    expectNumbers(wengert.norm(rows, { axis: 1 }), [5 * large, 5 * tiny, 0, 5])
    expectNumbers(wengert.norm(leaf([inf, 1])), [inf])
    expectNumbers(wengert.norm(leaf([nan, 1])), [nan])
  })

  test('clamp: gradient 1 at the bounds', () => {
    const bounded = (x: Tensor) => x.clamp({ min: -1, max: 1 })
    expectAt(bounded, [-2, -1, 0, 1, 2, inf, -inf], [-1, -1, 0, 1, 1, 1, -1], [0, 1, 1, 1, 0, 0, 0])
    expectNumbers(bounded(leaf([nan])), [nan])
    expectAt((x) => x.clamp({ min: 3, max: 1 }), [0, 2, 4], [1, 1, 1], [0, 0, 0])
    expect([...tensor(Int32Array.of(-5, 5)).clamp({ max: 2 }).data]).toEqual([-5, 2])
  })

  test('max and min over ties share, over NaN the gradient goes to NaN', () => {
    expectAt(wengert.max, [1, 3, 3], [3], [0, 0.5, 0.5])
    expectAt(wengert.min, [1, 1, 3], [1], [0.5, 0.5, 0])
    expectAt(wengert.max, [1, nan, 3], [nan], [0, 1, 0])
    expectAt(wengert.min, [nan, 1, nan], [nan], [0.5, 0, 0.5])
    const [a, b] = [leaf([1, 2, nan, 1, nan]), leaf([1, 1, 1, nan, nan])]
    wengert.maximum(a, b).sum().backward()
    expectNumbers(a.grad, [0.5, 1, 1, 0, 0.5])
    expectNumbers(b.grad, [0.5, 0, 0, 1, 0.5])
    const [c, d] = [leaf([1, 2, nan]), leaf([1, 1, 1])]
    wengert.minimum(c, d).sum().backward()
    expectNumbers(c.grad, [0.5, 0, 1])
    expectNumbers(d.grad, [0.5, 1, 0])
  })

  test('prod, cumprod and cumsum through zeros', () => {
    expectAt(wengert.prod, [2, 0, 3], [0], [0, 6, 0])
    expectAt(wengert.prod, [0, 0, 3], [0], [0, 0, 0])
    expectAt((x) => wengert.cumprod(x, 0), [2, 0, 3, 4], [2, 0, 0, 0], [1, 2 + 6 + 24, 0, 0])
    expectAt((x) => wengert.cumprod(x, 0), [0, 3, 0], [0, 0, 0], [1 + 3, 0, 0])
    expectAt((x) => wengert.cumsum(x, 0), [0, -0, 5], [0, 0, 5], [3, 2, 1])
    // The mixed second derivatives of a product are the products of all the others but two.
    const x = leaf([2, 0, 3])
    wengert.prod(x).backward(null, { createGraph: true })
    const gradient = x.grad as Tensor
    x.grad = null
    wengert.at(gradient, 0).backward(null, { retainGraph: true })
    expectNumbers(x.grad, [0, 3, 0])
    x.grad = null
    wengert.at(gradient, 2).backward()
    expectNumbers(x.grad, [0, 2, 0])
  })

  test('cumsum passes infinities on and keeps what small summands add up to', () => {
    expectNumbers(wengert.cumsum(leaf([1, inf, 1]), 0), [1, inf, inf])
    expectNumbers(wengert.cumsum(leaf([inf, -inf, 1]), 0), [inf, nan, nan])
    const big = 2 ** 60
    expectNumbers(
      wengert
        .cumsum(leaf([big, 1, -big, 1]), 0)
        .at(-1)
        .reshape([1]),
      [2],
    )
  })

  test('logsumexp', () => {
    expectAt(wengert.logsumexp, [-inf, -inf], [-inf], [0, 0])
    expectAt(wengert.logsumexp, [-inf, 3], [3], [0, 1])
    expectAt(wengert.logsumexp, [inf, 3], [inf], [1, 0])
    expectAt(wengert.logsumexp, [inf, -inf, inf], [inf], [0.5, 0, 0.5])
    expectAt(wengert.logsumexp, [1000, 1000], [1000 + Math.LN2], [0.5, 0.5])
    expectNumbers(wengert.logsumexp(leaf([nan, inf])), [nan])
    expectNumbers(wengert.logsumexp(leaf([], [2, 0]), { axis: 1 }), [-inf, -inf])
  })

  test('logaddexp', () => {
    const [a, b] = [leaf([-inf, -inf, inf, inf, 1000, 2]), leaf([-inf, 3, 3, inf, 1000, 2])]
    const y = wengert.logaddexp(a, b)
    expectNumbers(y, [-inf, 3, inf, inf, 1000 + Math.LN2, 2 + Math.LN2])
    y.sum().backward()
    expectNumbers(a.grad, [0, 0, 1, 0.5, 0.5, 0.5])
    expectNumbers(b.grad, [0, 1, 0, 0.5, 0.5, 0.5])
    expectSecond((x) => wengert.logaddexp(x, 2), [2], [0.25])
  })

  test('softmax', () => {
    expectAt((x) => x.softmax(), [5], [1], [0])
    expectAt((x) => x.softmax(), [-inf, -inf], [0, 0], [0, 0])
    expectAt((x) => x.softmax(), [-inf, 2], [0, 1], [0, 0])
    const largest = dtype === 'float64' ? Number.MAX_VALUE : 3.4028234663852886e38
    expectAt((x) => x.softmax(), [largest, -largest, largest], [0.5, 0, 0.5], [0, 0, 0])
    expectAt((x) => x.softmax(), [inf, 1], [1, 0], [0, 0])
    expectAt((x) => x.softmax().square(), [inf, -inf, inf], [0.25, 0, 0.25], [0, 0, 0])
    expectAt((x) => x.softmax(), [inf, nan], [nan, nan], [nan, nan])
    expectSecond((x) => x.softmax().square(), [inf, 1], [0, 0])
    expectAt((x) => x.logSoftmax(), [inf, 1], [0, -inf], [-1, 1])
    expectNumbers(leaf([inf, inf, 1]).logSoftmax(), [-Math.LN2, -Math.LN2, -inf])
    expectAt((x) => x.logSoftmax(), [5], [0], [0])
    expectNumbers(leaf([largest, -largest]).logSoftmax(), [0, -inf])
  })

  test('variance and std over one element', () => {
    expectAt(wengert.variance, [3], [nan], [nan])
    expectAt(wengert.std, [3], [nan], [nan])
    expectAt((x) => wengert.variance(x, { correction: 0 }), [3], [0], [0])
    expectAt((x) => wengert.std(x, { correction: 0 }), [3], [0], [0])
  })

  test('reductions of nothing', () => {
    const rows = () => leaf([], [2, 0])
    expectNumbers(wengert.sum(rows(), { axis: 1 }), [0, 0])
    expectNumbers(wengert.prod(rows(), { axis: 1 }), [1, 1])
    expectNumbers(wengert.mean(rows(), { axis: 1 }), [nan, nan])
    expectNumbers(wengert.norm(rows(), { axis: 1 }), [0, 0])
    expectNumbers(wengert.std(rows(), { axis: 1 }), [nan, nan])
    expect(wengert.all(rows(), { axis: 1 }).toArray()).toEqual([true, true])
    expect(wengert.any(rows(), { axis: 1 }).toArray()).toEqual([false, false])
    for (const fn of ['sum', 'prod', 'mean', 'norm', 'std', 'variance', 'logsumexp'] as const) {
      const x = rows()
      x[fn]({ axis: 1 }).sum().backward()
      expect(x.grad?.shape, fn).toEqual([2, 0])
      // Nothing to reduce over, and nothing to reduce.
      expect(x[fn]({ axis: 0 }).shape, fn).toEqual([0])
    }
    for (const fn of ['cumsum', 'cumprod', 'softmax', 'flip'] as const) {
      for (const axis of [0, 1]) {
        const x = rows()
        x[fn](axis).sum().backward()
        expect(x.grad?.shape, fn).toEqual([2, 0])
      }
    }
    expect(wengert.sort(rows()).values.shape).toEqual([2, 0])
  })

  test('gradients through broadcast axes of size 0 and 1', () => {
    const [a, b] = [leaf([1], [1, 1]), leaf([], [0, 3])]
    const y = a.mul(b)
    expect(y.shape).toEqual([0, 3])
    y.sum().backward()
    expectNumbers(a.grad, [0])
    expect(b.grad?.shape).toEqual([0, 3])
    const [c, d] = [leaf([2], [1]), leaf([1, 2, 3], [3, 1])]
    c.mul(d).sum().backward()
    expectNumbers(c.grad, [6])
    expectNumbers(d.grad, [2, 2, 2])
    const e = leaf([1, 2], [2, 1])
    wengert
      .einsum('ij,ij->i', e, leaf([], [2, 0]))
      .sum()
      .backward()
    expectNumbers(e.grad, [0, 0])
  })

  test('the same tensor several times in one operation', () => {
    const twice: readonly (readonly [Function1, readonly number[]])[] = [
      [(x) => wengert.concat([x, x, x]), [3, 3]],
      [(x) => x.add(x), [2, 2]],
      [(x) => x.mul(x), [4, 6]],
      [(x) => x.sub(x), [0, 0]],
      [(x) => x.div(x), [0, 0]],
      [(x) => wengert.maximum(x, x), [1, 1]],
      [(x) => wengert.where(tensor([true, false]), x, x), [1, 1]],
      [(x) => x.dot(x), [4, 6]],
      [(x) => x.outer(x), [10, 10]],
      [(x) => wengert.einsum('i,i,i', x, x, x), [12, 27]],
      [(x) => wengert.logaddexp(x, x), [1, 1]],
    ]
    for (const [fn, wanted] of twice) {
      const x = leaf([2, 3])
      fn(x).sum().backward()
      expectNumbers(x.grad, wanted)
    }
    const m = leaf([1, 2, 3, 4], [2, 2])
    m.matmul(m).sum().backward()
    expectNumbers(m.grad, [1 + 2 + 1 + 3, 3 + 4 + 1 + 3, 1 + 2 + 2 + 4, 3 + 4 + 2 + 4])
  })

  describe('crossEntropy', () => {
    test('an ignored class everywhere', () => {
      const x = leaf([1, 2, 3, 4], [2, 2])
      const loss = wengert.crossEntropy(x, ints(-100, -100))
      expectNumbers(loss, [nan])
      loss.backward()
      expectNumbers(x.grad, [0, 0, 0, 0])
      expectNumbers(wengert.crossEntropy(leaf([1, 2], [1, 2]), ints(-100), { reduction: 'sum' }), [0])
      expectNumbers(wengert.crossEntropy(leaf([1, 2], [1, 2]), ints(-100), { reduction: 'none' }), [0])
    })

    test('one ignored, with smoothing', () => {
      const x = leaf([0, 0, 5, -5], [2, 2])
      const loss = wengert.crossEntropy(x, ints(1, -100), { labelSmoothing: 0.2 })
      expectNumbers(loss, [Math.LN2])
      loss.backward()
      expectNumbers(x.grad, [0.5 - 0.1, 0.5 - 0.9, 0, 0])
    })

    test('a confident wrong answer', () => {
      const x = leaf([1e4, 0], [1, 2])
      const loss = wengert.crossEntropy(x, ints(1))
      expectNumbers(loss, [1e4])
      loss.backward()
      expectNumbers(x.grad, [1, -1])
    })

    test('impossible classes do not count where the target is 0', () => {
      const x = leaf([-inf, 2], [1, 2])
      const loss = wengert.crossEntropy(x, tensor([[0, 1]], { dtype }))
      expectNumbers(loss, [0])
      loss.backward()
      expectNumbers(x.grad, [0, 0])
    })
  })

  test('binaryCrossEntropyWithLogits of confident logits', () => {
    const x = leaf([1e4, -1e4, 1e4, -1e4, inf, -inf])
    const target = tensor([1, 0, 0, 1, 1, 0], { dtype })
    const loss = wengert.binaryCrossEntropyWithLogits(x, target, { reduction: 'none' })
    expectNumbers(loss, [0, 0, 1e4, 1e4, 0, 0])
    loss.sum().backward()
    expectNumbers(x.grad, [0, 0, 1, -1, 0, 0])
    const small = leaf([30])
    expectNumbers(wengert.binaryCrossEntropyWithLogits(small, tensor([1], { dtype })), [Math.log1p(Math.exp(-30))])
  })

  test('activations at the ends of the range', () => {
    expectAt(wengert.silu, [inf, -1e4, 1e4], [inf, 0, 1e4], [1, 0, 1])
    expectAt(
      wengert.softplus,
      [inf, -inf, 1e4, -30],
      [inf, 0, 1e4, Math.log1p(Math.exp(-30))],
      [1, 0, 1, 1 / (1 + Math.exp(30))],
    )
    expectAt(wengert.logSigmoid, [-1e4, 1e4], [-1e4, 0], [1, 0])
    expectAt(wengert.elu, [1e4, -1e4, 0], [1e4, -1, 0], [1, 0, 1])
    expectAt(wengert.leakyRelu, [-10, 0, 10], [-0.1, 0, 10], [0.01, 0.01, 1])
    expectAt(wengert.hardtanh, [-2, 0.5, 2], [-1, 0.5, 1], [0, 1, 0])
  })

  test('atan2 at the origin, on the axes and far out', () => {
    const huge = dtype === 'float64' ? 1e300 : 1e37
    const [y, x] = [leaf([0, 0, 1, huge, 0]), leaf([0, -1, 0, huge, 2])]
    const angle = wengert.atan2(y, x)
    expectNumbers(angle, [0, Math.PI, Math.PI / 2, Math.PI / 4, 0])
    angle.sum().backward()
    expectNumbers(y.grad, [0, -1, 0, 0.5 / huge, 0.5])
    expectNumbers(x.grad, [0, 0, -1, -0.5 / huge, 0])
  })

  test('rounding: halves to even, gradient 0', () => {
    expectAt(wengert.round, [0.5, 1.5, -0.5, -1.7], [0, 2, -0, -2], [0, 0, 0, 0])
    expectAt(wengert.floor, [1.5, -1.5], [1, -2], [0, 0])
    expectAt(wengert.ceil, [1.5, -1.5], [2, -1], [0, 0])
    const whole = tensor(Int32Array.of(3))
    expect(wengert.floor(whole)).toBe(whole)
  })

  test('layerNorm and rmsNorm of constant rows', () => {
    expectAt((x) => wengert.layerNorm(x), [3, 3], [0, 0], [0, 0])
    expectAt((x) => wengert.rmsNorm(x, undefined, { eps: 1 }), [0, 0], [0, 0], [1, 1])
  })

  test('cosineSimilarity of a vector of zeros', () => {
    const x = leaf([0, 0])
    const y = wengert.cosineSimilarity(x, leaf([3, 4]))
    expectNumbers(y, [0])
    y.backward()
    expectNumbers(x.grad, [0.6 / 1e-8, 0.8 / 1e-8])
  })

  test('dropout', () => {
    wengert.manualSeed(3)
    const x = leaf(new Array<number>(2000).fill(1))
    const y = wengert.dropout(x, { p: 0.25 })
    const kept = [...y.data].filter((value) => value !== 0)
    expectNumbers(y.max(), [1 / 0.75])
    expect(new Set(kept).size).toBe(1)
    // Five standard deviations of a binomial count.
    expect(Math.abs(kept.length - 1500)).toBeLessThan(5 * Math.sqrt(2000 * 0.25 * 0.75))
    y.sum().backward()
    expect([...(x.grad as Tensor).data]).toEqual([...y.data])
    wengert.manualSeed(3)
    expect([...wengert.dropout(x, { p: 0.25 }).data]).toEqual([...y.data])
    expectAt((z) => wengert.dropout(z, { p: 1 }), [1, nan], [0, 0], [0, 0])
    expect(wengert.dropout(x, { p: 0.5, training: false })).toBe(x)
  })
})

describe('sums of ten million float32 values', () => {
  const count = 1e7
  const each = Math.fround(0.1)
  const total = count * each
  const many = () => wengert.full([count], 0.1)

  test('are right to the last digit, wherever they are taken', () => {
    const x = many()
    const long = [4, count / 4] as const
    const found: readonly (readonly [string, number, number])[] = [
      ['sum', x.sum().item(), total],
      ['mean', x.mean().item(), each],
      ['along rows', x.reshape(long).sum({ axis: 1 }).at(1).item(), total / 4],
      [
        'along columns',
        x
          .reshape([count / 4, 4])
          .sum({ axis: 0 })
          .at(1)
          .item(),
        total / 4,
      ],
      ['cumsum', x.cumsum(0).at(-1).item(), total],
      ['norm', x.norm().item(), Math.sqrt(count) * each],
      ['logsumexp', x.logsumexp().item(), Math.log(count) + each],
      ['softmax', x.softmax().sum().item(), 1],
      ['mseLoss', wengert.mseLoss(x, wengert.ones([count])).item(), (1 - each) ** 2],
    ]
    for (const [name, value, wanted] of found) {
      expect(Math.abs(value / wanted - 1), `${name}: ${value}`).toBeLessThan(2 ** -23)
    }
    const far = tensor(Float32Array.from({ length: count }, (_, i) => 1000 + (i % 2)))
    expect(far.variance({ correction: 0 }).item()).toBeCloseTo(0.25, 6)
  })

  test('as products, to a few units in the last place', () => {
    const x = many()
    const ones = wengert.ones([count])
    const products: readonly (readonly [string, number])[] = [
      ['dot', x.dot(ones).item()],
      [
        'matmul',
        x
          .reshape([1, count])
          .matmul(wengert.ones([count, 2]))
          .at(0, 1)
          .item(),
      ],
      ['einsum', wengert.einsum('i,i->', x, ones).item()],
      // Not a multiple of the pieces.
      [
        'odd',
        x
          .slice([1])
          .dot(ones.slice([1]))
          .add(each)
          .item(),
      ],
    ]
    for (const [name, value] of products) {
      expect(Math.abs(value / total - 1), `${name}: ${value}`).toBeLessThan(2 ** -20)
    }
  })

  test('in gradients of what was broadcast, repeated or chosen many times', () => {
    const x = many()
    const zero = (shape: Shape) => wengert.zeros(shape, { requiresGrad: true })
    const first = tensor(new Int32Array(count))
    const uses: readonly (readonly [string, Tensor, (w: Tensor) => Tensor])[] = [
      ['a scalar', zero([]), (w) => x.add(w).mul(x)],
      ['a factor', zero([1]), (w) => x.mul(w)],
      ['broadcastTo', zero([1]), (w) => w.broadcastTo([count]).mul(x)],
      ['a weight', zero([1, 1]), (w) => wengert.linear(x.reshape([count, 1]), w)],
      ['a bias', zero([1]), (w) => wengert.linear(x.reshape([count, 1]), wengert.ones([1, 1]), w).scale(0.1)],
      ['indexSelect', zero([2]), (w) => w.indexSelect(0, first).scale(0.1)],
      ['embedding', zero([2, 1]), (w) => wengert.embedding(first, w).scale(0.1)],
    ]
    for (const [name, weight, use] of uses) {
      use(weight).sum().backward()
      const found = (weight.grad as Tensor).data[0] as number
      expect(Math.abs(found / total - 1), `${name}: ${found}`).toBeLessThan(2 ** -20)
    }
  })
})

describe('second order and forward mode where the formulas break off', () => {
  const corners: readonly (readonly [string, Function1, readonly number[]])[] = [
    ['x to the power 0', (x) => x.pow(0), [0]],
    ['x to the power x', (x) => x.pow(x), [0]],
    ['0 to the power y', (y) => wengert.pow(0, y), [0, 1, 2]],
    ['−2 to the power 3', (x) => x.pow(3), [-2]],
    ['negative bases', (x) => x.pow(tensor([2, 3, -1, 0], { dtype: x.dtype })), [-2, -3, -4, -5]],
    ['0 to whole powers', (x) => x.pow(tensor([0, 1, 2, 3], { dtype: x.dtype })), [0, 0, 0, 0]],
    ['norm', (x) => x.norm(), [0, 0]],
    ['norms', (x) => x.reshape([2, 2]).norm({ axis: 1 }), [0, 0, 3, 4]],
    ['std', (x) => x.std(), [2, 2, 2]],
    ['std of one', (x) => x.std({ correction: 0 }), [2]],
    ['variance', (x) => x.variance(), [2, 2]],
    ['max', wengert.max, [1, 1, 0]],
    ['min over NaN', wengert.min, [1, nan, 0]],
    ['maximum', (x) => wengert.maximum(x, 1), [1, 1, 0]],
    ['logsumexp of −∞', (x) => x.logsumexp(), [-inf, -inf]],
    ['logsumexp of ∞', (x) => x.logsumexp(), [inf, 1, -inf]],
    ['logaddexp', (x) => wengert.logaddexp(x, -inf), [-inf, 1, inf]],
    ['softmax of one', (x) => x.softmax(), [3]],
    ['softmax of ∞', (x) => x.softmax(), [inf, 1]],
    ['softmax of −∞', (x) => x.softmax(), [-inf, -inf]],
    ['softmax near the limit', (x) => x.softmax(), [3e38, -3e38, 3e38]],
    ['logSoftmax', (x) => x.logSoftmax(), [-inf, 1]],
    ['cumsum', (x) => x.cumsum(0), [0, 0]],
    ['cumprod', (x) => x.cumprod(0), [0, 2, 0]],
    ['prod', wengert.prod, [0, 2, 0]],
    ['prod through one 0', wengert.prod, [0, 2, 3]],
    ['clamp', (x) => x.clamp({ min: 0, max: 1 }), [0, 1, 0.5]],
    ['abs', wengert.abs, [0]],
    ['relu', wengert.relu, [0]],
    ['atan2', (x) => wengert.atan2(x, 0), [0]],
    ['cosineSimilarity', (x) => wengert.cosineSimilarity(x, wengert.ones([2], { dtype: x.dtype })), [0, 0]],
    ['layerNorm', (x) => wengert.layerNorm(x), [3, 3]],
    ['rmsNorm', (x) => wengert.rmsNorm(x), [0, 0]],
    ['sort', (x) => wengert.sort(x).values, [1, 1, 0]],
    ['crossEntropy, confident and wrong', (x) => wengert.crossEntropy(x.reshape([1, 2]), ints(0)), [-1e4, 0]],
    [
      'crossEntropy, confident, wrong and smoothed',
      (x) => wengert.crossEntropy(x.reshape([1, 2]), ints(0), { labelSmoothing: 0.1 }),
      [-1e4, 0],
    ],
    [
      'crossEntropy, ignored everywhere',
      (x) => wengert.crossEntropy(x.reshape([1, 2]), ints(-100), { reduction: 'sum' }),
      [1, 2],
    ],
    ['crossEntropy, NaN ignored', (x) => wengert.crossEntropy(x.reshape([2, 2]), ints(-100, 0)), [nan, 2, 1, 2]],
    ['concat', (x) => wengert.concat([x, x]).square(), [1, 2]],
    ['matmul', (x) => x.reshape([2, 2]).matmul(x.reshape([2, 2])), [1, 2, 3, 4]],
    ['where', (x) => wengert.where(tensor([true, false]), x, x).square(), [1, 2]],
    ['stack', (x) => wengert.stack([x, x, x]).prod({ axis: 0 }), [1, 2]],
    ['maximum with itself', (x) => wengert.maximum(x, x), [1, 2]],
    ['linear', (x) => wengert.linear(x.reshape([2, 2]), x.reshape([2, 2]), x.slice([0], [2])), [1, 2, 3, 4]],
    ['broadcast to nothing', (x) => x.mul(wengert.zeros([0, 2], { dtype: x.dtype })), [1, 2]],
    ['broadcast over one', (x) => x.reshape([2, 1]).mul(x.reshape([1, 2])), [1, 2]],
    ['nothing summed', (x) => x.slice([0], [0]).sum(), [1, 2]],
    ['nothing multiplied', (x) => x.slice([0], [0]).prod(), [1, 2]],
    ['the norm of nothing', (x) => x.slice([0], [0]).norm(), [1, 2]],
    ['logsumexp of nothing', (x) => x.slice([0], [0]).logsumexp(), [1, 2]],
  ]
  const cases = dtypes.flatMap((dtype) => corners.map(([name, fn, at]) => [name, dtype, fn, at] as const))

  test.each(cases)('%s, %s', (_, dtype, fn, at) => {
    const x = tensor(at, { dtype })
    const ones = wengert.onesLike(x)
    const total = (y: Tensor) => fn(y).sum()
    const gradient = wengert.grad(total)(x)
    const second = wengert.hvp(total, x, ones)
    for (const found of [gradient, second]) expect([...found.data].every(Number.isFinite), String(found)).toBe(true)
    const unit = dtype === 'float64' ? 1e-12 : 1e-5
    const expectEqual = (found: Tensor, wanted: Tensor) => {
      const size = Math.max(1, ...[...wanted.data].map(Math.abs))
      expect(Math.max(0, ...[...found.sub(wanted).data].map(Math.abs)), `${found} and ${wanted}`).not.toBeGreaterThan(
        unit * size,
      )
    }
    expectEqual(wengert.jvp(wengert.grad(total), [x], [ones])[1], second)
    expectEqual(wengert.grad((y: Tensor) => wengert.jvp(total, [y], [ones])[1])(x), second)
    expectEqual(wengert.jvp(total, [x], [ones])[1], gradient.sum())
  })
})

describe.each(dtypes)('fully masked attention rows, %s', (dtype) => {
  test('give zeros, and finite gradients to every weight of the batch', () => {
    wengert.manualSeed(2)
    const inputs = [0, 1, 2].map(() => wengert.randn([2, 3, 2], { dtype, requiresGrad: true }))
    const [q, k, v] = inputs as [Tensor, Tensor, Tensor]
    // Causal, with the first key of the first sequence padded: its first query sees nothing.
    const padding = tensor([[[false, true, true]], [[true, true, true]]])
    const y = wengert.scaledDotProductAttention(q, k, v, { mask: padding, causal: true })
    expect(y.at(0, 0).toArray()).toEqual([0, 0])
    y.square().sum().backward(null, { createGraph: true })
    const gradients = inputs.map((input) => input.grad as Tensor)
    for (const gradient of gradients) expect([...gradient.data].every(Number.isFinite)).toBe(true)
    expect(q.grad?.at(0, 0).toArray()).toEqual([0, 0])
    expect(k.grad?.at(0, 0).toArray()).toEqual([0, 0])
    expect(v.grad?.at(0, 0).toArray()).toEqual([0, 0])
    expect([...(q.grad as Tensor).at(1).data].some((value) => value !== 0)).toBe(true)
    for (const input of inputs) input.grad = null
    const total = gradients.map((gradient) => gradient.square().sum()).reduce((a, b) => a.add(b))
    total.backward()
    for (const input of inputs) expect([...(input.grad as Tensor).data].every(Number.isFinite)).toBe(true)
  })
})

test('NaN in data that a mask removes before the loss', () => {
  const x = tensor([1, Number.NaN, 3], { requiresGrad: true })
  const seen = tensor([true, false, true])
  const losses: readonly (readonly [string, Tensor])[] = [
    ['where', wengert.where(seen, x.square().exp(), 0).sum()],
    ['maskedFill', x.sin().maskedFill(seen.logicalNot(), 0).mean()],
    ['slice', x.square().at('::2').sum()],
    [
      'indexSelect',
      x
        .log()
        .indexSelect(0, tensor(Int32Array.of(0, 2)))
        .sum(),
    ],
    ['softmax', x.maskedFill(seen.logicalNot(), Number.NEGATIVE_INFINITY).softmax().square().sum()],
    ['logsumexp', x.maskedFill(seen.logicalNot(), Number.NEGATIVE_INFINITY).logsumexp()],
  ]
  for (const [name, loss] of losses) {
    x.grad = null
    loss.backward()
    const gradient = [...(x.grad as unknown as Tensor).data]
    expect(gradient[1], name).toBe(0)
    expect(gradient.every(Number.isFinite), name).toBe(true)
  }
})
