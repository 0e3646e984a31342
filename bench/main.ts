// Speed of operations, of attention and of training steps, each as a share of what the machine can do at best, measured
// in the same run.
import { Argument, Command, InvalidArgumentError } from 'commander'
import { getFusedMultiplyAdd, manualSeed, setThreads } from 'wengert'
import { measureLimits } from './limits/measure.js'
import { count } from './options.js'
import { runSuite } from './suite.js'
import { elementwiseSuites } from './suites/elementwise.js'
import { matmulSuites } from './suites/matmul.js'
import { trainingSuites } from './suites/training.js'

const suites = { ...matmulSuites, ...elementwiseSuites, ...trainingSuites }

function partOfName(text: string): string {
  const names = Object.keys(suites)
  if (names.some((name) => name.includes(text))) return text
  throw new InvalidArgumentError(`No suite is called so; there are ${names.join(', ')}.`)
}

const program = new Command('bench')
  .addArgument(new Argument('[word]', 'run only the suites whose names contain it').argParser(partOfName).default(''))
  .option('--threads <n>', 'how many threads compute', count, 1)
  .parse()
const [word] = program.processedArgs as [string]
const { threads } = program.opts<{ threads: number }>()

const fused = getFusedMultiplyAdd()
const limits = await measureLimits(fused)
const { peak, bandwidth } = limits
console.log(
  `Node ${process.version}, ${fused ? 'fused multiply-add' : 'separate multiply and add'}, ` +
    `${threads === 1 ? 'one thread' : `${threads} threads`}`,
)
console.log(
  `128-bit peak of one core: ${peak.float32.toFixed(1)} GFLOP/s in float32, ${peak.float64.toFixed(1)} in float64`,
)
console.log(`triad of one core: ${bandwidth.memory.toFixed(1)} GB/s in memory, ${bandwidth.cache.toFixed(1)} in caches`)

setThreads(threads)
manualSeed(1)
for (const [name, suite] of Object.entries(suites)) {
  if (name.includes(word)) await runSuite(name, suite(), limits, threads)
}
