// Run in a process of its own: trains a small attention layer with dropout on random data up to a step, from the
// beginning or from a checkpoint, and saves a checkpoint.
import { argv } from 'node:process'
import { DataLoader, type DataLoaderState } from '../../src/data/index.js'
import {
  dropout,
  type GeneratorState,
  getGeneratorState,
  manualSeed,
  mseLoss,
  randn,
  setGeneratorState,
  tensor,
} from '../../src/index.js'
import { MultiHeadAttention, type StateDict } from '../../src/nn/index.js'
import { loadCheckpoint, saveCheckpoint } from '../../src/node/index.js'
import {
  AdamW,
  CosineAnnealingLR,
  clipGradNorm,
  type OptimizerState,
  type ScheduleState,
} from '../../src/optim/index.js'

interface Run {
  readonly step: number
  readonly bestLoss: number
  readonly model: StateDict
  readonly optimizer: OptimizerState
  readonly schedule: ScheduleState
  readonly loader: DataLoaderState
  readonly generator: GeneratorState
}

const [, , from, to, lastStep] = argv
// Without a checkpoint the run begins at a seed; with one, the seed is another, and must not matter.
manualSeed(from === '' ? 1 : 2)
const model = new MultiHeadAttention({ embedDim: 8, numHeads: 2, bias: true })
const optimizer = new AdamW(model.parameters(), { lr: 0.01 })
const schedule = new CosineAnnealingLR(optimizer, { tMax: 40 })
const items = Array.from({ length: 14 }, (_, item) => item)
const loader = new DataLoader(items, { batchSize: 4, shuffle: true, seed: from === '' ? 1 : 2 })
let step = 0
let bestLoss = Number.POSITIVE_INFINITY
if (from !== undefined && from !== '') {
  const saved = loadCheckpoint<Run>(from)
  model.loadStateDict(saved.model)
  optimizer.loadStateDict(saved.optimizer)
  schedule.loadStateDict(saved.schedule)
  loader.loadStateDict(saved.loader)
  setGeneratorState(saved.generator)
  step = saved.step
  bestLoss = saved.bestLoss
}

function save(): void {
  const state: Run = {
    step,
    bestLoss,
    model: model.stateDict(),
    optimizer: optimizer.stateDict(),
    schedule: schedule.stateDict(),
    loader: loader.stateDict(),
    generator: getGeneratorState(),
  }
  saveCheckpoint(to ?? '', state)
}

while (step < Number(lastStep)) {
  for (const batch of loader) {
    const x = randn([batch.length, 6, 8]).add(tensor(batch, { shape: [batch.length, 1, 1] }).scale(0.1))
    const loss = mseLoss(dropout(model.forward(x), { p: 0.2 }), x)
    optimizer.zeroGrad()
    loss.backward()
    clipGradNorm(model.parameters(), 1)
    optimizer.step()
    schedule.step()
    bestLoss = Math.min(bestLoss, loss.item())
    step++
    if (step === Number(lastStep)) {
      save()
      break
    }
  }
}
