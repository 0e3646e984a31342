// Operations that move elements, against plain loops over positions.
import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { type Index, type IndexRange, type Tensor, tensor } from 'wengert'
import { laidOut, shapes } from '../support/arbitraries.js'
import { expectSame } from '../support/expectations.js'
import { at, type Dense, generate, positionsOf, sizeOf } from '../support/reference.js'

const numbers = fc.integer({ min: -20, max: 20 })

/** An array in some memory layout, with something chosen by its shape. */
function arrays<Extra>(
  extra: (shape: readonly number[]) => Arbitrary<Extra>,
  ranks: readonly [number, number] = [0, 4],
) {
  return shapes({ ranks }).chain((shape) => fc.tuple(laidOut(shape, numbers), extra(shape)))
}

/** Runs a property over arrays, in every dtype that the layout offers. */
function check<Extra>(
  source: Arbitrary<[{ dense: Dense; make: (dtype: 'float32' | 'float64' | 'int32') => Tensor }, Extra]>,
  fn: (x: Tensor, extra: Extra) => Tensor,
  wanted: (x: Dense, extra: Extra) => Dense,
): void {
  fc.assert(
    fc.property(source, ([{ dense, make }, extra]) => {
      for (const dtype of ['float32', 'float64', 'int32'] as const) {
        const result = fn(make(dtype), extra)
        expect(result.dtype).toBe(dtype)
        expectSame(result.add(0), wanted(dense, extra))
      }
    }),
  )
}

const axisOf = (shape: readonly number[]) => fc.integer({ min: -shape.length, max: shape.length - 1 })
const mod = (i: number, n: number) => ((i % n) + n) % n

test('pad', () => {
  const margins = (shape: readonly number[]) =>
    fc.array(fc.tuple(fc.nat(2), fc.nat(2)), { minLength: shape.length, maxLength: shape.length })
  check(
    arrays(margins),
    (x, padding) => wengert.pad(x, padding, { value: 7 }),
    (x, padding) => {
      const shape = x.shape.map((size, axis) => size + (padding[axis]?.[0] ?? 0) + (padding[axis]?.[1] ?? 0))
      return generate(shape, (position) => {
        const own = position.map((i, axis) => i - (padding[axis]?.[0] ?? 0))
        return own.every((i, axis) => i >= 0 && i < (x.shape[axis] as number)) ? at(x, own) : 7
      })
    },
  )
  expect(wengert.pad(tensor([[1]]), [[0, 1]]).toArray()).toEqual([[1, 0]])
  expect(wengert.pad(tensor([true]), [[1, 0]], { value: 1 }).toArray()).toEqual([true, true])
})

test('flip', () => {
  check(
    arrays((shape) => fc.subarray([...shape.keys()])),
    (x, axes) => wengert.flip(x, axes),
    (x, axes) =>
      generate(x.shape, (position) =>
        at(
          x,
          position.map((i, axis) => (axes.includes(axis) ? (x.shape[axis] as number) - 1 - i : i)),
        ),
      ),
  )
})

test('roll', () => {
  check(
    arrays((shape) => fc.tuple(axisOf(shape), fc.integer({ min: -7, max: 7 })), [1, 4]),
    (x, [axis, shift]) => wengert.roll(x, shift, axis),
    (x, [axis, shift]) =>
      generate(x.shape, (position) =>
        at(
          x,
          position.map((i, a) => (a === mod(axis, x.shape.length) ? mod(i - shift, x.shape[a] as number) : i)),
        ),
      ),
  )
  check(
    arrays(() => fc.integer({ min: -7, max: 7 })),
    (x, shift) => wengert.roll(x, shift),
    (x, shift) => ({ shape: x.shape, data: x.data.map((_, i) => x.data[mod(i - shift, x.data.length)] as number) }),
  )
})

test('tile', () => {
  check(
    arrays(() => fc.array(fc.nat(3), { maxLength: 4 }), [0, 3]),
    (x, repeats) => wengert.tile(x, repeats),
    (x, repeats) => {
      const rank = Math.max(x.shape.length, repeats.length)
      const sizes = [...new Array<number>(rank - x.shape.length).fill(1), ...x.shape]
      const counts = [...new Array<number>(rank - repeats.length).fill(1), ...repeats]
      const whole = { shape: sizes, data: x.data }
      return generate(
        sizes.map((size, axis) => size * (counts[axis] as number)),
        (position) =>
          at(
            whole,
            position.map((i, axis) => i % (sizes[axis] as number)),
          ),
      )
    },
  )
})

