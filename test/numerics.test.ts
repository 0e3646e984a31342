// What the numbers are where mathematics or floating point leave a choice.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  add,
  argmax,
  argmin,
  attentionWeights,
  crossEntropy,
  type DType,
  logSoftmax,
  maskedFill,
  maximum,
  minimum,
  mseLoss,
  ones,
  scaledDotProductAttention,
  softmax,
  Tensor,
  tensor,
  where,
  zeros,
} from 'wengert'
import { expectNear, expectSame, gradOf, roundingUnit } from './support/expectations.js'

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number

const float64 = (data: Parameters<typeof tensor>[0], requiresGrad = false) =>
  tensor(data, { dtype: 'float64', requiresGrad })
const leaf = (data: Parameters<typeof tensor>[0]) => float64(data, true)
const falseLike = (x: Tensor) => zeros(x.shape, { dtype: 'bool' })

/** The derivative of the sum of fn at a point. */
function derivativeOf(fn: (x: Tensor) => Tensor, point: Parameters<typeof tensor>[0]): Tensor {
  const x = leaf(point)
  fn(x).sum().backward()
  return gradOf(x)
}

const allZero = (x: Tensor) => x.data.every((value) => value === 0)

describe('a zero cotangent stays zero', () => {
  const functions: [string, (x: Tensor) => Tensor, number[]][] = [
    ['sqrt', (x) => x.sqrt(), [0, -1, nan, infinity]],
    ['log', (x) => x.log(), [0, -1, nan, infinity]],
    ['reciprocal', (x) => x.reciprocal(), [0, -0, nan]],
    ['exp', (x) => x.exp(), [1000, infinity, nan]],
    ['square', (x) => x.square(), [1e200, infinity, nan]],
    ['abs', (x) => x.abs(), [nan, infinity]],
    ['tanh', (x) => x.tanh(), [nan, infinity]],
    ['sigmoid', (x) => x.sigmoid(), [nan, infinity, -infinity]],
    ['relu', (x) => x.relu(), [nan, infinity]],
    ['erf', (x) => x.erf(), [nan, infinity]],
    ['gelu', (x) => x.gelu(), [nan, infinity, -infinity]],
    ['gelu, approximated', (x) => x.gelu({ approximate: 'tanh' }), [nan, infinity, -infinity]],
    ['scale by infinity', (x) => x.scale(infinity), [0, 1, nan]],
    ['mul by infinity', (x) => x.mul(infinity), [0, 1, nan]],
    ['mul by itself', (x) => x.mul(x), [infinity, nan]],
    ['div by 0', (x) => x.div(0), [0, 1, nan]],
    ['0 divided', (x) => float64(0).div(x), [0, nan]],
    ['div by itself', (x) => x.div(x), [0, infinity, nan]],
    ['pow −1', (x) => x.pow(-1), [0, nan]],
    ['pow 0.3', (x) => x.pow(0.3), [0, -1, nan]],
    ['pow 0.5', (x) => x.pow(0.5), [0, -1, nan]],
    ['as an exponent', (x) => float64(-2).pow(x), [0.5, nan]],
    ['as an exponent of 0', (x) => float64(0).pow(x), [-1, 0, nan]],
    ['maximum', (x) => x.maximum(0), [nan, infinity]],
    ['max', (x) => x.max({ axis: -1, keepDims: true }).broadcastTo(x.shape), [nan, infinity]],
    ['log of sqrt', (x) => x.sqrt().log(), [0, -1, nan]],
    ['log of sqrt over itself', (x) => x.sqrt().log().div(x), [0, -1, nan]],
  ]

  test.each(functions)('%s', (_, fn, points) => {
    for (const point of points) {
      const x = leaf([[point], [1]])
      where(falseLike(x), fn(x), 0).sum().backward(undefined, { createGraph: true })
      const first = gradOf(x)
      expect(allZero(first), `first order at ${point}: ${first}`).toBe(true)
      // And so does the cotangent of that gradient.
      if (!first.requiresGrad) continue
      x.grad = null
      first.square().sum().add(first.sum()).backward()
      expect(allZero(x.grad ?? float64(0)), `second order at ${point}: ${x.grad}`).toBe(true)
    }
  })

  test('beside cotangents that are not zero', () => {
    expect(derivativeOf((x) => where(x.gt(0), x.sqrt(), 0), [0, 4, -1]).toArray()).toEqual([0, 0.25, 0])
    expect(derivativeOf((x) => where(x.ne(0), x.log(), 0), [0, 4]).toArray()).toEqual([0, 0.25])
    expect(derivativeOf((x) => maskedFill(x.reciprocal(), x.eq(0), 7), [0, 2]).toArray()).toEqual([0, -0.25])
    // sin(x)/x and the like: the quotient is nowhere used where it is 0/0.
    expect(derivativeOf((x) => where(x.eq(0), 1, x.square().div(x)), [0, 3]).toArray()).toEqual([0, 1])
  })

  test('to the second order, beside others', () => {
    const x = leaf([0, 4])
    where(x.gt(0), x.sqrt(), 0).sum().backward(undefined, { createGraph: true })
    const gradient = gradOf(x)
    x.grad = null
    gradient.sum().backward()
    expectNear(gradOf(x), { shape: [2], data: [0, -0.25 / 8] }, { relative: 1e-15 })
  })

  test('but is differentiated as what it is: towards the cotangent, the rule stays linear', () => {
    const x = leaf([2, 3])
    const cotangent = leaf([0, 1])
    x.square().backward(cotangent, { createGraph: true })
    const gradient = gradOf(x)
    expect(gradient.toArray()).toEqual([0, 6])
    gradient.sum().backward()
    expect(gradOf(cotangent).toArray()).toEqual([4, 6])
  })

  test('a plain product keeps to IEEE 754', () => {
    expect(float64([0]).mul(infinity).toArray()).toEqual([nan])
    expect(float64([0]).div(0).toArray()).toEqual([nan])
  })

  test('in a row of softmax that nothing depends on', () => {
    for (const fn of [softmax, logSoftmax]) {
      const x = leaf([
        [nan, 1],
        [infinity, 0],
        [1, 2],
      ])
      const used = tensor([[false], [false], [true]])
      where(used, fn(x), 0)
        .mul(float64([1, 2]))
        .sum()
        .backward()
      const rows = gradOf(x).toArray() as number[][]
      expect(
        rows
          .slice(0, 2)
          .flat()
          .every((value) => value === 0),
        `${fn.name}: ${rows}`,
      ).toBe(true)
      expect(rows[2]?.every((value) => Number.isFinite(value) && value !== 0)).toBe(true)
    }
  })
})

