// Views, joining and indexing: what they are the inverse or the adjoint of.
import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, indexSelect, type Shape, slice, split, stack, type Tensor, tensor, unstack } from 'wengert'
import {
  anyNumbers,
  denseWith,
  exactNumbers,
  type Laid,
  laidOut,
  orders,
  shapes,
  shapesBelow,
} from '../support/arbitraries.js'
import { expectNear, expectSame, gradOf } from '../support/expectations.js'
import {
  broadcastTo,
  type Dense,
  denseOf,
  generate,
  nested,
  permute,
  reshape,
  sizeOf,
  total,
} from '../support/reference.js'

const asTensor = ({ shape, data }: Dense) => tensor([...data], { shape, dtype: 'float64' })

/** An array of at least one axis, and one of its axes, at times counted from the end. */
const withAxis = (options?: { readonly minimum?: number }): Arbitrary<[Laid, number]> =>
  shapes({ ...options, ranks: [1, 4] }).chain((shape) =>
    fc.tuple(laidOut(shape, anyNumbers), fc.integer({ min: -shape.length, max: shape.length - 1 })),
  )

const positive = (axis: number, { shape }: { readonly shape: Shape }) => (axis < 0 ? axis + shape.length : axis)

describe('views', () => {
  test('permute moves axes, and its inverse moves them back', () => {
    fc.assert(
      fc.property(
        shapes().chain((shape) => fc.tuple(laidOut(shape, anyNumbers), orders(shape.length))),
        ([x, order]) => {
          const moved = x.make('float64').permute(order)
          expectSame(moved, permute(x.dense, order))
          expectSame(moved.permute(order.map((_, axis) => order.indexOf(axis))), x.dense)
          // Negative axes are the same ones.
          expectSame(x.make('float64').permute(order.map((axis) => axis - order.length)), moved)
        },
      ),
    )
  })

  test('transpose exchanges two axes, and twice is nothing', () => {
    fc.assert(
      fc.property(withAxis(), fc.nat(3), ([x, axis], other) => {
        const rank = x.dense.shape.length
        const second = other % rank
        const order = [...Array(rank).keys()]
        const first = positive(axis, x.dense)
        order[first] = second
        order[second] = first
        const turned = x.make('float64').transpose(axis, second)
        expectSame(turned, permute(x.dense, order))
        expectSame(turned.transpose(second, axis), x.dense)
      }),
    )
  })

  test('reshape keeps the row-major order, behind views as well', () => {
    fc.assert(
      fc.property(
        shapes().chain((shape) =>
          fc.tuple(laidOut(shape, anyNumbers), fc.shuffledSubarray(shape, { minLength: shape.length })),
        ),
        ([x, shape]) => {
          const y = x.make('float64').reshape(shape)
          expectSame(y, reshape(x.dense, shape))
          expectSame(y.reshape([x.dense.data.length]), reshape(x.dense, [x.dense.data.length]))
          expectSame(y.reshape(x.dense.shape), x.dense)
          if (shape.length > 0 && sizeOf(shape) > 0) expectSame(y.reshape([-1, ...shape.slice(1)]), y)
        },
      ),
    )
  })

  test('broadcastTo repeats', () => {
    fc.assert(
      fc.property(
        shapes().chain((shape) =>
          shapesBelow(shape).chain((small) => fc.tuple(laidOut(small, anyNumbers), fc.constant(shape))),
        ),
        ([x, shape]) => {
          const y = x.make('float64').broadcastTo(shape)
          expectSame(y, broadcastTo(x.dense, shape))
          expect(y.toArray()).toEqual(nested(broadcastTo(x.dense, shape)))
          expectSame(y.clone(), y)
          expectSame(y.reshape([sizeOf(shape)]), { shape: [sizeOf(shape)], data: [...y.data] })
        },
      ),
    )
  })

  test('squeeze takes away what unsqueeze adds', () => {
    fc.assert(
      fc.property(
        shapes().chain((shape) =>
          fc.tuple(laidOut(shape, anyNumbers), fc.integer({ min: -shape.length - 1, max: shape.length })),
        ),
        ([x, axis]) => {
          const y = x.make('float64').unsqueeze(axis)
          expect(y.shape[positive(axis, y)]).toBe(1)
          expectSame(y.squeeze(axis), x.dense)
          expect(y.squeeze().shape).toEqual(x.dense.shape.filter((size) => size !== 1))
          expectSame(y.squeeze().reshape(x.dense.shape), x.dense)
        },
      ),
    )
  })

  test('flatten joins axes', () => {
    fc.assert(
      fc.property(withAxis(), fc.nat(3), ([x, axis], further) => {
        const start = positive(axis, x.dense)
        const end = Math.min(start + further, x.dense.shape.length - 1)
        const { shape } = x.dense
        const joined = [...shape.slice(0, start), sizeOf(shape.slice(start, end + 1)), ...shape.slice(end + 1)]
        expectSame(x.make('float64').flatten(start, end), reshape(x.dense, joined))
      }),
    )
    expect(tensor(3).flatten().shape).toEqual([1])
  })
})

