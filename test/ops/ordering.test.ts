// Sorting and running sums, against JavaScript's own.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { type Tensor, tensor } from 'wengert'
import { anyNumbers, laidOut, shapes } from '../support/arbitraries.js'
import { expectNear, expectSame } from '../support/expectations.js'
import { at, type Dense, generate } from '../support/reference.js'

const withAxis = (values: fc.Arbitrary<number>) =>
  shapes({ ranks: [1, 4] }).chain((shape) =>
    fc.tuple(laidOut(shape, values), fc.integer({ min: -shape.length, max: shape.length - 1 })),
  )

/** A function of the lines of an array along an axis. */
function alongLines(x: Dense, axis: number, fn: (line: number[]) => number[]): Dense {
  const place = axis < 0 ? axis + x.shape.length : axis
  const line = (position: readonly number[]) =>
    Array.from({ length: x.shape[place] as number }, (_, i) =>
      at(
        x,
        position.map((p, a) => (a === place ? i : p)),
      ),
    )
  return generate(x.shape, (position) => fn(line(position))[position[place] as number] as number)
}

/** NaN last among the rising, first among the falling; equals in their order. */
function sortedPositions(line: readonly number[], descending: boolean): number[] {
  const rank = (a: number, b: number) =>
    Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : a < b ? -1 : Number(a > b)
  return line.map((_, i) => i).sort((i, j) => rank(line[i] as number, line[j] as number) * (descending ? -1 : 1))
}

describe('sort', () => {
  test.each([false, true])('descending: %s', (descending) => {
    fc.assert(
      fc.property(withAxis(anyNumbers), ([{ dense, make }, axis]) => {
        for (const dtype of ['float32', 'float64'] as const) {
          const x = make(dtype)
          const { values, indices } = wengert.sort(x, { axis, descending })
          const order = alongLines(dense, axis, (line) => sortedPositions(line, descending))
          expectSame(indices, order)
          expectSame(wengert.argsort(x, { axis, descending }), order)
          expectSame(
            values,
            alongLines(dense, axis, (line) => sortedPositions(line, descending).map((i) => line[i] as number)),
          )
        }
      }),
    )
  })

  test('of long rows of whole numbers, with a stable order', () => {
    wengert.manualSeed(1)
    const x = wengert.randint(-50, 50, [3, 1001])
    const { values, indices } = wengert.sort(x)
    expect(values.dtype).toBe('int32')
    ;(x.toArray() as number[][]).forEach((row, r) => {
      const order = sortedPositions(row, false)
      expect(indices.at(r).toArray()).toEqual(order)
      expect(values.at(r).toArray()).toEqual(order.map((i) => row[i]))
    })
    expect(wengert.sort(tensor([true, false])).values.dtype).toBe('bool')
  })

  test('topk', () => {
    const x = tensor([3, 1, 3, 2, Number.NaN])
    const { values, indices } = wengert.topk(x, 3)
    expect([...values.data]).toEqual([Number.NaN, 3, 3])
    expect([...indices.data]).toEqual([4, 0, 2])
    expect([...wengert.topk(x, 2, { largest: false }).values.data]).toEqual([1, 2])
    const grid = wengert.arange(6).reshape([2, 3])
    expect(wengert.topk(grid, 1, { axis: 0 }).values.toArray()).toEqual([[3, 4, 5]])
    expect(wengert.topk(x, 0).values.shape).toEqual([0])
  })
})

describe('running', () => {
  const running = (fn: (total: number, value: number) => number) => (line: number[]) => {
    let total: number | undefined
    return line.map((value) => {
      total = total === undefined ? value : fn(total, value)
      return total
    })
  }

  test.each([
    ['sums', wengert.cumsum, (a: number, b: number) => a + b],
    ['products', wengert.cumprod, (a: number, b: number) => a * b],
  ] as const)('%s', (_, scan, fn) => {
    const values = fc.integer({ min: -8, max: 8 }).map((n) => n / 2)
    fc.assert(
      fc.property(withAxis(values), ([{ dense, make }, axis]) => {
        for (const dtype of ['float32', 'float64'] as const) {
          expectNear(scan(make(dtype), axis), alongLines(dense, axis, running(fn)), { relative: 1e-6 })
        }
      }),
    )
  })

  test('sums of whole numbers and of truth values', () => {
    const x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'int32' },
    )
    expect(wengert.cumsum(x, 0).dtype).toBe('int32')
    expect(wengert.cumsum(x, 0).toArray()).toEqual([
      [1, 2],
      [4, 6],
    ])
    expect(wengert.cumsum(tensor([true, false, true]), 0).toArray()).toEqual([1, 1, 2])
    expect(wengert.prod(x, { axis: 1 }).toArray()).toEqual([2, 12])
  })
})

test('all and any', () => {
  const rows: Tensor = tensor([
    [0, 1, Number.NaN],
    [0, 0, -0],
  ])
  expect(wengert.any(rows, { axis: 1 }).toArray()).toEqual([true, false])
  expect(wengert.all(rows, { axis: 0 }).toArray()).toEqual([false, false, false])
  expect(wengert.all(tensor([[1, 2]], { dtype: 'int32' }), { axis: 1, keepDims: true }).toArray()).toEqual([[true]])
})
