import { type DType, type Shape, type Tensor, tensor, WengertError } from 'wengert'
import { DataLoader } from 'wengert/data'
import { MultiHeadAttention, type Parameter, type StateDict } from 'wengert/nn'
import { loadCheckpoint, saveCheckpoint } from 'wengert/node'
import { AdamW, type Optimizer } from 'wengert/optim'
import { gradcheck } from 'wengert/testing'

const dtype: DType = 'float64'
const x: Tensor = tensor([[1, 2, 3, 4]], { dtype, requiresGrad: true })
const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, dtype, scale: 'sqrt' })
const weight: Parameter = layer.WQ
const shape: Shape = weight.shape
const loss: Tensor = layer
  .forward(x, { causal: true })
  .add(1)
  .mean({ axis: [0, 1] })
loss.backward()
const gradient: Tensor | null = weight.grad
if (gradient === null || shape.length !== 2) throw new Error('no gradient')
// @ts-expect-error: axes are numbers
const mistake = () => x.sum({ axis: 'rows' })
try {
  mistake()
  throw new Error('a wrong axis was accepted')
} catch (error) {
  if (!(error instanceof WengertError)) throw error
}
if (!gradcheck((input) => layer.forward(input), [x]).ok) throw new Error('gradcheck failed')
for (const batch of new DataLoader([x], { collate: ([item]) => item })) batch?.sum()
const optimizer: Pick<Optimizer<{ lr: number }>, 'step' | 'zeroGrad'> = new AdamW(layer.parameters(), { lr: 0.1 })
const before = weight.data
optimizer.step()
if (String(before) === String(weight.data)) throw new Error('no step')
saveCheckpoint('run.safetensors', { step: 1, model: layer.stateDict() })
const saved = loadCheckpoint<{ step: number; model: StateDict }>('run.safetensors')
layer.loadStateDict(saved.model)
if (saved.step !== 1) throw new Error('the checkpoint is another')
console.log('TypeScript works')
