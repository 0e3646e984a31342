// Elementwise operations against plain loops: every layout, broadcasting, sizes of 0 and rank 0 included.
import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tensor, where } from 'wengert'
import { anyNumbers, broadcastable, exactNumbers, type Laid, laidOut } from '../support/arbitraries.js'
import { expectNear, expectSame, gradOf } from '../support/expectations.js'
import { type Dense, elementwise, sumTo } from '../support/reference.js'

/** Two operands that broadcast together, each row-major, permuted or broadcast itself. */
const pairs = (values: Arbitrary<number>): Arbitrary<[Laid, Laid]> =>
  broadcastable(2).chain(([a = [], b = []]) => fc.tuple(laidOut(a, values), laidOut(b, values)))

const map = ({ shape, data }: Dense, fn: (value: number) => number): Dense => ({ shape, data: data.map(fn) })

type Binary = (a: number, b: number) => number

const arithmetic = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  maximum: Math.max,
  minimum: Math.min,
} satisfies Record<string, Binary>

const comparisons = {
  eq: (a, b) => Number(a === b),
  ne: (a, b) => Number(a !== b),
  lt: (a, b) => Number(a < b),
  le: (a, b) => Number(a <= b),
  gt: (a, b) => Number(a > b),
  ge: (a, b) => Number(a >= b),
} satisfies Record<string, Binary>

const whole = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })

describe.each(Object.entries(arithmetic))('%s', (name, reference) => {
  const op = name as keyof typeof arithmetic

  test('float64', () => {
    fc.assert(
      fc.property(pairs(anyNumbers), ([a, b]) => {
        expectSame(a.make('float64')[op](b.make('float64')), elementwise(reference, a.dense, b.dense))
      }),
    )
  })

  test('float32, rounded once', () => {
    fc.assert(
      fc.property(pairs(anyNumbers), ([a, b]) => {
        const expected = map(elementwise(reference, a.dense, b.dense), Math.fround)
        expectSame(a.make('float32')[op](b.make('float32')), expected)
      }),
    )
  })

  test.runIf(name !== 'div')('int32', () => {
    // A product of 32 bits is exact in neither of the floats.
    const exact = name === 'mul' ? Math.imul : reference
    fc.assert(
      fc.property(pairs(whole), ([a, b]) => {
        const expected = map(elementwise(exact, a.dense, b.dense), (value) => value | 0)
        expectSame(a.make('int32')[op](b.make('int32')), expected)
      }),
    )
  })
})

describe.each(Object.entries(comparisons))('%s', (name, reference) => {
  const op = name as keyof typeof comparisons
  test.each(['float64', 'float32', 'int32'] as const)('%s', (dtype) => {
    const values = dtype === 'int32' ? fc.integer({ min: -2, max: 2 }) : anyNumbers
    fc.assert(
      fc.property(pairs(values), ([a, b]) => {
        const result = a.make(dtype)[op](b.make(dtype))
        expect(result.dtype).toBe('bool')
        expectSame(result, elementwise(reference, a.dense, b.dense))
      }),
    )
  })
})

test('pow', () => {
  fc.assert(
    fc.property(pairs(exactNumbers), ([a, b]) => {
      const expected = elementwise((x, y) => x ** y, a.dense, b.dense)
      expectNear(a.make('float64').pow(b.make('float64')), expected, { relative: 1e-15 })
    }),
  )
})

test('logic', () => {
  fc.assert(
    fc.property(pairs(fc.constantFrom(0, 1)), ([a, b]) => {
      const [x, y] = [a.make('int32').to('bool'), b.make('int32').to('bool')]
      expectSame(
        x.logicalAnd(y),
        elementwise((p, q) => p & q, a.dense, b.dense),
      )
      expectSame(
        x.logicalOr(y),
        elementwise((p, q) => p | q, a.dense, b.dense),
      )
      expectSame(
        x.logicalNot(),
        elementwise((p) => 1 - p, a.dense),
      )
    }),
  )
})

test.each(['float64', 'float32', 'int32'] as const)('where, %s', (dtype) => {
  const values = dtype === 'int32' ? whole : anyNumbers
  fc.assert(
    fc.property(
      broadcastable(3).chain(([c = [], a = [], b = []]) =>
        fc.tuple(laidOut(c, fc.constantFrom(0, 1)), laidOut(a, values), laidOut(b, values)),
      ),
      ([c, a, b]) => {
        const condition = c.make('int32').to('bool')
        const expected = elementwise((p, x, y) => (p === 1 ? x : y) as number, c.dense, a.dense, b.dense)
        expectSame(where(condition, a.make(dtype), b.make(dtype)), expected)
      },
    ),
  )
})

test('a number is a tensor of rank 0', () => {
  fc.assert(
    fc.property(pairs(anyNumbers), anyNumbers, ([a], number) => {
      const x = a.make('float64')
      for (const op of ['add', 'sub', 'mul', 'div', 'maximum', 'minimum', 'lt', 'ge'] as const) {
        expectSame(x[op](number), x[op](tensor(number, { dtype: 'float64' })))
      }
    }),
  )
})

test('the cotangent of a broadcast operand is summed over the places that it went to', () => {
  const cases = {
    add: [(g) => g, (g) => g],
    sub: [(g) => g, (g) => -g],
    mul: [(g, _, b) => g * b, (g, a) => g * a],
  } satisfies Record<string, [(...values: number[]) => number, (...values: number[]) => number]>
  fc.assert(
    fc.property(pairs(exactNumbers), fc.constantFrom('add', 'sub', 'mul'), fc.nat(), ([a, b], op, seed) => {
      // Quarters, so that every sum is exact in whatever order.
      const [x, y] = [a.make('float64').clone().requiresGrad_(), b.make('float64').clone().requiresGrad_()]
      const result = x[op](y)
      const cotangent: Dense = {
        shape: result.shape,
        data: [...result.data].map((_, i) => ((seed + 7 * i) % 9) / 4 - 1),
      }
      result.backward(tensor([...cotangent.data], { shape: result.shape, dtype: 'float64' }))
      const [towardsA, towardsB] = cases[op]
      const all = [cotangent, a.dense, b.dense] as const
      expectNear(gradOf(x), sumTo(elementwise(towardsA, ...all), x.shape), {})
      expectNear(gradOf(y), sumTo(elementwise(towardsB, ...all), y.shape), {})
    }),
  )
})