describe('derivatives at corners', () => {
  test('relu and abs have 0 at 0', () => {
    expect(derivativeOf((x) => x.relu(), [-1, -0, 0, 1]).toArray()).toEqual([0, 0, 0, 1])
    expect(derivativeOf((x) => x.abs(), [-1, 0, 1]).toArray()).toEqual([-1, 0, 1])
    expect(Math.abs(derivativeOf((x) => x.abs(), -0).item())).toBe(0)
  })

  test('sqrt has ∞ at 0, as the mathematics says', () => {
    expect(derivativeOf((x) => x.sqrt(), [0, 1]).toArray()).toEqual([infinity, 0.5])
    expect(derivativeOf((x) => x.pow(0.5), 0).item()).toBe(infinity)
    expect(derivativeOf((x) => x.log(), 0).item()).toBe(infinity)
  })

  test('sign is constant', () => {
    expect(derivativeOf((x) => x.sign(), [-2, 0, 2]).toArray()).toEqual([0, 0, 0])
  })

  test('maximum and minimum share ties', () => {
    for (const fn of [maximum, minimum]) {
      const [a, b] = [leaf([1, 2, 3]), leaf([2, 2, 2])]
      fn(a, b).backward(float64([8, 8, 8]))
      const larger = fn === maximum
      expect(gradOf(a).toArray()).toEqual(larger ? [0, 4, 8] : [8, 4, 0])
      expect(gradOf(b).toArray()).toEqual(larger ? [8, 4, 0] : [0, 4, 8])
    }
  })

  test('max and min share ties equally', () => {
    const point = [
      [1, 3, 3],
      [0, 0, 0],
    ]
    expect(derivativeOf((x) => x.max({ axis: 1 }), point).toArray()).toEqual([
      [0, 0.5, 0.5],
      [1 / 3, 1 / 3, 1 / 3],
    ])
    expect(derivativeOf((x) => x.min({ axis: 0 }), point).toArray()).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ])
    expect(derivativeOf((x) => x.max(), point).toArray()).toEqual([
      [0, 0.5, 0.5],
      [0, 0, 0],
    ])
    expect(derivativeOf((x) => x.max(), [-0, 0]).toArray()).toEqual([0.5, 0.5])
    expect(derivativeOf((x) => x.max(), [-infinity, -infinity]).toArray()).toEqual([0.5, 0.5])
  })

  test('argmax and argmin take the first of ties', () => {
    const x = tensor([
      [1, 3, 3],
      [3, 1, 1],
    ])
    expect(argmax(x).item()).toBe(1)
    expect(argmin(x).item()).toBe(0)
    expect(argmax(x, { axis: 1 }).toArray()).toEqual([1, 0])
    expect(argmin(x, { axis: 1, keepDims: true }).toArray()).toEqual([[0], [1]])
    expect(argmax(x, { axis: 0 }).dtype).toBe('int32')
    expect(argmax(x, { keepDims: true }).shape).toEqual([1, 1])
    expect(argmax(tensor([false, true, true])).item()).toBe(1)
  })
})

