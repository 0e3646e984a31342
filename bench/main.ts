// Speed of operations, of attention and of training steps. Products are also given as a share of what the core can do
// at best, measured in the same run. `npm run bench -- matmul` runs the suites whose names contain the word, on one
// thread; `npm run bench -- matmul 2` on two.
import benny from 'benny'
import { getFusedMultiplyAdd, manualSeed, mseLoss, noGrad, randn, setThreads, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { peakOf } from './peak.js'

const filter = process.argv[2] ?? ''
const threads = setThreads(Number(process.argv[3] ?? 1))

async function suite(name: string, cases: Readonly<Record<string, () => unknown>>, flops?: (name: string) => number) {
  if (!name.includes(filter)) return
  const summary = await benny.suite(
    name,
    ...Object.entries(cases).map(([label, run]) =>
      benny.add(label, () => {
        run()
      }),
    ),
    benny.cycle(),
    benny.configure({ cases: { minSamples: 20, maxTime: 0.5 } }),
  )
  for (const { name: label, details } of summary.results) {
    const microseconds = details.median * 1e6
    const gigaflops = flops === undefined ? undefined : flops(label) / details.median / 1e9
    const share =
      gigaflops === undefined
        ? ''
        : `  ${gigaflops.toFixed(1)} GFLOP/s, ${((100 * gigaflops) / peak).toFixed(0)} % of the peak`
    console.log(`  ${label.padEnd(28)} ${microseconds.toFixed(2).padStart(12)} µs${share}`)
  }
}

const fused = getFusedMultiplyAdd()
const peak = await peakOf(fused)
console.log(
  `Node ${process.version}, ${fused ? 'fused multiply-add' : 'separate multiply and add'}, ${threads === 1 ? 'one thread' : `${threads} threads`}`,
)
console.log(`128-bit peak of one core in this run: ${peak.toFixed(1)} GFLOP/s`)
manualSeed(1)

const sizes = [16, 32, 64, 128, 256, 512, 1024]
await suite(
  'matmul',
  Object.fromEntries(
    sizes.map((n) => {
      const [a, b] = [randn([n, n]), randn([n, n])]
      return [String(n), () => a.matmul(b)]
    }),
  ),
  (label) => 2 * Number(label) ** 3,
)

await suite(
  'matmul, second operand transposed',
  Object.fromEntries(
    sizes.map((n) => {
      const [a, b] = [randn([n, n]), randn([n, n]).transpose()]
      return [String(n), () => a.matmul(b)]
    }),
  ),
  (label) => 2 * Number(label) ** 3,
)

const small = randn([4, 4])
const large = randn([1024, 1024])
const row = randn([1024])
await suite('elementwise', {
  'add 4×4': () => small.add(small),
  'add 1024×1024': () => large.add(large),
  'add 1024×1024 and a row': () => large.add(row),
  'exp 1024×1024': () => large.exp(),
  'tanh 1024×1024': () => large.tanh(),
  'gelu 1024×1024': () => large.gelu(),
})
const scores = randn([12, 196, 196])
await suite('reductions', {
  'sum 1024×1024': () => large.sum(),
  'sum 1024×1024 over rows': () => large.sum({ axis: 0 }),
  'softmax 12×196×196': () => scores.softmax(),
})

function attention(rows: number, embedDim: number, numHeads: number): () => void {
  const layer = new MultiHeadAttention({ embedDim, numHeads })
  const x = randn([rows, embedDim])
  return () => {
    layer.forward(x).square().mean().backward()
    layer.zeroGrad()
  }
}
const vision = new MultiHeadAttention({ embedDim: 768, numHeads: 12 })
const patches = randn([196, 768])
await suite('multi-head attention, forward and backward', {
  'toy: N 16, D 32, H 4': attention(16, 32, 4),
  'mid: N 64, D 128, H 8': attention(64, 128, 8),
  'ViT-B: N 196, D 768, H 12': attention(196, 768, 12),
  'ViT-B, forward only': () => noGrad(() => vision.forward(patches)),
})

function xor(): () => void {
  const x = tensor([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ])
  const target = tensor([[0], [1], [1], [0]])
  const leaf = (shape: number[]) => randn(shape, { requiresGrad: true })
  const parameters = [leaf([2, 16]), leaf([16]), leaf([16, 1]), leaf([1])] as [Tensor, Tensor, Tensor, Tensor]
  return () => {
    const [w1, b1, w2, b2] = parameters
    mseLoss(x.matmul(w1).add(b1).tanh().matmul(w2).add(b2), target).backward()
    noGrad(() => {
      for (const parameter of parameters) {
        parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(0.1)))
        parameter.grad = null
      }
    })
  }
}
await suite('training', { 'XOR step: MLP 2-16-1, batch 4': xor() })
