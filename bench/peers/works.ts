// The works to compare and their inputs.
import { manualSeed, randn } from '../../dist/index.js'

export interface Attention {
  readonly kind: 'attention'
  readonly rows: number
  readonly embedDim: number
  readonly heads: number
  /** With mean(y²) and its gradients with respect to the four weights. */
  readonly backward: boolean
}

export type Task =
  | Attention
  | { readonly kind: 'matmul'; readonly size: number }
  | { readonly kind: 'xor' }
  | { readonly kind: 'softmax'; readonly shape: readonly [number, number, number] }
  | { readonly kind: 'add' | 'exp' | 'gelu'; readonly size: number }

export interface Work {
  /** By which it is chosen. */
  readonly id: string
  readonly title: string
  readonly task: Task
}

const attention = (rows: number, embedDim: number, heads: number, backward = true): Attention => ({
  kind: 'attention',
  rows,
  embedDim,
  heads,
  backward,
})

export const works: readonly Work[] = [
  { id: 'mha-toy', title: 'MHA toy: N 16, D 32, H 4', task: attention(16, 32, 4) },
  { id: 'mha-mid', title: 'MHA mid: N 64, D 128, H 8', task: attention(64, 128, 8) },
  { id: 'mha-vit', title: 'MHA ViT-B: N 196, D 768, H 12', task: attention(196, 768, 12) },
  { id: 'mha-vit-forward', title: 'MHA ViT-B, forward only', task: attention(196, 768, 12, false) },
  { id: 'matmul-64', title: 'matmul 64³', task: { kind: 'matmul', size: 64 } },
  { id: 'matmul-256', title: 'matmul 256³', task: { kind: 'matmul', size: 256 } },
  { id: 'matmul-1024', title: 'matmul 1024³', task: { kind: 'matmul', size: 1024 } },
  { id: 'xor', title: 'XOR step: MLP 2-16-1, batch 4', task: { kind: 'xor' } },
  { id: 'softmax', title: 'softmax 12 × 196 × 196', task: { kind: 'softmax', shape: [12, 196, 196] } },
  { id: 'add', title: 'add, 2²⁰ floats', task: { kind: 'add', size: 2 ** 20 } },
  { id: 'exp', title: 'exp, 2²⁰ floats', task: { kind: 'exp', size: 2 ** 20 } },
  { id: 'gelu', title: 'gelu, 2²⁰ floats', task: { kind: 'gelu', size: 2 ** 20 } },
]

export interface Input {
  readonly shape: number[]
  readonly data: Float32Array<ArrayBuffer>
}

const XOR = { x: [0, 0, 0, 1, 1, 0, 1, 1], target: [0, 1, 1, 0] }

/** Learning rate of the XOR step. */
export const LEARNING_RATE = 0.1

/** The inputs of a task, the same for everybody, in the order in which they are written in the contestants. */
export function inputsOf(task: Task): Input[] {
  manualSeed(1)
  const normal = (shape: number[], scale = 1): Input => ({
    shape,
    data: randn(shape).scale(scale).data as Float32Array<ArrayBuffer>,
  })
  switch (task.kind) {
    case 'attention': {
      const { rows, embedDim: dim } = task
      const weights = Array.from({ length: 4 }, () => normal([dim, dim], dim ** -0.5))
      return [normal([rows, dim]), ...weights]
    }
    case 'matmul':
      return [normal([task.size, task.size]), normal([task.size, task.size])]
    case 'xor': {
      const table = [
        { shape: [4, 2], data: Float32Array.from(XOR.x) },
        { shape: [4, 1], data: Float32Array.from(XOR.target) },
      ]
      return [...table, normal([2, 16]), normal([16]), normal([16, 1], 0.25), normal([1])]
    }
    case 'softmax':
      return [normal([...task.shape])]
    case 'add':
      return [normal([task.size]), normal([task.size])]
    case 'exp':
    case 'gelu':
      return [normal([task.size])]
  }
}