describe('joining', () => {
  test('concat undoes split, for every way of splitting', () => {
    fc.assert(
      fc.property(
        withAxis(),
        fc.array(fc.nat(5), { maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        ([x, axis], cuts, size) => {
          const length = x.dense.shape[positive(axis, x.dense)] as number
          const places = [0, ...cuts.map((cut) => Math.min(cut, length)).sort((a, b) => a - b), length]
          const listed = places.slice(1).map((place, i) => place - (places[i] as number))
          for (const sizes of [listed, size]) {
            const parts = split(x.make('float64'), sizes, axis)
            expectSame(concat(parts, axis), x.dense)
          }
          expect(split(x.make('float64'), listed, axis).map(({ shape }) => shape[positive(axis, x.dense)])).toEqual(
            listed,
          )
        },
      ),
    )
  })

  test('split undoes concat', () => {
    fc.assert(
      fc.property(
        fc.tuple(shapes({ ranks: [1, 3] }), fc.nat(2)).chain(([shape, choice]) => {
          const axis = choice % shape.length
          const part = fc.nat(3).chain((size) =>
            laidOut(
              shape.map((other, a) => (a === axis ? size : other)),
              anyNumbers,
            ),
          )
          return fc.tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.constant(axis))
        }),
        ([parts, axis]) => {
          const joined = concat(
            parts.map((part) => part.make('float64')),
            axis,
          )
          const sizes = parts.map(({ dense }) => dense.shape[axis] as number)
          split(joined, sizes, axis).forEach((part, i) => {
            expectSame(part, (parts[i] as Laid).dense)
          })
        },
      ),
    )
  })

  test('stack and unstack undo each other', () => {
    fc.assert(
      fc.property(
        shapes({ ranks: [0, 3] }).chain((shape) =>
          fc.tuple(
            fc.array(laidOut(shape, anyNumbers), { minLength: 1, maxLength: 4 }),
            fc.integer({ min: -shape.length - 1, max: shape.length }),
          ),
        ),
        ([parts, axis]) => {
          const stacked = stack(
            parts.map((part) => part.make('float64')),
            axis,
          )
          expect(stacked.shape[positive(axis, stacked)]).toBe(parts.length)
          const back = unstack(stacked, axis)
          expect(back).toHaveLength(parts.length)
          back.forEach((part, i) => {
            expectSame(part, (parts[i] as Laid).dense)
          })
          expectSame(stack(back, axis), stacked)
        },
      ),
    )
  })
})

describe('slice', () => {
  const bound = fc.oneof(fc.integer({ min: -7, max: 7 }), fc.constant(Number.POSITIVE_INFINITY))

  test('is Array.prototype.slice along each axis', () => {
    const range = fc.record({ start: fc.integer({ min: -7, max: 7 }), end: fc.option(bound, { nil: undefined }) })
    fc.assert(
      fc.property(
        shapes({ ranks: [1, 3] }).chain((shape) =>
          fc.tuple(laidOut(shape, anyNumbers), fc.array(range, { minLength: 1, maxLength: shape.length })),
        ),
        ([x, ranges]) => {
          const cut = (array: unknown, axis: number): unknown => {
            const given = ranges[axis]
            if (given === undefined || !Array.isArray(array)) return array
            return array.slice(given.start, given.end).map((row) => cut(row, axis + 1))
          }
          const ends = ranges.map(({ end }) => end ?? Number.POSITIVE_INFINITY)
          const result = slice(
            x.make('float64'),
            ranges.map(({ start }) => start),
            ends,
          )
          expect(result.toArray()).toEqual(cut(nested(x.dense), 0))
        },
      ),
    )
  })

  test('a single number speaks of the first axis, and no end is the end', () => {
    fc.assert(
      fc.property(withAxis(), fc.integer({ min: -7, max: 7 }), bound, ([x], start, end) => {
        const rows = nested(x.dense) as unknown[]
        expect(slice(x.make('float64'), start, end).toArray()).toEqual(rows.slice(start, end))
        expect(slice(x.make('float64'), start).toArray()).toEqual(rows.slice(start))
      }),
    )
  })

  test('a step takes every so manieth', () => {
    fc.assert(
      fc.property(
        withAxis(),
        fc.integer({ min: -7, max: 7 }),
        bound,
        fc.integer({ min: 1, max: 4 }),
        ([x], start, end, step) => {
          const rows = (nested(x.dense) as unknown[]).slice(start, end).filter((_, i) => i % step === 0)
          expect(slice(x.make('float64'), start, end, step).toArray()).toEqual(rows)
        },
      ),
    )
  })
})

describe('indexSelect', () => {
  const withIndices = withAxis({ minimum: 1 }).chain(([x, axis]) => {
    const length = x.dense.shape[positive(axis, x.dense)] as number
    const indices = fc.array(fc.integer({ min: -length, max: length - 1 }), { maxLength: 6 })
    return fc.tuple(fc.constant(x), fc.constant(axis), indices)
  })

  test('takes slices by position, repeated and from the end', () => {
    fc.assert(
      fc.property(withIndices, ([x, axis, indices]) => {
        const place = positive(axis, x.dense)
        const length = x.dense.shape[place] as number
        const shape = x.dense.shape.map((size, a) => (a === place ? indices.length : size))
        const source = x.make('float64')
        const expected = generate(shape, (position) => {
          const own = position.map((i, a) => (a === place ? ((indices[i] as number) + length) % length : i))
          return slice(
            source,
            own,
            own.map((i) => i + 1),
          ).item()
        })
        expectSame(indexSelect(source, axis, tensor(indices, { dtype: 'int32' })), expected)
      }),
    )
  })

  test('in every dtype', () => {
    const indices = tensor([2, 0, -1], { dtype: 'int32' })
    expect(indexSelect(tensor([true, false, false]), 0, indices).toArray()).toEqual([false, true, false])
    expect(indexSelect(tensor([5, 6, 7], { dtype: 'int32' }), 0, indices).toArray()).toEqual([7, 5, 7])
    expect(indexSelect(tensor([[1, 2, 3]]), 1, indices).toArray()).toEqual([[3, 1, 3]])
  })
})

describe('the backward of what only moves numbers is its adjoint: ⟨f(x), g⟩ = ⟨x, fᵀ(g)⟩', () => {
  const indices = tensor([0, -1, 0], { dtype: 'int32' })
  const movements: [string, (x: Tensor) => Tensor][] = [
    ['permute', (x) => x.permute([...x.shape.keys()].reverse())],
    ['reshape', (x) => x.transpose(0, -1).reshape([x.size])],
    ['broadcastTo', (x) => x.broadcastTo([3, 2, ...x.shape])],
    ['unsqueeze and broadcastTo', (x) => x.unsqueeze(-1).broadcastTo([...x.shape, 3])],
    ['slice', (x) => x.slice(1, -1)],
    ['slice with a step', (x) => x.slice(0, 5, 2)],
    ['split', (x) => (x.split([0, x.shape[0] as number], 0) as [Tensor, Tensor])[1]],
    ['a part of split', (x) => x.split(2, -1)[0] as Tensor],
    ['concat', (x) => concat([x, x.neg(), x], -1)],
    ['stack', (x) => stack([x, x.scale(3)], 1)],
    ['indexSelect', (x) => indexSelect(x, 0, indices)],
    ['indexSelect along the last axis', (x) => indexSelect(x, -1, indices)],
    ['sum', (x) => x.sum({ axis: 0 })],
    ['sum of all', (x) => x.sum()],
    ['neg', (x) => x.neg()],
    ['scale', (x) => x.scale(0.25)],
    ['a difference of views', (x) => x.sub(x.transpose(0, -1).reshape(x.shape))],
  ]

  test.each(movements)('%s', (_, fn) => {
    const inner = (a: Dense, b: Dense) => total(a.data.map((value, i) => value * (b.data[i] as number)))
    fc.assert(
      fc.property(
        shapes({ minimum: 1, ranks: [1, 3] }).chain((shape) => fc.tuple(laidOut(shape, exactNumbers), fc.nat())),
        ([x, seed]) => {
          const leaf = x.make('float64').clone().requiresGrad_()
          const y = fn(leaf)
          const cotangent = generate(
            y.shape as Shape,
            (position) => ((seed + total(position.map((i, a) => (a + 3) * i))) % 7) / 4 - 1,
          )
          if (!y.requiresGrad) return
          y.backward(asTensor(cotangent))
          // Quarters: exact in whatever order.
          expect(inner(denseOf(y), cotangent)).toBe(inner(x.dense, denseOf(gradOf(leaf))))
        },
      ),
    )
  })

  test('repeated positions add up', () => {
    const x = tensor([1, 2, 3], { requiresGrad: true })
    indexSelect(x, 0, tensor([1, 1, -2, 0], { dtype: 'int32' })).backward(tensor([1, 10, 100, 1000]))
    expect(gradOf(x).toArray()).toEqual([1000, 111, 0])
  })

  test('what is cut away gets 0', () => {
    fc.assert(
      fc.property(
        denseWith([7], exactNumbers),
        fc.integer({ min: -8, max: 8 }),
        fc.integer({ min: -8, max: 8 }),
        (x, start, end) => {
          const leaf = asTensor(x).requiresGrad_()
          slice(leaf, start, end).sum().backward()
          const places = [...Array(7).keys()]
          const kept = new Set(places.slice(start, end))
          expectNear(gradOf(leaf), { shape: [7], data: places.map((place) => Number(kept.has(place))) }, {})
        },
      ),
    )
  })
})
