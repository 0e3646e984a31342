// Making tensors, and reading what is in them.
import { describe, expect, test } from 'vitest'
import {
  arange,
  type DType,
  eye,
  full,
  fullLike,
  isTensor,
  linspace,
  oneHot,
  ones,
  onesLike,
  Tensor,
  tensor,
  zeros,
  zerosLike,
} from 'wengert'

describe('tensor', () => {
  test('takes a number as a scalar', () => {
    const x = tensor(2.5)
    expect([x.shape, x.dtype, x.size, x.ndim, x.item()]).toEqual([[], 'float32', 1, 0, 2.5])
    expect(x.toArray()).toBe(2.5)
  })

  test('takes nested arrays', () => {
    const numbers = [
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    ]
    const x = tensor(numbers)
    expect(x.shape).toEqual([1, 3, 2])
    expect(x.toArray()).toEqual(numbers)
    expect(x.data).toEqual(new Float32Array([1, 2, 3, 4, 5, 6]))
  })

  test('takes booleans as bool', () => {
    const x = tensor([[true, false]])
    expect([x.shape, x.dtype]).toEqual([[1, 2], 'bool'])
    expect(x.toArray()).toEqual([[true, false]])
    expect(x.data).toEqual(new Uint8Array([1, 0]))
    expect(tensor(true).toArray()).toBe(true)
    expect(tensor(true).item()).toBe(1)
  })

  test('takes booleans among numbers as 0 and 1', () => {
    const x = tensor([true, 2, false])
    expect([x.dtype, x.toArray()]).toEqual(['float32', [1, 2, 0]])
  })

  test.each([
    [new Float32Array([1.5, 2]), 'float32'],
    [new Float64Array([1.5, 2]), 'float64'],
    [new Int32Array([-1, 2]), 'int32'],
    [new Int16Array([-1, 2]), 'int32'],
    [new Int8Array([-1, 2]), 'int32'],
    [new Uint8Array([255, 2]), 'int32'],
    [new Uint8ClampedArray([255, 2]), 'int32'],
    [new Uint16Array([65535, 2]), 'int32'],
  ] as const)('takes %o as %s', (array, dtype) => {
    const x = tensor(array)
    expect([x.dtype, x.shape, [...x.data]]).toEqual([dtype, [2], [...array]])
  })

  test('keeps every number of a Uint32Array', () => {
    const values = [0, 1, 2 ** 24 + 1, 2 ** 32 - 1]
    const x = tensor(new Uint32Array(values), { dtype: 'float64' })
    expect([...x.data]).toEqual(values)
  })

  test.runIf('Float16Array' in globalThis)('takes a Float16Array as float32', () => {
    const { Float16Array } = globalThis as unknown as { Float16Array: new (values: number[]) => ArrayBufferView }
    const x = tensor(new Float16Array([1.5, -0.25]))
    expect([x.dtype, [...x.data]]).toEqual(['float32', [1.5, -0.25]])
  })

  test('takes a part of a buffer, and typed arrays as rows', () => {
    const buffer = new Float64Array([9, 1, 2, 3, 4, 9])
    expect(tensor(buffer.subarray(1, 5), { shape: [2, 2] }).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ])
    expect(tensor([buffer.subarray(1, 3), buffer.subarray(3, 5)]).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ])
  })

  test('copies: neither side sees what the other becomes', () => {
    const array = new Float32Array([1, 2])
    const x = tensor(array)
    array[0] = 9
    expect(x.toArray()).toEqual([1, 2])
    x.data[1] = 9
    expect(x.toArray()).toEqual([1, 2])
    const shape = [1, 2]
    const y = tensor(array, { shape })
    shape[0] = 7
    expect(y.shape).toEqual([1, 2])
  })

  test.each([
    [[], [0]],
    [[[]], [1, 0]],
    [
      [[], []],
      [2, 0],
    ],
    [
      [[[]], [[]]],
      [2, 1, 0],
    ],
    [new Float64Array(0), [0]],
  ] as const)('takes %o as the empty shape %o', (data, shape) => {
    const x = tensor(data)
    expect([x.shape, x.size, x.data.length]).toEqual([shape, 0, 0])
  })

  test('arranges numbers in a shape with sizes of 0', () => {
    const x = tensor([], { shape: [2, 0, 3] })
    expect([x.shape, x.toArray()]).toEqual([
      [2, 0, 3],
      [[], []],
    ])
  })

  test.each([
    ['float32', [1.5, -0, Number.NaN, Number.POSITIVE_INFINITY]],
    ['float64', [0.1, -0, Number.NaN, Number.NEGATIVE_INFINITY]],
    ['int32', [0, -(2 ** 31), 2 ** 31 - 1]],
  ] as const)('%s gives back the numbers it was given', (dtype, values) => {
    const x = tensor([...values], { dtype })
    expect([...x.data]).toEqual(values)
    expect(x.toArray()).toEqual(values)
  })

  test('float32 rounds to the nearest', () => {
    expect(tensor(0.1).item()).toBe(Math.fround(0.1))
  })

  test('bool takes anything but 0 as true', () => {
    expect(tensor([0, -0, 1, -2.5, Number.NaN], { dtype: 'bool' }).toArray()).toEqual([false, false, true, true, true])
  })

  test('requiresGrad makes a leaf', () => {
    const x = tensor([1, 2], { requiresGrad: true })
    expect([x.requiresGrad, x.isLeaf, x.grad]).toEqual([true, true, null])
    expect([tensor(1).requiresGrad, tensor(1).isLeaf]).toEqual([false, true])
    expect(x.requiresGrad_(false).requiresGrad).toBe(false)
  })
})

