// Reductions against plain loops: every subset of axes, permuted and broadcast views, sizes of 0 and rank 0 included.
import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { argmax, argmin, type ReductionOptions, ShapeError, type Tensor, tensor } from 'wengert'
import {
  anyNumbers,
  axesOf,
  exactNumbers,
  type Laid,
  laidOut,
  moderateNumbers,
  shapes,
} from '../support/arbitraries.js'
import { expectNear, expectSame, gradOf, roundingUnit } from '../support/expectations.js'
import { at, type Dense, generate, reduce, total } from '../support/reference.js'

interface Case {
  readonly x: Laid
  readonly axis: readonly number[] | undefined
  readonly keepDims: boolean
}

const cases = (values: Arbitrary<number>, minimum = 0): Arbitrary<Case> =>
  shapes({ minimum }).chain((shape) =>
    fc.record({ x: laidOut(shape, values), axis: axesOf(shape), keepDims: fc.boolean() }),
  )

/** An option that is undefined is left out, at times. */
const optionsOf = ({ axis, keepDims }: Case): ReductionOptions | undefined =>
  axis === undefined && !keepDims ? undefined : { axis: axis?.length === 1 ? axis[0] : axis, keepDims }

const mean = (values: readonly number[]) => total(values) / values.length

/** How many values go into each result. */
function countOf({ x, axis }: Case): number {
  const ones: Dense = { shape: x.dense.shape, data: x.dense.data.map(() => 1) }
  return reduce(ones, axis, false, total).data[0] ?? Number.NaN
}

describe('sum', () => {
  test.each(['float64', 'float32', 'int32'] as const)('%s', (dtype) => {
    const values = dtype === 'int32' ? fc.integer({ min: -100, max: 100 }) : exactNumbers
    fc.assert(
      fc.property(cases(values), (given) => {
        const { x, axis, keepDims } = given
        expectNear(x.make(dtype).sum(optionsOf(given)), reduce(x.dense, axis, keepDims, total), {})
      }),
    )
  })

  test('of long rows and columns, and across blocks', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 63, 64, 65, 127, 129, 1000),
        fc.constantFrom(1, 3, 16, 17),
        fc.boolean(),
        (n, m, turned) => {
          const dense = generate([n, m], ([i = 0, j = 0]) => ((i * 7 + j * 13) % 17) / 4)
          const plain = tensor([...dense.data], { shape: [n, m] })
          const x = turned ? plain.transpose().clone().transpose() : plain
          for (const axis of [0, 1, undefined]) {
            expectNear(x.sum({ axis }), reduce(dense, axis === undefined ? undefined : [axis], false, total), {})
          }
        },
      ),
    )
  })
})

test('mean', () => {
  fc.assert(
    fc.property(cases(moderateNumbers, 1), (given) => {
      const { x, axis, keepDims } = given
      const expected = reduce(x.dense, axis, keepDims, mean)
      // The values are below 3: so much may sums in other orders differ.
      expectNear(x.make('float64').mean(optionsOf(given)), expected, { absolute: 3 * 700 * roundingUnit('float64') })
    }),
  )
})

test('variance', () => {
  fc.assert(
    fc.property(cases(moderateNumbers, 1), fc.constantFrom(0, 1, 2), (given, correction) => {
      const { x, axis, keepDims } = given
      const expected = reduce(x.dense, axis, keepDims, (values) => {
        const centre = mean(values)
        return total(values.map((value) => (value - centre) ** 2)) / (values.length - correction)
      })
      const result = x.make('float64').variance({ ...optionsOf(given), correction })
      // Where the divisor is not positive, it is 0/0, or a negative estimate that rounding may turn into −0.
      if (countOf(given) > correction) expectNear(result, expected, { absolute: 1e-12 })
      else expect(result.shape).toEqual(expected.shape)
    }),
  )
})