describe('pow', () => {
  test.each([
    [0, 0, 1],
    [nan, 0, 1],
    [0, 2, 0],
    [0, -1, infinity],
    [-2, 3, -8],
    [-2, -2, 0.25],
    [-2, 0.5, nan],
    [4, 0.5, 2],
    [1, 1000, 1],
    [2, -infinity, 0],
  ])('%d to the power %d is %d', (base, exponent, value) => {
    expect(float64(base).pow(float64(exponent)).item()).toBe(value)
    expect(float64(base).pow(exponent).item()).toBe(value)
  })

  test.each([
    [0, 0, 0, 0],
    [0, 1, 1, 0],
    [0, 2, 0, 0],
    [0, 0.5, infinity, 0],
    [3, 0, 0, Math.log(3)],
    [-2, 3, 12, nan],
    [2, 3, 12, 8 * Math.log(2)],
  ])('the derivatives at %d to the power %d', (base, exponent, towardsBase, towardsExponent) => {
    const [a, b] = [leaf(base), leaf(exponent)]
    a.pow(b).backward()
    expectNear(gradOf(a), float64(towardsBase), { relative: 1e-15 })
    expectNear(gradOf(b), float64(towardsExponent), { relative: 1e-15 })
  })

  test('a fixed exponent is as good as a tensor', () => {
    const point = [0.25, 1, 2.5, 7]
    for (const exponent of [-2, -1, -0.5, 0, 0.5, 1, 2, 3, 2.7]) {
      const [fixed, general] = [leaf(point), leaf(point)]
      const [y, z] = [fixed.pow(exponent), general.pow(float64(exponent))]
      expectNear(y, z, { relative: 4e-16 })
      y.sum().backward()
      z.sum().backward()
      expectNear(gradOf(fixed), gradOf(general), { relative: 8e-16 })
    }
  })
})

describe('sums in float64', () => {
  test.each([1, 2, 3, 4, 5])('of a short row, with %d between numbers that cancel, lose nothing', (count) => {
    expect(
      float64([1e16, ...Array.from({ length: count }, () => 1), -1e16])
        .sum()
        .item(),
    ).toBe(count)
  })
})

