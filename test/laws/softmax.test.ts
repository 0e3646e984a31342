// Rows of softmax.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { logSoftmax, ones, softmax, type Tensor, tensor } from 'wengert'
import { laidOut, moderateNumbers, orders, shapes } from '../support/arbitraries.js'
import { expectNear, gradOf, roundingUnit } from '../support/expectations.js'
import { generate } from '../support/reference.js'

const rows = shapes({ minimum: 1, ranks: [1, 3] }).chain((shape) => laidOut(shape, moderateNumbers))
const numbers = fc.array(moderateNumbers, { minLength: 1, maxLength: 12 })
const float64 = (data: number[]) => tensor(data, { dtype: 'float64' })
const tolerance = { relative: 40 * roundingUnit('float64') }

describe('softmax', () => {
  test.each(['float64', 'float32'] as const)('rows sum to 1, %s', (dtype) => {
    fc.assert(
      fc.property(rows, fc.nat(2), (x, choice) => {
        const axis = choice % x.dense.shape.length
        const sums = softmax(x.make(dtype), axis).sum({ axis })
        expectNear(sums, ones(sums.shape, { dtype }), { relative: 16 * roundingUnit(dtype) })
      }),
    )
  })

  test('is the exponentials over their sum', () => {
    fc.assert(
      fc.property(numbers, (values) => {
        const exponentials = values.map(Math.exp)
        const sum = exponentials.reduce((a, b) => a + b)
        const expected = { shape: [values.length], data: exponentials.map((value) => value / sum) }
        expectNear(softmax(float64(values)), expected, tolerance)
        expectNear(logSoftmax(float64(values)).exp(), expected, tolerance)
      }),
    )
  })

  test('does not see a shift of the row', () => {
    fc.assert(
      fc.property(numbers, fc.integer({ min: -1000, max: 1000 }), (values, shift) => {
        // Sixteenths, so that the shift itself is exact.
        const exact = values.map((value) => Math.round(value * 16) / 16)
        expectNear(softmax(float64(exact.map((value) => value + shift))), softmax(float64(exact)), {})
        expectNear(logSoftmax(float64(exact.map((value) => value + shift))), logSoftmax(float64(exact)), {})
      }),
    )
  })

  test('compares scores only through their gaps', () => {
    fc.assert(
      fc.property(numbers, (values) => {
        const a = softmax(float64(values)).data
        const gaps = values.map((value) => Math.exp(value - (values[0] as number)))
        const ratios = { shape: [values.length], data: gaps }
        expectNear(float64([...a].map((value) => value / (a[0] as number))), ratios, tolerance)
      }),
    )
  })

  test('permutes with the row', () => {
    fc.assert(
      fc.property(
        numbers.chain((values) => fc.tuple(fc.constant(values), orders(values.length))),
        ([values, order]) => {
          const a = softmax(float64(values)).data
          const expected = { shape: [values.length], data: order.map((place) => a[place] as number) }
          expectNear(softmax(float64(order.map((place) => values[place] as number))), expected, tolerance)
        },
      ),
    )
  })

  test('has the Jacobian diag(a) − a aᵀ, symmetric, with rows that sum to 0', () => {
    fc.assert(
      fc.property(fc.array(moderateNumbers, { minLength: 1, maxLength: 6 }), (values) => {
        const n = values.length
        const x = tensor(values, { dtype: 'float64', requiresGrad: true })
        const y = softmax(x)
        const a = y.data
        const jacobian = Array.from({ length: n }, (_, m) => {
          x.grad = null
          y.backward(tensor(generate([n], ([j]) => Number(j === m)).data.slice(), { dtype: 'float64' }), {
            retainGraph: true,
          })
          return [...gradOf(x).data]
        })
        const expected = generate([n, n], ([i = 0, j = 0]) => (a[i] as number) * (Number(i === j) - (a[j] as number)))
        expectNear(float64(jacobian.flat()).reshape([n, n]), expected, { absolute: 1e-16 * 8 })
        for (const row of jacobian) expect(row.reduce((sum, value) => sum + value)).toBeCloseTo(0, 14)
      }),
    )
  })

  test('the logarithm passes back g − a Σg', () => {
    fc.assert(
      fc.property(
        rows.chain((x) => fc.tuple(fc.constant(x), fc.nat())),
        ([x, seed]) => {
          const leaf = x.make('float64').clone().requiresGrad_()
          const cotangent = generate(x.dense.shape, (position) =>
            Math.sin(seed + position.reduce((a, b) => 3 * a + b, 0)),
          )
          const g: Tensor = tensor([...cotangent.data], { shape: cotangent.shape, dtype: 'float64' })
          logSoftmax(leaf).backward(g)
          const expected = g.sub(softmax(leaf.detach()).mul(g.sum({ axis: -1, keepDims: true })))
          expectNear(gradOf(leaf), expected, { absolute: 1e-14 })
        },
      ),
    )
  })
})
