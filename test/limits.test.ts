// Where numbers, nesting or user code go beyond what the library is usually asked for.
import { expect, test } from 'vitest'
import {
  ArgumentError,
  broadcastTo,
  MemoryError,
  matmul,
  noGrad,
  ones,
  randn,
  ShapeError,
  scaledDotProductAttention,
  sum,
  type Tensor,
  tapeOf,
  tensor,
  zeros,
} from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'

test('views of more elements than kernels can count are not reduced or multiplied, but refused', () => {
  const wide = ones([1]).broadcastTo([65536, 65536])
  expect(wide.shape).toEqual([65536, 65536])
  expect(() => wide.sum()).toThrow(ShapeError)
  expect(() => ones([3000, 1]).broadcastTo([3000, 1_000_000]).sum()).toThrow(/2147483647/)
  expect(() =>
    matmul(broadcastTo(ones([1, 1]), [1, 2 ** 32 + 3]), broadcastTo(ones([1, 1]), [2 ** 32 + 3, 1])),
  ).toThrow(ShapeError)
  expect(() => wide.data).toThrow(ShapeError)
  expect(() => wide.add(1)).toThrow(MemoryError)
  expect(String(wide)).toContain('…')
})

test('broadcast views that can be counted are summed without being written out', () => {
  expect(ones([1]).broadcastTo([20_000, 20_000]).sum().item()).toBe(4e8)
})

test('texts of many axes, of empty ones and of long tapes stay short and do not overflow the stack', () => {
  expect(String(ones(Array<number>(17).fill(2))).length).toBeLessThan(20_000)
  expect(String(zeros([1_000_000, 0])).length).toBeLessThan(200)
  let y = tensor(1, { requiresGrad: true })
  for (let i = 0; i < 150_000; i++) y = y.neg()
  expect(String(tapeOf(y)).split('\n')).toHaveLength(150_003)
})

test('lists nested without end are refused', () => {
  const endless: unknown[] = []
  endless.push(endless)
  expect(() => tensor(endless as never)).toThrow(ShapeError)
})

test('gradients of a batched product over nothing are zeros', () => {
  const a = ones([2, 5, 0], { requiresGrad: true })
  const b = ones([0, 3], { requiresGrad: true })
  a.matmul(b).sum().backward()
  expect(a.grad?.shape).toEqual([2, 5, 0])
  expect(b.grad?.shape).toEqual([0, 3])
})

test('queries of length 0 attend to all keys alike', () => {
  const values = tensor([[1], [3]])
  expect(scaledDotProductAttention(zeros([1, 0]), zeros([2, 0]), values).toArray()).toEqual([[2]])
})

test('what getters of parameters and options make stays readable', () => {
  const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 })
  const base = layer.WQ
  const kept: Tensor[] = []
  Object.defineProperty(layer, 'WQ', {
    get: () => {
      const doubled = base.scale(2)
      kept.push(doubled)
      return doubled
    },
  })
  const options = {
    get mask() {
      const mask = zeros([3, 3]).add(0.5)
      kept.push(mask)
      return mask
    },
  }
  const x = randn([3, 4])
  layer.forward(x, options).sum().backward()
  layer.attention(x, options)
  scaledDotProductAttention(x, x, x, options)
  expect(kept.length).toBeGreaterThanOrEqual(5)
  for (const tensor of kept) expect(tensor.data.every(Number.isFinite)).toBe(true)
})

test('errors of gt and ge name them, with the operands as given', () => {
  expect(() => ones([2, 3]).gt(ones([4]))).toThrow(/^gt: shapes \(2, 3\) and \(4,\)/)
  expect(() => ones([2, 3]).ge(ones([4]))).toThrow(/^ge: shapes \(2, 3\) and \(4,\)/)
  expect(tensor([1, 2, 3]).gt(2).toArray()).toEqual([false, false, true])
  expect(tensor([1, 2, 3]).ge(2).toArray()).toEqual([false, true, true])
})

test('noGrad refuses functions that go on after it has ended', () => {
  expect(() => noGrad(async () => 1)).toThrow(ArgumentError)
  expect(() => noGrad(3 as never)).toThrow(ArgumentError)
})

test('typed arrays in a list keep their dtype', () => {
  expect(tensor([new Float64Array([0.1]), new Float64Array([0.2])]).dtype).toBe('float64')
  expect(tensor([new Int32Array([1]), new Float32Array([2])]).dtype).toBe('float32')
})

test('options that are none of an operation are refused', () => {
  const x = ones([2, 2])
  expect(() => sum(x, 1 as never)).toThrow(/^sum: options are an object, for example \{ axis: 1 \}/)
  expect(() => x.sum({ dim: 1 } as never)).toThrow(/^sum: there is no option dim/)
  expect(() => scaledDotProductAttention(x, x, x, { causal: 'no' as never })).toThrow(ArgumentError)
})