describe('softmax', () => {
  test('does not overflow, and keeps the small probabilities in the logarithm', () => {
    expectSame(softmax(float64([1000, 1001])), softmax(float64([0, 1])))
    expectSame(softmax(float64([-1000, -1001])), softmax(float64([0, -1])))
    expect(softmax(float64([0, -1000])).toArray()).toEqual([1, 0])
    expect(logSoftmax(float64([0, -1000])).toArray()).toEqual([0, -1000])
    expect(logSoftmax(float64([1e300, 0])).toArray()).toEqual([0, -1e300])
  })

  test('gives exact zeros where it is masked, forwards and backwards', () => {
    const x = leaf([1, -infinity, 2])
    const y = softmax(x)
    expect(y.data[1]).toBe(0)
    expectNear(y, { shape: [3], data: [1 / (1 + Math.E), 0, Math.E / (1 + Math.E)] }, { relative: 1e-15 })
    y.mul(float64([1, 5, 3]))
      .sum()
      .backward()
    const gradient = gradOf(x).data as Float64Array
    expect(gradient[1]).toBe(0)
    expect(gradient[0]).toBeCloseTo((-2 * Math.E) / (1 + Math.E) ** 2, 14)
    expect((gradient[0] as number) + (gradient[2] as number)).toBeCloseTo(0, 14)
  })

  test('of a fully masked row is zeros with zero gradients', () => {
    const x = leaf([
      [-infinity, -infinity],
      [0, 0],
    ])
    const y = softmax(x)
    expect(y.toArray()).toEqual([
      [0, 0],
      [0.5, 0.5],
    ])
    y.mul(float64([1, 3]))
      .sum()
      .backward(undefined, { createGraph: true })
    const gradient = gradOf(x)
    expect(gradient.toArray()).toEqual([
      [0, 0],
      [-0.5, 0.5],
    ])
    x.grad = null
    gradient.square().sum().backward()
    expect(gradOf(x).toArray()).toEqual([
      [0, 0],
      [0, 0],
    ])
  })

  test('along any axis is that of the transpose', () => {
    const x = float64([
      [1, 2, 3],
      [4, -5, 6],
    ])
    for (const fn of [softmax, logSoftmax]) {
      expectSame(fn(x, 0), fn(x.transpose(), 1).transpose())
      expectSame(fn(x, -2), fn(x, 0))
    }
  })

  test('passes NaN on', () => {
    expect([...softmax(float64([nan, 1])).data]).toEqual([nan, nan])
    expect([...logSoftmax(float64([1, nan])).data]).toEqual([nan, nan])
  })

  test('exp of the logarithm is the softmax', () => {
    const x = float64([
      [0.3, -2, 5],
      [100, 99, 98],
    ])
    expectNear(logSoftmax(x).exp(), softmax(x), { relative: 1e-15 * 8 })
  })
})

describe('masked attention', () => {
  const rows = (seed: number) =>
    float64(
      Array.from({ length: 3 }, (_, i) => [Math.sin(seed + i), Math.cos(2 * seed + i)]),
      true,
    )

  test('a query that may see nothing gets 0 and passes nothing back', () => {
    const [q, k, v] = [rows(1), rows(2), rows(3)]
    const mask = tensor([
      [true, false, true],
      [false, false, false],
      [true, true, true],
    ])
    const a = attentionWeights(q, k, { mask })
    const weights = a.toArray() as number[][]
    expect([weights[0]?.[1], weights[1]]).toEqual([0, [0, 0, 0]])
    const y = scaledDotProductAttention(q, k, v, { mask })
    expect((y.toArray() as number[][])[1]).toEqual([0, 0])
    y.square().sum().backward()
    const gradient = gradOf(q).toArray() as number[][]
    expect(gradient[1]).toEqual([0, 0])
    for (const t of [q, k, v]) expect(gradOf(t).data.every(Number.isFinite)).toBe(true)
  })

  test('a key that nobody may see gets no gradient', () => {
    const [q, k, v] = [rows(1), rows(2), rows(3)]
    const mask = tensor([true, false, true])
    scaledDotProductAttention(q, k, v, { mask }).square().sum().backward()
    expect((gradOf(k).toArray() as number[][])[1]).toEqual([0, 0])
    expect((gradOf(v).toArray() as number[][])[1]).toEqual([0, 0])
  })

  test('−∞ in a float mask is false in a bool one', () => {
    const [q, k, v] = [rows(1), rows(2), rows(3)]
    const allowed = tensor([
      [true, false, true],
      [false, false, false],
      [false, true, true],
    ])
    const added = where(allowed, 0, -infinity).to('float64')
    expectSame(
      scaledDotProductAttention(q, k, v, { mask: added }),
      scaledDotProductAttention(q, k, v, { mask: allowed }),
    )
  })
})

