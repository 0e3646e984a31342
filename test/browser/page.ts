// What the pages of browser.test.ts execute, in the window or in a worker of theirs.
import { getThreads, manualSeed, randn, setThreads } from '../../src/index.js'
import { MultiHeadAttention } from '../../src/nn/index.js'
import { workersPresent } from '../../src/runtime/threads.js'

export interface Report {
  readonly inWindow: boolean
  readonly isolated: boolean
  /** Threads by default, where more than one was to be had, and those granted when two were asked for. */
  readonly byDefault: number
  readonly granted: number
  /** Workers that have come. */
  readonly workers: number
  /** The loss of an attention layer and the sum of one of its gradients, by one thread and then by those granted. */
  readonly alone: readonly [loss: number, gradient: number]
  readonly together: readonly [loss: number, gradient: number]
}

manualSeed(1)
const layer = new MultiHeadAttention({ embedDim: 256, numHeads: 8 })
const x = randn([128, 256])

function step(): [number, number] {
  layer.zeroGrad()
  const loss = layer.forward(x).square().mean()
  loss.backward()
  return [loss.item(), layer.WQ.grad?.sum().item() ?? Number.NaN]
}

/** Workers of a page start when it waits. */
async function workersCome(count: number): Promise<void> {
  for (let i = 0; i < 1000 && workersPresent() < count; i++) {
    step()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function run(): Promise<Report> {
  const byDefault = getThreads()
  setThreads(1)
  const alone = step()
  const granted = setThreads(2)
  await workersCome(granted - 1)
  return {
    inWindow: 'window' in globalThis,
    isolated: crossOriginIsolated,
    byDefault,
    granted,
    workers: workersPresent(),
    alone,
    together: step(),
  }
}

export const report = run()
