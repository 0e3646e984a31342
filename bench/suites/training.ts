import { mseLoss, noGrad, randn, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { SGD } from 'wengert/optim'
import type { Case, Suite } from '../suite.js'

/** Products of the four projections, the scores and the mixing. */
const forwardFlops = (rows: number, dim: number) => 8 * rows * dim * dim + 4 * rows * rows * dim

/** y, mean(y²) and the gradients of the weights, whose products are twice those of y less the input's gradient. */
function attention(rows: number, embedDim: number, numHeads: number): Case {
  const layer = new MultiHeadAttention({ embedDim, numHeads })
  const x = randn([rows, embedDim])
  return {
    run() {
      layer.forward(x).square().mean().backward()
      layer.zeroGrad()
    },
    flops: 3 * forwardFlops(rows, embedDim) - 6 * rows * embedDim * embedDim,
  }
}

function attentionForward(rows: number, embedDim: number, numHeads: number): Case {
  const layer = new MultiHeadAttention({ embedDim, numHeads })
  const x = randn([rows, embedDim])
  return { run: () => noGrad(() => layer.forward(x)), flops: forwardFlops(rows, embedDim) }
}

function xor(): Case {
  const x = tensor([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ])
  const target = tensor([[0], [1], [1], [0]])
  const leaf = (shape: number[]) => randn(shape, { requiresGrad: true })
  const [w1, b1, w2, b2] = [leaf([2, 16]), leaf([16]), leaf([16, 1]), leaf([1])] as [Tensor, Tensor, Tensor, Tensor]
  const optimizer = new SGD([w1, b1, w2, b2], { lr: 0.1 })
  return {
    run() {
      mseLoss(x.matmul(w1).add(b1).tanh().matmul(w2).add(b2), target).backward()
      optimizer.step()
      optimizer.zeroGrad()
    },
  }
}

export const trainingSuites: Readonly<Record<string, () => Suite>> = {
  'multi-head attention, forward and backward': () => ({
    'toy: N 16, D 32, H 4': attention(16, 32, 4),
    'mid: N 64, D 128, H 8': attention(64, 128, 8),
    'ViT-B: N 196, D 768, H 12': attention(196, 768, 12),
    'ViT-B, forward only': attentionForward(196, 768, 12),
  }),
  training: () => ({ 'XOR step: MLP 2-16-1, batch 4': xor() }),
}