describe('losses', () => {
  test('crossEntropy is −log softmax at the target, reduced', () => {
    const logits = leaf([
      [1, 2, 3],
      [0, 0, 0],
    ])
    const target = tensor([2, 0], { dtype: 'int32' })
    const each = [-Math.log(Math.exp(3) / (Math.exp(1) + Math.exp(2) + Math.exp(3))), Math.log(3)]
    const [a = 0, b = 0] = each
    const none = crossEntropy(logits, target, { reduction: 'none' })
    expectNear(none, { shape: [2], data: each }, { relative: 1e-15 * 4 })
    expectNear(crossEntropy(logits, target, { reduction: 'sum' }), float64(a + b), { relative: 1e-15 })
    expectNear(crossEntropy(logits, target), float64((a + b) / 2), { relative: 1e-15 })
    crossEntropy(logits, target).backward()
    const oneHot = float64([
      [0, 0, 1],
      [1, 0, 0],
    ])
    expectNear(gradOf(logits), softmax(logits.detach()).sub(oneHot).scale(0.5), { absolute: 1e-16 })
  })

  test('ignored targets count neither in the loss nor in the mean', () => {
    const logits = leaf([
      [1, 2],
      [nan, infinity],
      [3, 5],
    ])
    const target = tensor([0, -100, 1], { dtype: 'int32' })
    const kept = crossEntropy(
      float64([
        [1, 2],
        [3, 5],
      ]),
      tensor([0, 1], { dtype: 'int32' }),
    )
    const loss = crossEntropy(logits, target)
    expectSame(loss, kept)
    loss.backward()
    expect((gradOf(logits).toArray() as number[][])[1]).toEqual([0, 0])
    expect(crossEntropy(logits, target, { reduction: 'none' }).data[1]).toBe(0)
    expect(crossEntropy(logits, tensor([7, 7, 7], { dtype: 'int32' }), { ignoreIndex: 7 }).item()).toBeNaN()
    expect(
      crossEntropy(logits, tensor([7, 7, 7], { dtype: 'int32' }), { ignoreIndex: 7, reduction: 'sum' }).item(),
    ).toBe(0)
  })

  test('impossible classes with probability 0 cost nothing', () => {
    const logits = leaf([[0, -infinity, 1]])
    const loss = crossEntropy(logits, float64([[0.5, 0, 0.5]]))
    expect(loss.item()).toBeCloseTo(Math.log(1 + Math.E) - 0.5, 14)
    loss.backward()
    expect(gradOf(logits).data[1] === 0).toBe(true)
    expect(crossEntropy(logits, tensor([1], { dtype: 'int32' })).item()).toBe(infinity)
  })

  test('label smoothing is the smoothed distribution', () => {
    const logits = float64([
      [1, 2, 3],
      [-1, 0, 4],
    ])
    const classes = tensor([2, 0], { dtype: 'int32' })
    const smoothed = float64([
      [0.1, 0.1, 0.8],
      [0.8, 0.1, 0.1],
    ])
    expectNear(crossEntropy(logits, classes, { labelSmoothing: 0.3 }), crossEntropy(logits, smoothed), {
      relative: 1e-15 * 8,
    })
  })

  test('mseLoss', () => {
    const [x, y] = [leaf([1, 2, 4]), leaf([1, 0, 0])]
    expect(mseLoss(x, y, { reduction: 'none' }).toArray()).toEqual([0, 4, 16])
    expect(mseLoss(x, y, { reduction: 'sum' }).item()).toBe(20)
    mseLoss(x, y).backward()
    expectNear(gradOf(x), { shape: [3], data: [0, 4 / 3, 8 / 3] }, { relative: 1e-15 })
    expectSame(gradOf(y).neg().add(0), gradOf(x).add(0))
  })
})