describe.each(['max', 'min'] as const)('%s', (name) => {
  const reference = name === 'max' ? Math.max : Math.min

  test.each(['float64', 'float32', 'int32'] as const)('%s', (dtype) => {
    const values = dtype === 'int32' ? fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) : anyNumbers
    fc.assert(
      fc.property(cases(values, 1), (given) => {
        const { x, axis, keepDims } = given
        const expected = reduce(x.dense, axis, keepDims, (list) => reference(...list))
        // Of zeros of both signs, either is the largest.
        expectNear(x.make(dtype)[name](optionsOf(given)), expected, {})
      }),
    )
  })

  test('of nothing is an error, where there is something to give', () => {
    fc.assert(
      fc.property(cases(exactNumbers), (given) => {
        const run = () => given.x.make('float64')[name](optionsOf(given))
        const empty = reduce(given.x.dense, given.axis, false, (values) => values.length).data
        if (empty.length > 0 && empty[0] === 0) expect(run).toThrow(ShapeError)
      }),
    )
  })
})

describe.each([
  ['argmax', argmax, (a: number, b: number) => a > b],
  ['argmin', argmin, (a: number, b: number) => a < b],
] as const)('%s', (_, fn, better) => {
  /** The first place that no other beats. */
  const place = (values: readonly number[]) =>
    values.reduce((best, value, i) => (better(value, values[best] as number) ? i : best), 0)

  test('along an axis, and of the whole in row-major order', () => {
    fc.assert(
      fc.property(
        shapes({ minimum: 1, ranks: [1, 4] }).chain((shape) =>
          fc.tuple(
            laidOut(shape, fc.integer({ min: -3, max: 3 })),
            fc.integer({ min: -shape.length, max: shape.length - 1 }),
          ),
        ),
        fc.boolean(),
        ([x, axis], keepDims) => {
          for (const dtype of ['float32', 'float64', 'int32'] as const) {
            const tensorOf = x.make(dtype)
            expectSame(fn(tensorOf, { axis, keepDims }), reduce(x.dense, [axis], keepDims, place))
            expectSame(fn(tensorOf), { shape: [], data: [place(x.dense.data)] })
          }
        },
      ),
    )
  })
})

describe('gradients', () => {
  /** Spreads a reduction's cotangent back over the axes, and weighs it. */
  const spread = (kept: Dense, shape: readonly number[], weigh: (position: readonly number[]) => number): Dense =>
    generate(shape, (position) => at(kept, position) * weigh(position))

  const differentiable: [
    string,
    (x: Tensor, options: ReductionOptions) => Tensor,
    (x: Dense, given: Case) => (position: readonly number[]) => number,
  ][] = [
    ['sum', (x, options) => x.sum(options), () => () => 1],
    ['mean', (x, options) => x.mean(options), (_, given) => () => 1 / countOf(given)],
    [
      'max',
      (x, options) => x.max(options),
      (x, { axis }) => {
        const largest = reduce(x, axis, true, (values) => Math.max(...values))
        const ties = reduce(x, axis, true, (values) => values.filter((value) => value === Math.max(...values)).length)
        return (position) => (at(x, position) === at(largest, position) ? 1 / at(ties, position) : 0)
      },
    ],
    [
      'variance',
      (x, options) => x.variance({ ...options, correction: 0 }),
      (x, given) => {
        const centre = reduce(x, given.axis, true, mean)
        return (position) => (2 * (at(x, position) - at(centre, position))) / countOf(given)
      },
    ],
  ]

  test.each(differentiable)('%s', (_, fn, weight) => {
    fc.assert(
      fc.property(cases(exactNumbers, 1), fc.nat(), (given, seed) => {
        const { x, axis, keepDims } = given
        const leaf = x.make('float64').clone().requiresGrad_()
        const result = fn(leaf, { axis, keepDims })
        const cotangent = [...result.data].map((_, i) => ((seed + 5 * i) % 11) / 4 - 1)
        result.backward(tensor(cotangent, { shape: result.shape, dtype: 'float64' }))
        const kept = { shape: reduce(x.dense, axis, true, total).shape, data: cotangent }
        const expected = spread(kept, x.dense.shape, weight(x.dense, given))
        expectNear(gradOf(leaf), expected, { relative: 1e-14, absolute: 1e-14 })
      }),
    )
  })
})
