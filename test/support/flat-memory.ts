// Run in a process of its own: how much memory grows over what the arguments name, in MiB, as JSON.
import { manualSeed, noGrad, randn, type Tensor } from '../../src/index.js'
import { MultiHeadAttention } from '../../src/nn/index.js'

interface Memory {
  /** The resident set of the process. */
  readonly resident: number
  /** JavaScript objects and arrays that are alive. */
  readonly alive: number
}

function measure(): Memory {
  // The second pass waits for the first to give the arrays back.
  globalThis.gc?.()
  globalThis.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  return { resident: rss / 2 ** 20, alive: (heapUsed + arrayBuffers) / 2 ** 20 }
}

function growthOver(run: () => void): Memory {
  const before = measure()
  run()
  const after = measure()
  return { resident: after.resident - before.resident, alive: after.alive - before.alive }
}

/** Growth over 20,000 steps, after 8,000 in which the arena fills and garbage collection finds its rhythm. */
function growthOfLoop(step: () => void): Memory {
  for (let i = 0; i < 8000; i++) step()
  return growthOver(() => {
    for (let i = 0; i < 20_000; i++) step()
  })
}

manualSeed(1)
const layer = new MultiHeadAttention({ embedDim: 32, numHeads: 2 })
const x = randn([16, 32])
const held: Tensor[] = []

const measurements: Readonly<Record<string, () => Memory>> = {
  training: () =>
    growthOfLoop(() => {
      layer.forward(x).square().mean().backward()
      noGrad(() => {
        for (const parameter of layer.parameters()) {
          parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(0.01)))
        }
      })
      layer.zeroGrad()
    }),
  forward: () =>
    growthOfLoop(() => {
      layer.forward(x)
    }),
  held: () => {
    const row = randn([4096])
    return growthOver(() => {
      for (let i = 0; i < 10_000; i++) held.push(row.add(i))
    })
  },
}

const growths = process.argv.slice(2).map((name) => [name, measurements[name]?.()])
process.stdout.write(JSON.stringify(Object.fromEntries(growths)))
