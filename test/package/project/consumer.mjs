import { ones, setThreads, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { AdamW } from 'wengert/optim'
import { parseCheckpoint, serializeCheckpoint } from 'wengert/safetensors'
import { assertGradcheck } from 'wengert/testing'
import checkThreads from './threads.cjs'

const x = tensor([[1, 2, 3, 4]], { dtype: 'float64', requiresGrad: true })
const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, dtype: 'float64' })
layer.forward(x).square().mean().backward()
if (layer.WV.grad === null || x.grad === null) throw new Error('no gradient')
new AdamW(layer.parameters()).step()
assertGradcheck((input) => layer.forward(input), [x])
const saved = parseCheckpoint(serializeCheckpoint({ step: 1, model: layer.stateDict() }))
layer.loadStateDict(saved.model)
checkThreads({ ones, setThreads })
console.log('ESM works', process.version)
