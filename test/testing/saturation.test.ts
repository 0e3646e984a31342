// Right derivatives that are hard to see by differences, without a tolerance to tune; and wrong ones there.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as wengert from '../../src/index.js'
import { type Tensor, tensor } from '../../src/index.js'
import { gradcheck, gradcheckPlain, gradgradcheck } from '../../src/testing/index.js'
import { at, operation } from './harness.js'

type Function1 = (x: Tensor) => Tensor

const functions: readonly (readonly [string, Function1])[] = [
  ['tanh', wengert.tanh],
  ['1 − tanh', (x) => wengert.sub(1, x.tanh())],
  ['sigmoid', wengert.sigmoid],
  ['erf', wengert.erf],
  ['gelu', (x) => x.gelu()],
  ['gelu, approximated', (x) => x.gelu({ approximate: 'tanh' })],
  ['silu', wengert.silu],
  ['softplus', wengert.softplus],
  ['logSigmoid', wengert.logSigmoid],
  ['elu', (x) => wengert.elu(x)],
  ['softmax', wengert.softmax],
  ['logSoftmax', wengert.logSoftmax],
  ['logsumexp', wengert.logsumexp],
  ['the sum of sigmoids', (x) => x.sigmoid().sum()],
  ['exp(−x²)', (x) => x.square().neg().exp()],
  ['cos', wengert.cos],
]

describe('no right derivative is found wrong', () => {
  it.each(functions)('%s, from 1e-12 to 100', (_, fn) => {
    const scales = fc.constantFrom(1e-12, 1e-8, 1e-4, 1, 5, 10, 20, 50, 100)
    const unit = fc.double({ min: -1, max: 1, noNaN: true })
    const points = fc.tuple(scales, fc.array(unit, { minLength: 1, maxLength: 4 }))
    fc.assert(
      fc.property(points, ([scale, values]) => {
        const report = gradcheck(fn, [at(...values.map((value) => scale * value))])
        expect(report.verdict, String(report)).not.toBe('wrong')
      }),
      { numRuns: 20 },
    )
  })

  it.each(functions)('%s passes at 17, −20 and 35, in both orders', (_, fn) => {
    for (const values of [[17], [-20], [35], [0.5, -20], [17, 2, -35]]) {
      expect(gradcheck(fn, [at(...values)]).verdict, String(values)).toBe('right')
      expect(gradgradcheck(fn, [at(...values)]).verdict, String(values)).toBe('right')
    }
  })
})

describe('a wrong derivative is found', () => {
  const doubled = (name: string, forward: Function1, slope: Function1) =>
    operation(name, forward, [{ saves: [0], rule: (g, call) => g.mul(slope(call.input(0))).scale(1.01) }])

  it('beside saturated ones', () => {
    const sigmoid = doubled('sigmoid', wengert.sigmoid, (x) => x.sigmoid().mul(wengert.sub(1, x.sigmoid())))
    expect(gradcheck(sigmoid, [at(40, 1, -40)])).toMatchObject({ verdict: 'wrong', worst: { index: [1] } })
  })

  it('in any unit', () => {
    for (const unit of [1e-100, 1e-20, 1e-10, 1, 1e10, 1e100]) {
      const square = doubled(
        'square',
        (x) => x.square().scale(unit),
        (x) => x.scale(2 * unit),
      )
      expect(gradcheck(square, [at(0.7, -3)]).verdict, String(unit)).toBe('wrong')
      expect(gradcheck((x) => x.square().scale(unit), [at(0.7, -3)]).verdict, String(unit)).toBe('right')
    }
  })

  it('in the tail, where the function itself is small', () => {
    const gelu = doubled(
      'gelu',
      (x) => x.gelu(),
      (x) =>
        x
          .square()
          .scale(-0.5)
          .exp()
          .scale(1 / Math.sqrt(2 * Math.PI))
          .mul(x),
    )
    expect(gradcheck(gelu, [at(-12)]).verdict).toBe('wrong')
  })
})

describe('steps that pass over what a function does', () => {
  it('do not make a right derivative wrong', () => {
    for (const frequency of [1, 1e2, 1e4, 1e6, 1e8]) {
      const report = gradcheck((x) => x.scale(frequency).sin(), [at(0.7, -1.3, 2)])
      expect(report.verdict, String(report)).not.toBe('wrong')
      if (frequency < 1e4) expect(report.verdict).toBe('right')
    }
  })

  it('nor a derivative right that cannot be told', () => {
    const offset = (x: Float64Array) => 1e12 + (x[0] as number)
    expect(gradcheckPlain(offset, () => [1.2], [1]).verdict).toBe('noisy')
    expect(gradcheckPlain(offset, () => [1], [1]).verdict).toBe('noisy')
    const single = (x: Float64Array) => Math.fround(Math.sin(x[0] as number))
    expect(gradcheckPlain(single, (x) => [Math.cos(x[0] as number)], [1]).verdict).toBe('noisy')
    expect(gradcheckPlain(single, (x) => [2 * Math.cos(x[0] as number)], [1]).verdict).toBe('wrong')
  })
})

it('gelu keeps the digits of its derivative in the tail', () => {
  // φ(x)(x + Φ(x)/φ(x)) by the asymptotic series of Mills' ratio, and σ and its derivative for the approximation.
  const x = tensor([-30, -12, -9], { dtype: 'float64', requiresGrad: true })
  x.gelu().sum().backward()
  const exact = [-30, -12, -9].map((value) => {
    const t = 1 / (value * value)
    const mills = (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t * (1 - 11 * t)))))) / -value
    return (Math.exp((-value * value) / 2) / Math.sqrt(2 * Math.PI)) * (value + mills)
  })
  const slopes = [...(x.grad?.data ?? [])]
  expect(slopes.map((slope, i) => Math.abs(slope / (exact[i] as number) - 1) < 1e-6)).toEqual([true, true, true])
})