describe('NaN, zeros and infinities', () => {
  test('max, min, maximum and minimum pass NaN on', () => {
    expect(maximum(float64([nan, 1]), float64([1, nan])).toArray()).toEqual([nan, nan])
    expect(minimum(float64([nan, 1]), float64([1, nan])).toArray()).toEqual([nan, nan])
    for (let place = 0; place < 9; place++) {
      const values = Array.from({ length: 9 }, (_, i) => (i === place ? nan : i))
      for (const dtype of ['float32', 'float64'] as const) {
        const x = tensor(values, { dtype })
        expect([x.max().item(), x.min().item(), x.sum().item(), x.mean().item()]).toEqual([nan, nan, nan, nan])
      }
    }
  })

  test('comparisons with NaN are false, but for ne', () => {
    const x = float64([nan])
    for (const result of [x.eq(x), x.lt(1), x.le(x), x.gt(1), x.ge(x)]) expect(result.toArray()).toEqual([false])
    expect(x.ne(x).toArray()).toEqual([true])
  })

  test('−0 is kept', () => {
    const zero = float64([-0])
    const kept = [
      zero.clone(),
      zero.add(-0),
      zero.mul(1),
      zero.scale(1),
      zero.sqrt(),
      float64([0]).neg(),
      float64([1]).mul(-0),
      where(tensor([true]), zero, 1),
      zero.reshape([1, 1]),
      zero.to('float32'),
      zero.minimum(0),
      zero.indexSelect(0, tensor([0], { dtype: 'int32' })),
      tensor([1]).scale(-0),
    ]
    kept.forEach((x, i) => {
      expect(Object.is(x.data[0], -0), `case ${i}: ${x.data[0]}`).toBe(true)
    })
    expect(Object.is(zero.abs().item(), 0)).toBe(true)
    expect(Object.is(zero.maximum(0).item(), 0)).toBe(true)
    expect(zero.eq(0).toArray()).toEqual([true])
    expect(zero.logicalNot().toArray()).toEqual([true])
  })

  test('abs and sign of what is not finite', () => {
    expect(float64([-infinity, nan]).abs().toArray()).toEqual([infinity, nan])
    expect(float64([-infinity, infinity, nan]).sign().toArray()).toEqual([-1, 1, nan])
  })

  test('elementary functions at their ends', () => {
    const table: [(x: Tensor) => Tensor, number[], number[]][] = [
      [(x) => x.exp(), [0, -infinity, infinity, 710, -746], [1, 0, infinity, infinity, 0]],
      [(x) => x.log(), [1, 0, -0, infinity, -1], [0, -infinity, -infinity, infinity, nan]],
      [(x) => x.sqrt(), [0, 4, infinity, -1], [0, 2, infinity, nan]],
      [(x) => x.tanh(), [0, 40, -40, infinity, -infinity], [0, 1, -1, 1, -1]],
      [(x) => x.sigmoid(), [0, 40, -infinity, infinity], [0.5, 1, 0, 1]],
      [(x) => x.erf(), [0, 10, -10, infinity], [0, 1, -1, 1]],
      [(x) => x.relu(), [-1, 0, 2, infinity, -infinity], [0, 0, 2, infinity, 0]],
      [(x) => x.gelu(), [0, 100, -100], [0, 100, 0]],
      [(x) => x.gelu({ approximate: 'tanh' }), [0, 100, -100], [0, 100, 0]],
      [(x) => x.reciprocal(), [0, -0, infinity, -2], [infinity, -infinity, 0, -0.5]],
    ]
    for (const [fn, points, values] of table) {
      expect(fn(float64(points)).add(0).toArray(), String(fn)).toEqual(values)
      expect(fn(float64([nan])).toArray(), String(fn)).toEqual([nan])
    }
  })
})

