// Operations that are one kernel against the same made of several operations, to third order, and what they do where
// nothing comes back.
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { grad, type Tensor, tensor } from 'wengert'
import { assertGradgradcheck } from 'wengert/testing'
import 'wengert/testing/vitest'

type Function1 = (x: Tensor) => Tensor

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number
const ints = (...values: number[]) => tensor(Int32Array.from(values))
const ramp = (rows: number, count: number, dtype: 'float32' | 'float64' = 'float64') =>
  tensor(
    Array.from({ length: rows * count }, (_, i) => 2 * Math.sin(1.7 * i + 0.3)),
    { shape: [rows, count], dtype, requiresGrad: true },
  )

const row = (x: Tensor) => ({ axis: Array.from({ length: x.ndim }, (_, i) => i).slice(-1), keepDims: true })
const centredRows: Function1 = (x) => wengert.sub(x, x.mean(row(x)))
const unitRows = (x: Tensor, eps: number) =>
  wengert.div(x, wengert.sqrt(wengert.add(wengert.square(x).mean(row(x)), eps)))

const weight = tensor([0.5, -2, 1, 3, 0.25], { dtype: 'float64' })
const bias = tensor([1, 0, -1, 2, 0.5], { dtype: 'float64' })
const targets = ints(4, 1, 0)

/** The mean over the targets that are not ignored of −Σ q log softmax, q the smoothed distribution. */
function composedCrossEntropy(logits: Tensor, labels: readonly number[], ignored: number, smoothing: number): Tensor {
  const [rows, classes] = logits.shape as [number, number]
  const goal = labels.flatMap((label) =>
    Array.from({ length: classes }, (_, j) =>
      label === ignored ? 0 : smoothing / classes + (j === label ? 1 - smoothing : 0),
    ),
  )
  const distribution = tensor(goal, { shape: [rows, classes], dtype: logits.dtype as 'float64' })
  const counted = labels.filter((label) => label !== ignored).length
  return wengert.scale(wengert.mul(distribution, logits.logSoftmax()).sum(), -1 / counted)
}

const pairs: Record<string, readonly [fused: Function1, composed: Function1]> = {
  gelu: [
    (x) => x.gelu(),
    (x) => wengert.mul(x, wengert.scale(wengert.add(wengert.erf(wengert.scale(x, Math.SQRT1_2)), 1), 0.5)),
  ],
  'gelu by tanh': [
    (x) => wengert.gelu(x, { approximate: 'tanh' }),
    (x) => {
      const cube = wengert.mul(x.square(), x)
      const inner = wengert.scale(wengert.add(x, wengert.scale(cube, 0.044715)), Math.sqrt(2 / Math.PI))
      return wengert.mul(wengert.scale(x, 0.5), wengert.add(inner.tanh(), 1))
    },
  ],
  silu: [(x) => x.silu(), (x) => wengert.div(x, wengert.add(wengert.exp(x.neg()), 1))],
  softplus: [(x) => x.softplus(), (x) => wengert.log(wengert.add(x.exp(), 1))],
  layerNorm: [
    (x) => wengert.layerNorm(x, weight, bias),
    (x) => wengert.add(wengert.mul(unitRows(centredRows(x), 1e-5), weight), bias),
  ],
  'layerNorm without weight': [
    (x) => wengert.layerNorm(x, undefined, bias, { eps: 0.1 }),
    (x) => wengert.add(unitRows(centredRows(x), 0.1), bias),
  ],
  rmsNorm: [(x) => wengert.rmsNorm(x, weight, { eps: 1e-3 }), (x) => wengert.mul(unitRows(x, 1e-3), weight)],
  crossEntropy: [(x) => wengert.crossEntropy(x, targets), (x) => composedCrossEntropy(x, [4, 1, 0], -100, 0)],
  'crossEntropy with smoothing and ignored targets': [
    (x) => wengert.crossEntropy(x, targets, { ignoreIndex: 1, labelSmoothing: 0.2 }),
    (x) => composedCrossEntropy(x, [4, 1, 0], 1, 0.2),
  ],
}