describe('filled tensors', () => {
  test.each<[string, (options?: { dtype?: DType }) => Tensor, number]>([
    ['zeros', (options) => zeros([2, 3], options), 0],
    ['ones', (options) => ones([2, 3], options), 1],
    ['full', (options) => full([2, 3], 7, options), 7],
    ['zerosLike', (options) => zerosLike(ones([2, 3]), options), 0],
    ['onesLike', (options) => onesLike(zeros([2, 3]), options), 1],
    ['fullLike', (options) => fullLike(zeros([2, 3]), 7, options), 7],
  ])('%s in every dtype', (_, make, value) => {
    expect(make().dtype).toBe('float32')
    for (const dtype of ['float32', 'float64', 'int32', 'bool'] as const) {
      const x = make({ dtype })
      expect([x.dtype, x.shape]).toEqual([dtype, [2, 3]])
      expect([...x.data]).toEqual(Array(6).fill(dtype === 'bool' ? Number(value !== 0) : value))
    }
  })

  test('the like ones keep the dtype, but neither the gradient nor the numbers', () => {
    const x = tensor([1, 2], { dtype: 'float64', requiresGrad: true })
    for (const y of [zerosLike(x), onesLike(x), fullLike(x, 3)]) {
      expect([y.dtype, y.requiresGrad]).toEqual(['float64', false])
    }
    expect(zerosLike(x, { requiresGrad: true }).requiresGrad).toBe(true)
  })

  test('sizes of 0 and rank 0', () => {
    expect(zeros([0, 3]).toArray()).toEqual([])
    expect(ones([]).item()).toBe(1)
    expect(full([], Number.NaN).item()).toBeNaN()
  })

  test('eye', () => {
    expect(eye(2).toArray()).toEqual([
      [1, 0],
      [0, 1],
    ])
    expect(eye(2, 3, { dtype: 'int32' }).toArray()).toEqual([
      [1, 0, 0],
      [0, 1, 0],
    ])
    expect(eye(3, 1).toArray()).toEqual([[1], [0], [0]])
    expect(eye(0).shape).toEqual([0, 0])
  })

  test('oneHot', () => {
    const x = oneHot(tensor([[2], [0]], { dtype: 'int32' }), 3)
    expect([x.shape, x.dtype]).toEqual([[2, 1, 3], 'float32'])
    expect(x.toArray()).toEqual([[[0, 0, 1]], [[1, 0, 0]]])
    expect(oneHot(tensor(1, { dtype: 'int32' }), 2, { dtype: 'bool' }).toArray()).toEqual([false, true])
    expect(oneHot(tensor([], { dtype: 'int32' }), 2).shape).toEqual([0, 2])
  })
})

describe('ranges', () => {
  test.each([
    [arange(4), [0, 1, 2, 3]],
    [arange(1, 4), [1, 2, 3]],
    [arange(4, 0, -1), [4, 3, 2, 1]],
    [arange(0, 7, 3), [0, 3, 6]],
    [arange(0), []],
    [arange(3, 1), []],
  ])('arange of whole numbers is int32: %s', (x, values) => {
    expect([x.dtype, x.toArray()]).toEqual(['int32', values])
  })

  test('arange of others is float32', () => {
    const x = arange(0, 1, 0.25)
    expect([x.dtype, x.toArray()]).toEqual(['float32', [0, 0.25, 0.5, 0.75]])
    expect(arange(3, { dtype: 'float64' }).dtype).toBe('float64')
    expect(arange(1, 3, { dtype: 'float64', requiresGrad: true }).requiresGrad).toBe(true)
  })

  test('linspace hits both ends and is symmetric', () => {
    expect(linspace(0, 1, 5).toArray()).toEqual([0, 0.25, 0.5, 0.75, 1])
    expect(linspace(3, 3, 2).toArray()).toEqual([3, 3])
    expect(linspace(2, 5, 1).toArray()).toEqual([2])
    expect(linspace(2, 5, 0).toArray()).toEqual([])
    const values = [...linspace(-0.7, 0.7, 11, { dtype: 'float64' }).data]
    expect(values.at(0)).toBe(-0.7)
    expect(values.at(-1)).toBe(0.7)
    expect([...values].reverse()).toEqual(values.map((value) => 0 - value))
  })
})

describe('reading', () => {
  test('data is row-major also behind views', () => {
    const x = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect([...x.transpose().data]).toEqual([1, 4, 2, 5, 3, 6])
    expect([...tensor([[1], [2]]).broadcastTo([2, 2, 2]).data]).toEqual([1, 1, 2, 2, 1, 1, 2, 2])
    expect(x.transpose().toArray()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ])
    expect(
      tensor([[7]])
        .broadcastTo([1, 1, 1])
        .item(),
    ).toBe(7)
    expect(tensor(5).broadcastTo([2, 0]).data).toEqual(new Float32Array(0))
  })

  test('data is of the kind of the dtype', () => {
    expect(tensor([1]).data).toBeInstanceOf(Float32Array)
    expect(tensor([1], { dtype: 'float64' }).transpose(0, 0).data).toBeInstanceOf(Float64Array)
    expect(tensor([1], { dtype: 'int32' }).data).toBeInstanceOf(Int32Array)
    expect(tensor([[true, false]]).transpose().data).toBeInstanceOf(Uint8Array)
  })

  test('isTensor', () => {
    expect(isTensor(tensor(1))).toBe(true)
    expect(tensor(1)).toBeInstanceOf(Tensor)
    for (const other of [1, null, undefined, [], {}, new Float32Array(1)]) expect(isTensor(other)).toBe(false)
  })
})