describe('accuracy', () => {
  const functions: [string, (x: Tensor) => Tensor, (x: number) => number, [number, number]][] = [
    ['exp', (x) => x.exp(), Math.exp, [-80, 80]],
    ['log', (x) => x.log(), Math.log, [1e-30, 1e30]],
    ['tanh', (x) => x.tanh(), Math.tanh, [-20, 20]],
    ['sqrt', (x) => x.sqrt(), Math.sqrt, [0, 1e30]],
    [
      'sigmoid',
      (x) => x.sigmoid(),
      (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x))),
      [-80, 80],
    ],
  ]
  test.each(functions)('%s keeps full relative accuracy, tails included', (_, fn, reference, [min, max]) => {
    fc.assert(
      fc.property(fc.array(fc.double({ min, max, noNaN: true }), { minLength: 1, maxLength: 40 }), (values) => {
        const single = values.map(Math.fround)
        // 4 units in the last place in float64 (and the reference has one of its own), 2 in float32.
        expectNear(
          fn(float64(values)),
          { shape: [values.length], data: values.map(reference) },
          { relative: 12 * roundingUnit('float64'), absolute: 5e-324 },
        )
        expectNear(
          fn(tensor(single)),
          { shape: [values.length], data: single.map(reference) },
          { relative: 5 * roundingUnit('float32'), absolute: 3e-45 },
        )
      }),
    )
  })

  test('small arguments are not lost', () => {
    const tiny = [1e-300, -1e-20, 1e-9]
    expectNear(float64(tiny).tanh(), { shape: [3], data: tiny }, { relative: 1e-15 })
    expectNear(
      float64(tiny).erf(),
      { shape: [3], data: tiny.map((x) => (2 / Math.sqrt(Math.PI)) * x) },
      { relative: 1e-15 },
    )
    expectNear(
      float64([-700, -40]).sigmoid(),
      { shape: [2], data: [Math.exp(-700), Math.exp(-40)] },
      { relative: 1e-14 },
    )
  })

  test('sums of many float32 do not drift', () => {
    const count = 2 ** 20
    const value = Math.fround(0.1)
    const x = tensor(new Float32Array(count).fill(value))
    // Pairwise summation errs by log₂(n) roundings at most, adding one by one by up to n.
    const bound = Math.log2(count) * roundingUnit('float32')
    expectNear(x.sum(), tensor(count * value, { dtype: 'float64' }), { relative: bound })
    expectNear(x.mean(), tensor(value), { relative: bound })
    expectNear(
      x.reshape([1024, 1024]).sum({ axis: 0 }),
      { shape: [1024], data: Array(1024).fill(1024 * value) },
      { relative: bound },
    )
    expectNear(
      x.reshape([2, count / 2]).sum({ axis: 1 }),
      { shape: [2], data: Array(2).fill((count / 2) * value) },
      { relative: bound },
    )
    expectNear(
      x.reshape([count / 2, 2]).sum({ axis: 0 }),
      { shape: [2], data: Array(2).fill((count / 2) * value) },
      { relative: bound },
    )
  })

  test('sums to which a large number comes first', () => {
    const values = new Float32Array(2 ** 16 + 1).fill(1)
    values[0] = 2 ** 24
    expect(tensor(values).sum().item()).toBeCloseTo(2 ** 24 + 2 ** 16, -2)
  })

  test('the variance of numbers far from 0', () => {
    const values = Array.from({ length: 1000 }, (_, i) => 1e6 + (i % 2))
    expectNear(float64(values).variance({ correction: 0 }), float64(0.25), { relative: 1e-9 })
    expectNear(float64(values).variance(), float64((0.25 * 1000) / 999), { relative: 1e-9 })
    expect(tensor([1, 2, 3, 4]).variance({ correction: 2 }).item()).toBe(2.5)
    expect(tensor([5, 5, 5]).variance().item()).toBe(0)
  })
})