test('repeatInterleave', () => {
  const choice = (shape: readonly number[]) =>
    axisOf(shape).chain((axis) => {
      const size = shape[mod(axis, shape.length)] as number
      return fc.tuple(fc.constant(axis), fc.oneof(fc.nat(3), fc.array(fc.nat(3), { minLength: size, maxLength: size })))
    })
  check(
    arrays(choice, [1, 4]),
    (x, [axis, repeats]) => wengert.repeatInterleave(x, repeats, axis),
    (x, [axis, repeats]) => {
      const place = mod(axis, x.shape.length)
      const source = Array.from({ length: x.shape[place] as number }, (_, i) =>
        new Array<number>(typeof repeats === 'number' ? repeats : (repeats[i] as number)).fill(i),
      ).flat()
      return generate(
        x.shape.map((size, a) => (a === place ? source.length : size)),
        (position) =>
          at(
            x,
            position.map((i, a) => (a === place ? (source[i] as number) : i)),
          ),
      )
    },
  )
})

test('chunk', () => {
  const x = wengert.arange(7)
  expect(wengert.chunk(x, 3).map((part) => [...part.data])).toEqual([[0, 1, 2], [3, 4, 5], [6]])
  expect(wengert.chunk(x, 10).map((part) => part.size)).toEqual([1, 1, 1, 1, 1, 1, 1])
  expect(wengert.chunk(wengert.zeros([0, 2]), 2).map((part) => part.shape)).toEqual([[0, 2]])
})

test.each([
  ['tril', wengert.tril],
  ['triu', wengert.triu],
] as const)('%s', (name, triangle) => {
  check(
    arrays(() => fc.integer({ min: -4, max: 4 }), [2, 4]),
    (x, diagonal) => triangle(x, { diagonal }),
    (x, diagonal) =>
      generate(x.shape, (position) => {
        const [row, column] = position.slice(-2) as [number, number]
        return (name === 'tril' ? column <= row + diagonal : column >= row + diagonal) ? at(x, position) : 0
      }),
  )
  const bools = triangle(wengert.ones([2, 2], { dtype: 'bool' }))
  expect(bools.dtype).toBe('bool')
  expect(triangle(wengert.full([2, 2], Number.NaN)).data.filter(Number.isNaN)).toHaveLength(3)
})

test('diagonal, diag and trace', () => {
  const choice = (shape: readonly number[]) =>
    fc
      .shuffledSubarray([...shape.keys()], { minLength: 2, maxLength: 2 })
      .chain(([axis0, axis1]) =>
        fc.record({ axis0: fc.constant(axis0), axis1: fc.constant(axis1), offset: fc.integer({ min: -4, max: 4 }) }),
      )
  check(
    arrays(choice, [2, 4]),
    (x, options) => wengert.diagonal(x, options),
    (x, { axis0 = 0, axis1 = 1, offset }) => {
      const others = [...x.shape.keys()].filter((axis) => axis !== axis0 && axis !== axis1)
      const [rows, columns] = [x.shape[axis0] as number, x.shape[axis1] as number]
      const pairs = positionsOf([rows, columns]).filter(([i, j]) => (j as number) - (i as number) === offset)
      return generate([...others.map((axis) => x.shape[axis] as number), pairs.length], (position) => {
        const own = new Array<number>(x.shape.length)
        others.forEach((axis, i) => {
          own[axis] = position[i] as number
        })
        const [i, j] = pairs[position.at(-1) as number] as [number, number]
        own[axis0] = i
        own[axis1] = j
        return at(x, own)
      })
    },
  )
  const v = tensor([1, 2])
  expect(wengert.diag(v, { diagonal: 1 }).toArray()).toEqual([
    [0, 1, 0],
    [0, 0, 2],
    [0, 0, 0],
  ])
  expect(wengert.diag(wengert.diag(v, { diagonal: -2 }), { diagonal: -2 }).toArray()).toEqual([1, 2])
  expect(wengert.trace(wengert.arange(9).reshape([3, 3])).item()).toBe(12)
})

test('gather', () => {
  const choice = (shape: readonly number[]) =>
    axisOf(shape).chain((axis) => {
      const place = mod(axis, shape.length)
      const size = shape[place] as number
      const sizes = fc.tuple(...shape.map((length, a) => (a === place ? fc.nat(size === 0 ? 0 : 4) : fc.nat(length))))
      return sizes.chain((own) => {
        const count = sizeOf(own)
        const index = fc.integer({ min: -size, max: Math.max(-size, size - 1) })
        return fc.record({
          axis: fc.constant(axis),
          shape: fc.constant(own),
          values: fc.array(index, { minLength: count, maxLength: count }),
        })
      })
    })
  check(
    arrays(choice, [1, 3]),
    (x, { axis, shape, values }) => wengert.gather(x, axis, tensor(Int32Array.from(values), { shape })),
    (x, { axis, shape, values }) => {
      const place = mod(axis, x.shape.length)
      const indices = { shape, data: values }
      return generate(shape, (position) =>
        at(
          x,
          position.map((i, a) => (a === place ? mod(at(indices, position), x.shape[a] as number) : i)),
        ),
      )
    },
  )
})