/** A scalar that weighs every element differently. */
const weighed: (fn: Function1) => Function1 = (fn) => (x) => {
  const y = fn(x)
  const factors = Array.from({ length: y.size }, (_, i) => Math.cos(i + 0.5))
  return wengert.mul(y, tensor(factors, { shape: y.shape, dtype: y.dtype as 'float64' })).sum()
}

describe.each(Object.entries(pairs))('%s', (_, [fused, composed]) => {
  const order = (fn: Function1, n: number): Function1 => (n === 0 ? fn : order(grad(weighed(fn)) as Function1, n - 1))

  test.each([0, 1, 2])('order %i is that of the composed form', (n) => {
    const x = ramp(3, 5)
    expect(order(fused, n)(x)).toBeCloseToTensor(order(composed, n)(x), { rtol: 1e-11, atol: 1e-11 })
  })

  test('the third order passes the check by finite differences', () => {
    assertGradgradcheck(grad(weighed(fused)) as Function1, [ramp(3, 5)])
  })

  test('float32 gives what float64 gives', () => {
    const single = order(fused, 1)(ramp(3, 5, 'float32'))
    expect(single.to('float64')).toBeCloseToTensor(order(fused, 1)(ramp(3, 5)), { rtol: 1e-5, atol: 3e-6 })
  })
})

describe('rows from which nothing is wanted', () => {
  const keeps = tensor([[1], [0], [1]], { dtype: 'bool' })
  const norms: Record<string, Function1> = {
    layerNorm: (x) => wengert.layerNorm(x, weight.to(x.dtype), bias.to(x.dtype)),
    'layerNorm without weight': (x) => wengert.layerNorm(x),
    rmsNorm: (x) => wengert.rmsNorm(x, weight.to(x.dtype)),
  }

  describe.each(Object.entries(norms))('%s', (_, norm) => {
    test.each([nan, infinity])('a row of %f stays without gradient, to second order', (bad) => {
      for (const dtype of ['float32', 'float64'] as const) {
        const good = ramp(3, 5, dtype)
        const broken = wengert.where(keeps, good, bad).detach().requiresGrad_()
        const loss: Function1 = (x) => wengert.where(keeps, norm(x), 0).square().sum()
        const penalty: Function1 = (x) => (grad(loss)(x) as Tensor).square().sum()
        for (const fn of [loss, penalty]) {
          const found = grad(fn)(broken) as Tensor
          const wanted = wengert.where(keeps, grad(fn)(good) as Tensor, 0)
          expect(found).toBeCloseToTensor(wanted, { rtol: 0, atol: 0 })
        }
      }
    })
  })

  test('the weight of layerNorm has no part of a row that is left out', () => {
    const w = tensor([0.5, -2, 1, 3, 0.25], { dtype: 'float64', requiresGrad: true })
    const broken = wengert.where(keeps, ramp(3, 5), nan)
    wengert.where(keeps, wengert.layerNorm(broken, w), 0).sum().backward()
    expect(Array.from((w.grad as Tensor).data).every(Number.isFinite)).toBe(true)
  })

  test('cross-entropy: ignored rows may hold anything, to second order', () => {
    const labels = ints(4, -100, 0)
    const good = ramp(3, 5)
    const broken = wengert.where(keeps, good, nan).detach().requiresGrad_()
    const loss: Function1 = (x) => wengert.crossEntropy(x, labels)
    const penalty: Function1 = (x) => (grad(loss)(x) as Tensor).square().sum()
    for (const fn of [loss, penalty]) {
      expect(grad(fn)(broken)).toBeCloseToTensor(grad(fn)(good) as Tensor, { rtol: 0, atol: 0 })
    }
  })
})

test('an ignored class that no class can be ignores nothing', () => {
  const x = ramp(3, 5)
  const wanted = wengert.crossEntropy(x, targets)
  for (const ignoreIndex of [2 ** 32, 0.5, -1e12]) {
    expect(wengert.crossEntropy(x, targets, { ignoreIndex })).toBeCloseToTensor(wanted, { rtol: 0, atol: 0 })
  }
})

test('weights of another dtype promote', () => {
  const x = ramp(3, 5, 'float32')
  const y = wengert.layerNorm(x, weight, bias)
  expect(y.dtype).toBe('float64')
  y.sum().backward()
  expect(x.grad?.dtype).toBe('float32')
})
