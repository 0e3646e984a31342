// The laws of positions and of rotary embedding.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  arange,
  DTypeError,
  dot,
  manualSeed,
  norm,
  ones,
  randn,
  ShapeError,
  type Tensor,
  tensor,
} from 'wengert'
import { rotary, rotary2d, sinusoidalPositions, sinusoidalPositions2d } from 'wengert/nn'
import { expectError, expectNear, expectSame, untyped } from '../support/expectations.js'

const row = (x: Tensor, n: number) => x.slice(n, n + 1).flatten()
const float64 = { dtype: 'float64' } as const
const halves = fc.integer({ min: 1, max: 5 })
const bases = fc.constantFrom(10, 100, 10_000)

describe('rotary', () => {
  test('products depend on the distance alone', () => {
    const position = fc.integer({ min: -300, max: 300 })
    fc.assert(
      fc.property(halves, bases, position, position, position, fc.nat(), (half, base, m, n, shift, seed) => {
        manualSeed(seed)
        const [q, k] = [randn([1, 2 * half], float64), randn([1, 2 * half], float64)]
        const at = (x: Tensor, place: number) => rotary(x, { base, positions: tensor([place]) }).flatten()
        const here = dot(at(q, m), at(k, n)).item()
        expect(dot(at(q, m + shift), at(k, n + shift)).item()).toBeCloseTo(here, 8)
      }),
    )
  })

  test('keeps lengths, and angles between features at one place', () => {
    fc.assert(
      fc.property(halves, fc.integer({ min: 1, max: 6 }), bases, fc.nat(), (half, count, base, seed) => {
        manualSeed(seed)
        const [x, y] = [randn([2, count, 2 * half], float64), randn([2, count, 2 * half], float64)]
        const [a, b] = [rotary(x, { base }), rotary(y, { base })]
        const rows = { axis: -1 } as const
        expectNear(norm(a, rows), norm(x, rows), { absolute: 1e-12 })
        expectNear(a.mul(b).sum(rows), x.mul(y).sum(rows), { absolute: 1e-12 })
      }),
    )
  })

  test('turns nothing at position 0, and turns add up', () => {
    fc.assert(
      fc.property(halves, fc.nat(50), fc.nat(50), fc.nat(), (half, m, n, seed) => {
        manualSeed(seed)
        const x = randn([3, 2 * half], float64)
        const by = (z: Tensor, place: number) => rotary(z, { positions: tensor([place, place, place]) })
        expectSame(by(x, 0), x)
        expectNear(by(by(x, m), n), by(x, m + n), { absolute: 1e-12 })
      }),
    )
  })

  test('angles are exact in float32, too', () => {
    const x = ones([1, 2])
    const y = rotary(x, { positions: tensor([1_000_003], { dtype: 'int32' }) })
    expect(y.dtype).toBe('float32')
    expect(y.data[1]).toBeCloseTo(Math.sin(1_000_003) + Math.cos(1_000_003), 6)
  })

  test('in a grid, products depend on the distances in rows and columns alone', () => {
    const size = fc.integer({ min: 2, max: 5 })
    fc.assert(
      fc.property(halves, size, size, bases, fc.nat(), (half, rows, columns, base, seed) => {
        manualSeed(seed)
        const dim = 4 * half
        const [q, k] = [randn([dim], float64), randn([dim], float64)]
        const everywhere = (x: Tensor) => rotary2d(x.broadcastTo([rows * columns, dim]), { rows, columns, base })
        const products = everywhere(q).matmul(everywhere(k).transpose()).toArray() as number[][]
        const known = new Map<string, number>()
        for (let m = 0; m < rows * columns; m++) {
          for (let n = 0; n < rows * columns; n++) {
            const across = (m % columns) - (n % columns)
            const distance = `${Math.floor(m / columns) - Math.floor(n / columns)} ${across}`
            const product = products[m]?.[n] as number
            expect(product).toBeCloseTo(known.get(distance) ?? product, 10)
            known.set(distance, product)
          }
        }
      }),
    )
  })

  test('in a grid of one column, the first half is turned as in a row, and the second is not', () => {
    const x = randn([5, 8], float64)
    const y = rotary2d(x, { rows: 5, columns: 1 })
    const [left, right] = x.split(4, -1) as [Tensor, Tensor]
    expectSame(y.slice([0, 0], [5, 4]), rotary(left))
    expectSame(y.slice([0, 4], [5, 8]), right)
  })

  test('refuses what cannot be', () => {
    expectError(() => rotary(ones([2, 3])), ArgumentError, 'rotary', 'divisible by 2')
    expectError(() => rotary(ones([4])), ShapeError, 'rotary', '(4,)')
    expectError(() => rotary(arange(4).reshape([2, 2])), DTypeError, 'rotary', 'int32')
    expectError(() => rotary(ones([2, 4]), { positions: ones([3]) }), ShapeError, 'rotary', '(2,)', '(3,)')
    expectError(() => rotary(ones([2, 4]), { positions: untyped([0, 1]) }), ArgumentError, 'rotary', 'positions')
    expectError(() => rotary(ones([2, 4]), { positions: ones([2], { dtype: 'bool' }) }), DTypeError, 'rotary', 'bool')
    expectError(() => rotary(ones([2, 4]), { base: -1 }), ArgumentError, 'rotary', 'base')
    expectError(() => rotary2d(ones([6, 6]), { rows: 2, columns: 3 }), ArgumentError, 'rotary2d', 'divisible by 4')
    expectError(() => rotary2d(ones([6, 4]), { rows: 2, columns: 2 }), ShapeError, 'rotary2d', '2 × 2', '(6, 4)')
    expectError(() => rotary2d(ones([6, 4]), untyped(undefined)), ArgumentError, 'rotary2d', 'rows')
  })
})