test('embedding', () => {
  const weight = wengert.arange(6).reshape([3, 2])
  const indices = tensor(
    [
      [2, 0],
      [2, 1],
    ],
    { dtype: 'int32' },
  )
  expect(wengert.embedding(indices, weight).toArray()).toEqual([
    [
      [4, 5],
      [0, 1],
    ],
    [
      [4, 5],
      [2, 3],
    ],
  ])
})

describe('at', () => {
  const bound = fc.oneof(fc.constant('' as const), fc.integer({ min: -6, max: 6 }))
  const step = fc.oneof(fc.constant('' as const), fc.constantFrom(-3, -2, -1, 1, 2, 3))
  const range = fc.oneof(
    fc.tuple(bound, bound).map(([a, b]): IndexRange => `${a}:${b}`),
    fc.tuple(bound, bound, step).map(([a, b, c]): IndexRange => `${a}:${b}:${c}`),
  )
  const indexFor = (size: number): Arbitrary<Index> =>
    size === 0 ? range : fc.oneof(fc.integer({ min: -size, max: size - 1 }), range)

  /** Indices for some leading and some trailing axes, with '...' between where the trailing ones need it, and nulls. */
  const indices = (shape: readonly number[]): Arbitrary<Index[]> =>
    fc.tuple(fc.nat(shape.length), fc.nat(shape.length)).chain(([a, b]) => {
      const [front, back] = [Math.min(a, b), Math.max(a, b)]
      const forAxes = (sizes: readonly number[]) => fc.tuple(...sizes.map(indexFor)) as Arbitrary<Index[]>
      return fc
        .tuple(forAxes(shape.slice(0, front)), forAxes(shape.slice(back)), fc.array(fc.nat(8), { maxLength: 3 }))
        .map(([first, last, nulls]) => {
          const all: Index[] = [...first, '...', ...last]
          for (const place of nulls) all.splice(place % (all.length + 1), 0, null)
          return all
        })
    })

  /** Python's positions of a range. */
  function positions(text: string, size: number): number[] {
    const [a, b, c] = text.split(':').map((part) => (part === '' ? undefined : Number(part)))
    const by = c ?? 1
    const from = (value: number | undefined, otherwise: number) =>
      value === undefined ? otherwise : value < 0 ? value + size : value
    const result: number[] = []
    for (let i = from(a, by > 0 ? 0 : size - 1); by > 0 ? i < from(b, size) : i > from(b, -1); i += by) {
      // Python cuts bounds to the axis, which for steps other than 1 moves where counting starts.
      if (by > 0 && i < 0) i = 0
      if (by < 0 && i > size - 1) i = size - 1
      if (by > 0 ? i >= Math.min(size, from(b, size)) : i <= Math.max(-1, from(b, -1))) break
      result.push(i)
    }
    return result
  }

  test('is what NumPy takes', () => {
    check(
      arrays(indices),
      (x, given) => wengert.at(x, ...given),
      (x, given) => {
        const spoken = given.filter((index) => index !== null && index !== '...').length
        const whole = given.flatMap((index): Index[] =>
          index === '...' ? new Array<Index>(x.shape.length - spoken).fill(':') : [index],
        )
        const chosen: (number[] | null)[] = []
        const shape: number[] = []
        let axis = 0
        for (const index of whole) {
          if (index === null) {
            shape.push(1)
            chosen.push(null)
            continue
          }
          const size = x.shape[axis++] as number
          if (typeof index === 'number') chosen.push([mod(index, size)])
          else {
            const own = positions(index as string, size)
            chosen.push(own)
            shape.push(own.length)
          }
        }
        return generate(shape, (position) => {
          let place = 0
          const own: number[] = []
          whole.forEach((index, i) => {
            const from = chosen[i] as number[] | null
            if (from === null) place++
            else
              own.push(typeof index === 'number' ? (from[0] as number) : (from[position[place++] as number] as number))
          })
          return at(x, own)
        })
      },
    )
  })

  test('of familiar forms', () => {
    const x = wengert.arange(12).reshape([3, 4])
    expect(x.at(1).toArray()).toEqual([4, 5, 6, 7])
    expect(x.at(-1, -1).item()).toBe(11)
    expect(x.at('1:', '::2').toArray()).toEqual([
      [4, 6],
      [8, 10],
    ])
    expect(x.at('...', 0).toArray()).toEqual([0, 4, 8])
    expect(x.at(null, '::-1', 0).toArray()).toEqual([[8, 4, 0]])
    const rows = tensor([[2, 0]], { dtype: 'int32' })
    expect(x.at(rows).shape).toEqual([1, 2, 4])
    expect(x.at(':', rows).toArray()).toEqual([[[2, 0]], [[6, 4]], [[10, 8]]])
    expect(x.at(0, rows).toArray()).toEqual([[2, 0]])
    expect(x.at(0, null, rows, null).shape).toEqual([1, 1, 2, 1])
    const i = 1
    expect(x.at(`${i}:${i + 2}`).shape).toEqual([2, 4])
  })
})