describe('dtypes', () => {
  const order = ['bool', 'int32', 'float32', 'float64'] as const
  const one = (dtype: DType) => ones([2], { dtype })
  const later = (a: DType, b: DType) => order[Math.max(order.indexOf(a), order.indexOf(b))] as DType
  const pairs = order.flatMap((a) => order.map((b) => [a, b] as const))

  test.each(pairs)('%s with %s', (a, b) => {
    const common = later(a, b)
    const numeric = later(common, 'int32')
    for (const op of ['add', 'sub', 'mul'] as const) expect(one(a)[op](one(b)).dtype, op).toBe(numeric)
    expect(one(a).div(one(b)).dtype).toBe(later(common, 'float32'))
    expect(one(a).pow(one(b)).dtype).toBe(later(common, 'float32'))
    for (const op of ['maximum', 'minimum'] as const) expect(one(a)[op](one(b)).dtype, op).toBe(common)
    for (const op of ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const) expect(one(a)[op](one(b)).dtype, op).toBe('bool')
    for (const op of ['logicalAnd', 'logicalOr'] as const) expect(one(a)[op](one(b)).dtype, op).toBe('bool')
    expect(where(tensor([true, false]), one(a), one(b)).dtype).toBe(common)
    expect([one(a).add(one(b)).toArray(), one(a).div(one(b)).toArray()]).toEqual([
      [2, 2],
      [1, 1],
    ])
    expect(one(a).maximum(one(b)).toArray()).toEqual(common === 'bool' ? [true, true] : [1, 1])
  })

  test('numbers adopt the dtype of the tensor beside them', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      for (const result of [
        one(dtype).add(0.1),
        one(dtype).mul(2),
        one(dtype).pow(3),
        one(dtype).maximum(7),
        where(tensor(true), one(dtype), 0),
      ]) {
        expect(result.dtype).toBe(dtype)
      }
    }
    expect(float64([0]).add(0.1).toArray()).toEqual([0.1])
    expect(tensor([0]).add(0.1).toArray()).toEqual([Math.fround(0.1)])
    expect(tensor([0.1]).eq(0.1).toArray()).toEqual([true])
    expect(one('int32').add(2).dtype).toBe('int32')
    expect(one('int32').div(2).toArray()).toEqual([0.5, 0.5])
    expect(one('int32').pow(2).dtype).toBe('float32')
    expect(one('int32').gt(0).toArray()).toEqual([true, true])
    expect(one('bool').add(1).dtype).toBe('int32')
    expect(one('bool').mul(3).toArray()).toEqual([3, 3])
    expect(add(1, 2).dtype).toBe('float32')
  })

  test('float32 results are rounded once', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), fc.float({ noNaN: true }), (a, b) => {
        const [x, y] = [tensor([a]), tensor([b])]
        expect(x.add(y).data[0]).toBe(Math.fround(a + b))
        expect(x.sub(y).data[0]).toBe(Math.fround(a - b))
        expect(x.mul(y).data[0]).toBe(Math.fround(a * b))
        expect(x.div(y).data[0]).toBe(Math.fround(a / b))
      }),
    )
  })

  test('int32 wraps around, as 32 bits do', () => {
    const large = tensor([2 ** 31 - 1, -(2 ** 31)], { dtype: 'int32' })
    expect(large.add(1).toArray()).toEqual([-(2 ** 31), -(2 ** 31) + 1])
    expect(large.sub(1).toArray()).toEqual([2 ** 31 - 2, 2 ** 31 - 1])
    expect(large.mul(large).toArray()).toEqual([1, 0])
    expect(tensor([65537], { dtype: 'int32' }).mul(65537).toArray()).toEqual([131073])
  })

  test('int32 knows neg, abs, sign, sums and extremes', () => {
    const x = tensor([-3, 0, 2], { dtype: 'int32' })
    for (const result of [x.neg(), x.abs(), x.sign(), x.sum(), x.max(), x.min()]) expect(result.dtype).toBe('int32')
    expect([x.neg().add(0).toArray(), x.abs().toArray(), x.sign().toArray()]).toEqual([
      [3, 0, -2],
      [3, 0, 2],
      [-1, 0, 1],
    ])
    expect([x.sum().item(), x.max().item(), x.min().item()]).toEqual([-1, 2, -3])
  })

  test('bool is counted by sum, and keeps its kind in extremes and logic', () => {
    const x = tensor([
      [true, false],
      [true, true],
    ])
    expect([x.sum().dtype, x.sum().item(), x.sum({ axis: 0 }).toArray()]).toEqual(['int32', 3, [2, 1]])
    expect([x.max({ axis: 1 }).toArray(), x.min({ axis: 1 }).toArray()]).toEqual([
      [true, true],
      [false, true],
    ])
    expect(x.logicalNot().toArray()).toEqual([
      [false, true],
      [false, false],
    ])
    expect(
      tensor([2, 0, nan])
        .logicalAnd(tensor([1, 1, 1]))
        .toArray(),
    ).toEqual([true, false, true])
    expect(
      tensor([2, 0, 0])
        .logicalOr(tensor([0, 0, -1]))
        .toArray(),
    ).toEqual([true, false, true])
  })

  test('conversions', () => {
    const x = float64([1.9, -1.9, 0.5, -0, 3e9, -3e9, nan, infinity])
    expect(x.to('int32').toArray()).toEqual([1, -1, 0, 0, 2 ** 31 - 1, -(2 ** 31), 0, 2 ** 31 - 1])
    expect(x.to('float32').to('int32').toArray()).toEqual([1, -1, 0, 0, 2 ** 31 - 1, -(2 ** 31), 0, 2 ** 31 - 1])
    expect(x.to('bool').toArray()).toEqual([true, true, true, false, true, true, true, true])
    expect(float64([1e300, 0.1, 1e-60]).to('float32').toArray()).toEqual([infinity, Math.fround(0.1), 0])
    expect(tensor([0.1]).to('float64').toArray()).toEqual([Math.fround(0.1)])
    expect(
      tensor([2 ** 24 + 1], { dtype: 'int32' })
        .to('float64')
        .toArray(),
    ).toEqual([2 ** 24 + 1])
    expect(tensor([true, false]).to('float32').toArray()).toEqual([1, 0])
    expect(tensor([-5, 0], { dtype: 'int32' }).to('bool').toArray()).toEqual([true, false])
    const same = tensor([1])
    expect(same.to('float32')).toBe(same)
    for (const from of order) for (const to of order) expect(one(from).to(to)).toBeInstanceOf(Tensor)
  })
})
