// Run in a process of its own: how much the resident set grows over what the arguments name, in MiB, as JSON.
import { manualSeed, noGrad, randn, type Tensor } from '../../src/index.js'
import { MultiHeadAttention } from '../../src/nn/index.js'

/** Resident MiB after garbage has been collected. */
function resident(): number {
  globalThis.gc?.()
  return process.memoryUsage.rss() / 2 ** 20
}

/** Growth over 20,000 steps, after 8,000 in which the arena fills and garbage collection finds its rhythm. */
function growthOver(step: () => void): number {
  for (let i = 0; i < 8000; i++) step()
  const before = resident()
  for (let i = 0; i < 20_000; i++) step()
  return resident() - before
}

manualSeed(1)
const layer = new MultiHeadAttention({ embedDim: 32, numHeads: 2 })
const x = randn([16, 32])

const measurements: Readonly<Record<string, () => number>> = {
  training: () =>
    growthOver(() => {
      layer.forward(x).square().mean().backward()
      noGrad(() => {
        for (const parameter of layer.parameters()) {
          parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(0.01)))
        }
      })
      layer.zeroGrad()
    }),
  forward: () =>
    growthOver(() => {
      layer.forward(x)
    }),
  held: () => {
    const row = randn([4096])
    const before = resident()
    const held = Array.from({ length: 10_000 }, (_, i) => row.add(i))
    const growth = resident() - before
    if (held.at(-1)?.size !== 4096) throw new Error('the results must be held until here')
    return growth
  },
}

const growths = process.argv.slice(2).map((name) => [name, measurements[name]?.()])
process.stdout.write(JSON.stringify(Object.fromEntries(growths)))