describe('sinusoidal positions', () => {
  test('all have the same length, and products depend on the distance alone', () => {
    fc.assert(
      fc.property(halves, bases, fc.nat(30), fc.nat(30), fc.nat(30), (half, base, m, n, shift) => {
        const table = sinusoidalPositions(61, 2 * half, { base, dtype: 'float64' })
        const product = (a: number, b: number) => dot(row(table, a), row(table, b)).item()
        expect(product(m, m)).toBeCloseTo(half, 10)
        expect(product(m + shift, n + shift)).toBeCloseTo(product(m, n), 10)
      }),
    )
  })

  test('are rotary embedding of the first position, sines before cosines', () => {
    const table = sinusoidalPositions(9, 6, float64)
    const turned = rotary(tensor([1, 0, 1, 0, 1, 0], float64).broadcastTo([9, 6]))
    const pairs = (x: Tensor, place: number) => x.reshape([27, 2]).slice([0, place], [27, place + 1])
    expectNear(pairs(table, 0), pairs(turned, 1), { absolute: 1e-12 })
    expectNear(pairs(table, 1), pairs(turned, 0), { absolute: 1e-12 })
  })

  test('in a grid: every place its own, rows in the first half, columns in the second', () => {
    fc.assert(
      fc.property(halves, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), (half, rows, columns) => {
        const dim = 4 * half
        const table = sinusoidalPositions2d(rows, columns, dim)
        expect(table.shape).toEqual([rows * columns, dim])
        const [row1d, column1d] = [sinusoidalPositions(rows, dim / 2), sinusoidalPositions(columns, dim / 2)]
        const seen = new Set<string>()
        for (let place = 0; place < rows * columns; place++) {
          const [left, right] = row(table, place).split(dim / 2) as [Tensor, Tensor]
          expectSame(left, row(row1d, Math.floor(place / columns)))
          expectSame(right, row(column1d, place % columns))
          seen.add(row(table, place).data.join())
        }
        expect(seen.size).toBe(rows * columns)
      }),
    )
  })

  test('may be none', () => expect(sinusoidalPositions(0, 2).shape).toEqual([0, 2]))
})
