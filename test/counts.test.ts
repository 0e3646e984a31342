// What the hot path makes and calls, counted: unlike times and heap sizes, the same in every run. A change that makes a
// step dearer shows here; one that makes it cheaper too, and then the numbers are to be lowered.
import { expect, test, vi } from 'vitest'
import { mseLoss, noGrad, randn, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { KernelFamily } from '../src/runtime/kernels.js'

const made = vi.hoisted(() => ({ tensors: 0, storages: 0, entries: 0 }))

vi.mock('../src/core/tensor.js', async (original) => {
  const module = await original<typeof import('../src/core/tensor.js')>()
  class Tensor extends module.Tensor {
    constructor(...given: ConstructorParameters<typeof module.Tensor>) {
      super(...given)
      made.tensors++
    }
  }
  return { ...module, Tensor }
})
vi.mock('../src/memory/storage.js', async (original) => {
  const module = await original<typeof import('../src/memory/storage.js')>()
  class Storage extends module.Storage {
    constructor(...given: ConstructorParameters<typeof module.Storage>) {
      super(...given)
      made.storages++
    }
  }
  return { ...module, Storage }
})
vi.mock('../src/core/node.js', async (original) => {
  const module = await original<typeof import('../src/core/node.js')>()
  class TapeNode<Attributes> extends module.TapeNode<Attributes> {
    constructor(...given: ConstructorParameters<typeof module.TapeNode<Attributes>>) {
      super(...given)
      made.entries++
    }
  }
  return { ...module, TapeNode }
})

interface Counts {
  /** Tensor objects, views included. */
  readonly tensors: number
  /** Places for numbers in linear memory. */
  readonly storages: number
  /** Entries of the tape. */
  readonly entries: number
  /** Calls of kernels. */
  readonly kernels: number
}

/** What a call of `step` costs once its constants are made; every further call must cost the same. */
function countsOf(step: () => unknown): Counts {
  const kernels = vi.spyOn(KernelFamily.prototype, 'get')
  const counts = Array.from({ length: 4 }, () => {
    Object.assign(made, { tensors: 0, storages: 0, entries: 0 })
    kernels.mockClear()
    step()
    return { ...made, kernels: kernels.mock.calls.length }
  })
  kernels.mockRestore()
  const [, first, ...others] = counts
  for (const other of others) expect(other).toEqual(first)
  return first as Counts
}

const [a, b, row] = [randn([4, 4]), randn([4, 4]), randn([4])]
const leaf = randn([4, 4], { requiresGrad: true })

test.each<[string, () => unknown, Counts]>([
  ['a sum', () => a.add(b), { tensors: 1, storages: 1, entries: 0, kernels: 1 }],
  ['a broadcast sum', () => a.add(row), { tensors: 1, storages: 1, entries: 0, kernels: 1 }],
  ['a number times a tensor', () => a.scale(3), { tensors: 1, storages: 1, entries: 0, kernels: 1 }],
  ['a total', () => a.sum(), { tensors: 1, storages: 1, entries: 0, kernels: 1 }],
  ['a mean', () => a.mean(), { tensors: 2, storages: 2, entries: 0, kernels: 2 }],
  ['a product', () => a.matmul(b), { tensors: 1, storages: 1, entries: 0, kernels: 1 }],
  ['a product with a transpose', () => a.matmul(b.transpose()), { tensors: 2, storages: 1, entries: 0, kernels: 1 }],
  ['views', () => a.transpose().broadcastTo([2, 4, 4]), { tensors: 2, storages: 0, entries: 0, kernels: 0 }],
  ['a recorded sum', () => leaf.add(b), { tensors: 1, storages: 1, entries: 1, kernels: 1 }],
  [
    'a recorded product, forward and backward',
    () => {
      leaf.matmul(a).backward(b)
      leaf.grad = null
    },
    { tensors: 2, storages: 2, entries: 1, kernels: 2 },
  ],
])('%s', (_, run, counts) => {
  expect(countsOf(run)).toEqual(counts)
})

test('a training step of a perceptron that learns XOR', () => {
  const x = tensor([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ])
  const target = tensor([[0], [1], [1], [0]])
  const shapes = [[2, 16], [16], [16, 1], [1]]
  const parameters = shapes.map((shape) => randn(shape, { requiresGrad: true }))
  const [w1, b1, w2, b2] = parameters as [Tensor, Tensor, Tensor, Tensor]
  const counts = countsOf(() => {
    mseLoss(x.matmul(w1).add(b1).tanh().matmul(w2).add(b2), target).backward()
    noGrad(() => {
      for (const parameter of parameters) {
        parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(0.1)))
        parameter.grad = null
      }
    })
  })
  expect(counts).toEqual({ tensors: 28, storages: 26, entries: 9, kernels: 30 })
})

test('multi-head attention, the mean of its squares, and their gradients', () => {
  const layer = new MultiHeadAttention({ embedDim: 32, numHeads: 4 })
  const x = randn([16, 32])
  const counts = countsOf(() => {
    layer.forward(x).square().mean().backward()
    layer.zeroGrad()
  })
  expect(counts).toEqual({ tensors: 38, storages: 22, entries: 16, kernels: 19 })
})
