// What "nothing to free" costs: resident memory over synchronous loops without an `await`, and of results that are
// held. Each case runs in a process of its own. `npm run bench:memory`, or with another number of steps behind `--`.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Argument, Command } from 'commander'
import { manualSeed, mseLoss, randn, type Tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { SGD } from 'wengert/optim'
import { count } from './options.js'

const program = new Command('bench:memory')
  .addArgument(new Argument('[steps]', 'how many steps the loops have').argParser(count).default(100_000))
  .addArgument(new Argument('[case]', 'the only case to run, in this process'))
  .parse()
const [steps, chosen] = program.processedArgs as [number, string | undefined]
const MEGABYTE = 1e6
const resident = () => process.memoryUsage.rss() / MEGABYTE

function report(done: number, since: number): void {
  const microseconds = ((performance.now() - since) / done) * 1000
  console.log(
    `  after ${String(done).padStart(7)}: ${resident().toFixed(1)} MB resident, ${microseconds.toFixed(0)} µs a step`,
  )
}

function loop(step: () => void): void {
  const start = performance.now()
  const shown = [0.01, 0.1, 0.5, 1].map((share) => Math.round(share * steps))
  for (let i = 1; i <= steps; i++) {
    step()
    if (shown.includes(i)) report(i, start)
  }
}

const layer = () => new MultiHeadAttention({ embedDim: 32, numHeads: 4 })

const cases: Readonly<Record<string, () => void>> = {
  'training steps of an attention layer (N 16, D 32, H 4)': () => {
    const model = layer()
    const [x, target] = [randn([16, 32]), randn([16, 32])]
    const optimizer = new SGD(model.parameters(), { lr: 1e-3 })
    loop(() => {
      mseLoss(model.forward(x), target).backward()
      optimizer.step()
      optimizer.zeroGrad()
    })
  },
  'forward passes with weights that require gradients, and no backward': () => {
    const model = layer()
    const x = randn([16, 32])
    loop(() => {
      model.forward(x)
    })
  },
  '10,000 results of 64 × 64 float32 held (their numbers are 163.8 MB)': () => {
    const before = resident()
    const x = randn([64, 64])
    const held: Tensor[] = []
    for (let i = 0; i < 10_000; i++) held.push(x.scale(i))
    console.log(`  ${(resident() - before).toFixed(1)} MB more resident`)
    const wrong = held.filter((y, i) => Math.abs(y.sum().item() - x.scale(i).sum().item()) > 0)
    console.log(`  ${wrong.length} of them read back wrong`)
  },
  'a chain of 600 products of 4 MB each, 2.5 GB in all, forward and backward': () => {
    const x = randn([1024, 1024], { requiresGrad: true })
    let y = x
    for (let i = 0; i < 600; i++) y = y.mul(1.001)
    y.sum().backward()
    const gradient = (x.grad as Tensor).data
    console.log(`  gradient ${gradient[0]} (expected ${1.001 ** 600}), ${resident().toFixed(0)} MB resident`)
  },
  'attention at N 4096, D 768, H 12, forward and backward (its weights alone would be 805 MB)': () => {
    const model = new MultiHeadAttention({ embedDim: 768, numHeads: 12 })
    const x = randn([4096, 768], { requiresGrad: true })
    model.forward(x).square().mean().backward()
    const peak = (process.resourceUsage().maxRSS * 1024) / MEGABYTE
    console.log(`  at most ${peak.toFixed(0)} MB resident, ${resident().toFixed(0)} MB afterwards`)
  },
}

if (chosen === undefined) {
  for (const name of Object.keys(cases)) {
    console.log(name)
    execFileSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), String(steps), name], {
      stdio: 'inherit',
    })
  }
} else {
  const run = cases[chosen]
  if (run === undefined) {
    program.error(`error: there is no case '${chosen}'; there are\n${Object.keys(cases).join('\n')}`)
  } else {
    manualSeed(1)
    run()
  }
}
