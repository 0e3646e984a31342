// Tensors as text.
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { arange, eye, type Tensor, tensor, zeros } from 'wengert'

describe('the text of a tensor', () => {
  test.each<[string, Tensor, string]>([
    ['a scalar', tensor(3), 'Tensor(3, shape (), float32)'],
    ['a fraction', tensor(0.5), 'Tensor(0.5, shape (), float32)'],
    ['a vector', tensor([1, 2, 3]), 'Tensor([1, 2, 3], shape (3,), float32)'],
    ['nothing', tensor([]), 'Tensor([], shape (0,), float32)'],
    ['aligned columns', tensor([1.5, 2, -3.25]), 'Tensor([ 1.50,  2.00, -3.25], shape (3,), float32)'],
    ['at most four decimals', tensor([1 / 3, 2 / 3]), 'Tensor([0.3333, 0.6667], shape (2,), float32)'],
    ['whole numbers', tensor([1, -20], { dtype: 'int32' }), 'Tensor([  1, -20], shape (2,), int32)'],
    ['booleans', tensor([true, false]), 'Tensor([ true, false], shape (2,), bool)'],
    ['a small number beside 1', tensor([1e-9, 1]), 'Tensor([1.0000e-9, 1.0000e+0], shape (2,), float32)'],
    ['a large number', tensor(1e10), 'Tensor(1.0000e+10, shape (), float32)'],
    [
      'what is not finite',
      tensor([Number.NaN, Number.POSITIVE_INFINITY, 1.5, Number.NEGATIVE_INFINITY]),
      'Tensor([      NaN,  Infinity,       1.5, -Infinity], shape (4,), float32)',
    ],
    ['nothing but NaN', tensor([Number.NaN]), 'Tensor([NaN], shape (1,), float32)'],
    ['both zeros', tensor([-0, 0]), 'Tensor([-0,  0], shape (2,), float32)'],
    ['both zeros beside a fraction', tensor([-0, 0.5]), 'Tensor([-0.0,  0.5], shape (2,), float32)'],
    [
      'a leaf',
      tensor([0.1], { dtype: 'float64', requiresGrad: true }),
      'Tensor([0.1], shape (1,), float64, requiresGrad)',
    ],
    [
      'the result of an operation',
      tensor(1, { requiresGrad: true }).add(1),
      'Tensor(2, shape (), float32, requiresGrad)',
    ],
  ])('%s', (_, x, text) => {
    expect(x.toString()).toBe(text)
    expect(String(x)).toBe(text)
    expect(inspect(x)).toBe(text)
  })

  test('rows stand below each other, and matrices apart', () => {
    expect(String(eye(2))).toBe('Tensor([[1, 0],\n        [0, 1]], shape (2, 2), float32)')
    expect(String(arange(8).reshape([2, 2, 2]))).toBe(
      `Tensor([[[0, 1],
         [2, 3]],

        [[4, 5],
         [6, 7]]], shape (2, 2, 2), int32)`,
    )
  })

  test('a view shows what it views', () => {
    expect(String(arange(4).reshape([2, 2]).transpose())).toBe('Tensor([[0, 2],\n        [1, 3]], shape (2, 2), int32)')
    expect(String(tensor([[1]]).broadcastTo([2, 2]))).toBe('Tensor([[1, 1],\n        [1, 1]], shape (2, 2), float32)')
  })

  test('up to 1,000 numbers are shown whole, more are cut to the edges', () => {
    expect(String(arange(1000)).match(/\d+/g)).toHaveLength(1002)
    expect(String(arange(1001))).toBe('Tensor([   0,    1,    2, …,  998,  999, 1000], shape (1001,), int32)')
    expect(String(arange(3000).reshape([30, 100]))).toBe(
      `Tensor([[   0,    1,    2, …,   97,   98,   99],
        [ 100,  101,  102, …,  197,  198,  199],
        [ 200,  201,  202, …,  297,  298,  299],
        …,
        [2700, 2701, 2702, …, 2797, 2798, 2799],
        [2800, 2801, 2802, …, 2897, 2898, 2899],
        [2900, 2901, 2902, …, 2997, 2998, 2999]], shape (30, 100), int32)`,
    )
    expect(String(zeros([7, 300]))).toContain('…')
  })

  test('the columns are aligned by what is shown alone', () => {
    const numbers = new Float32Array(2000)
    numbers[1000] = 123456.75
    expect(String(tensor(numbers))).toBe('Tensor([0, 0, 0, …, 0, 0, 0], shape (2000,), float32)')
  })

  test('no elements', () => {
    expect(String(zeros([0, 2]))).toBe('Tensor([], shape (0, 2), float32)')
    expect(String(zeros([2, 0]))).toBe('Tensor([[],\n        []], shape (2, 0), float32)')
    expect(String(zeros([5000, 0])).length).toBeLessThan(200)
  })

  test('every row is as long as the others', () => {
    const x = arange(12, { dtype: 'float32' }).reshape([3, 4]).square().scale(-0.25)
    const rows = String(x).split('\n')
    const ends = rows.map((row) => row.indexOf(']'))
    expect(new Set(ends).size).toBe(1)
  })
})
