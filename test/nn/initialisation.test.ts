import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, DTypeError, eye, manualSeed, type Shape, ShapeError, type Tensor } from 'wengert'
import {
  calculateGain,
  kaimingNormal,
  kaimingUniform,
  orthogonal,
  truncatedNormal,
  xavierNormal,
  xavierUniform,
} from 'wengert/nn'
import { expectError, expectNear, expectSame, untyped } from '../support/expectations.js'

// 60,000 numbers: standard deviations are estimated to about 0.3 %.
const shape: Shape = [200, 100, 3]
const [fanIn, fanOut] = [300, 600]
const float64 = { dtype: 'float64' } as const
const stdOf = (x: Tensor) => Math.sqrt(x.variance().item())
const largest = (x: Tensor) => x.abs().max().item()

/** The standard deviation, and, of uniform numbers, the bound. */
const cases: [string, () => Tensor, number, 'uniform' | 'normal'][] = [
  ['xavierUniform', () => xavierUniform(shape, float64), Math.sqrt(2 / (fanIn + fanOut)), 'uniform'],
  ['xavierNormal', () => xavierNormal(shape, float64), Math.sqrt(2 / (fanIn + fanOut)), 'normal'],
  ['xavierNormal for tanh', () => xavierNormal(shape, { gain: 5 / 3 }), (5 / 3) * Math.sqrt(2 / 900), 'normal'],
  ['kaimingUniform', () => kaimingUniform(shape), Math.sqrt(2 / fanIn), 'uniform'],
  ['kaimingUniform by fan-out', () => kaimingUniform(shape, { mode: 'fanOut' }), Math.sqrt(2 / fanOut), 'uniform'],
  ['kaimingNormal', () => kaimingNormal(shape, float64), Math.sqrt(2 / fanIn), 'normal'],
  ['kaimingNormal of gain 1', () => kaimingNormal(shape, { gain: 1, mode: 'fanOut' }), Math.sqrt(1 / fanOut), 'normal'],
]

describe('variances', () => {
  test.each(cases)('%s', (_, make, std, kind) => {
    manualSeed(6)
    const x = make()
    expect(x.shape).toEqual(shape)
    expect(stdOf(x) / std).toBeCloseTo(1, 1.5)
    expect(Math.abs(x.mean().item()) / std).toBeLessThan(0.02)
    if (kind === 'uniform') {
      expect(largest(x)).toBeLessThanOrEqual(std * Math.sqrt(3) * (1 + 1e-6))
      expect(largest(x)).toBeGreaterThan(0.99 * std * Math.sqrt(3))
    } else expect(largest(x)).toBeGreaterThan(3 * std)
  })

  test('truncatedNormal is cut, and has the standard deviation that is left', () => {
    manualSeed(7)
    const x = truncatedNormal(shape, { mean: 5, std: 0.02 })
    expect(x.sub(5).abs().max().item()).toBeLessThanOrEqual(0.04 + 1e-6)
    expect(x.mean().item()).toBeCloseTo(5, 3)
    expect(stdOf(x) / 0.02).toBeCloseTo(0.8796, 2)
    // Of a density cut at ±b: 1 − 2 b φ(b) / (2 Φ(b) − 1), here of b = 1.
    expect(stdOf(truncatedNormal(shape, { bound: 1 }))).toBeCloseTo(0.5396, 2)
  })

  test('come from the seed', () => {
    for (const make of [...cases.map(([, fn]) => fn), () => truncatedNormal([9]), () => orthogonal([4, 4])]) {
      manualSeed(8)
      const first = make()
      manualSeed(8)
      expectSame(make(), first)
    }
  })
})

test('orthogonal matrices have orthonormal rows or columns', () => {
  const size = fc.integer({ min: 1, max: 12 })
  fc.assert(
    fc.property(size, size, fc.constantFrom(1, 2.5), fc.nat(), (height, width, gain, seed) => {
      manualSeed(seed)
      const q = orthogonal([height, width], { gain, dtype: 'float64' })
      const product = height > width ? q.transpose().matmul(q) : q.matmul(q.transpose())
      expectNear(product, eye(Math.min(height, width), undefined, float64).scale(gain ** 2), { absolute: 1e-12 })
    }),
  )
})

test('orthogonal weights of more axes count those behind the first as one', () => {
  const q = orthogonal([3, 2, 4], float64).reshape([3, 8])
  expectNear(q.matmul(q.transpose()), eye(3, 3, float64), { absolute: 1e-12 })
  expect(orthogonal([0, 3]).shape).toEqual([0, 3])
})

test('gains are PyTorch’s', () => {
  expect(calculateGain('linear')).toBe(1)
  expect(calculateGain('sigmoid')).toBe(1)
  expect(calculateGain('tanh')).toBe(5 / 3)
  expect(calculateGain('relu')).toBe(Math.SQRT2)
  expect(calculateGain('leakyRelu')).toBeCloseTo(1.4141428569978354, 15)
  expect(calculateGain('leakyRelu', 0.2)).toBeCloseTo(1.3867504905630728, 15)
  expect(calculateGain('selu')).toBe(0.75)
  expectError(() => calculateGain(untyped('swish')), ArgumentError, 'calculateGain', 'swish')
  expectError(() => calculateGain('leakyRelu', Number.NaN), ArgumentError, 'calculateGain', 'slope')
})

test('refuse what cannot be', () => {
  expectError(() => xavierUniform([3]), ShapeError, 'xavierUniform', '(3,)')
  expectError(() => kaimingNormal(untyped(3)), ShapeError, 'kaimingNormal')
  expectError(() => orthogonal([]), ShapeError, 'orthogonal')
  expectError(() => kaimingUniform([2, 2], { mode: untyped('fan_in') }), ArgumentError, 'kaimingUniform', 'fan_in')
  expectError(() => xavierNormal([2, 2], { gain: Number.NaN }), ArgumentError, 'xavierNormal', 'gain')
  expectError(() => xavierNormal([2, 2], untyped({ std: 1 })), ArgumentError, 'xavierNormal', 'std')
  expectError(() => orthogonal([2, 2], { dtype: 'bool' }), DTypeError, 'orthogonal', 'bool')
  expectError(() => truncatedNormal([2], { std: -1 }), ArgumentError, 'truncatedNormal', 'std')
  expectError(() => truncatedNormal([2], { bound: 0.1 }), ArgumentError, 'truncatedNormal', 'bound')
  expectError(() => truncatedNormal([2], { std: Number.POSITIVE_INFINITY }), ArgumentError, 'truncatedNormal', 'std')
  expectError(() => truncatedNormal([2], { std: untyped('1') }), ArgumentError, 'truncatedNormal', 'std')
  expectError(() => truncatedNormal([2], { bound: untyped('2') }), ArgumentError, 'truncatedNormal', 'bound')
  expectError(() => truncatedNormal([2], { mean: Number.POSITIVE_INFINITY }), ArgumentError, 'truncatedNormal', 'mean')
})
