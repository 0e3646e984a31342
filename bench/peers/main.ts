// Compares wengert with other libraries, which are installed into this folder when they are missing.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { count, outputPath } from '../options.js'
import { type Comparison, compare } from './compare.js'
import type { Peer } from './peer.js'
import { record, tables } from './report.js'
import { wengertWith } from './wengert.js'
import { works } from './works.js'

const PEERS = ['torch', 'jax', 'jax-eager', 'onnx', 'tfjs-wasm', 'tfjs-cpu']

const listOf = (known: readonly string[]) => (text: string) => {
  const names = text.split(',')
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new InvalidArgumentError(`There is no ${unknown.join(', ')}; there are ${known.join(', ')}.`)
  return names
}

const ids = works.map(({ id }) => id)
const options = new Command('bench:peers')
  .description('Times wengert and its peers in alternation, after checking that they compute the same.')
  .option('--works <ids>', `some of ${ids.join(', ')}`, listOf(ids), ids)
  .option('--peers <ids>', `some of ${PEERS.join(', ')}`, listOf(PEERS), PEERS)
  .option(
    '--threads <counts>',
    'thread counts of wengert, PyTorch and onnxruntime',
    (text) => text.split(',').map(count),
    [1, 2],
  )
  .option('--rounds <n>', 'timings of each contestant', count, 7)
  .option('--python <command>', 'a Python with PyTorch (otherwise python3, then /usr/bin/python3)')
  .option('--json <path>', 'where to write all measurements as JSON', outputPath)
  .parse()
  .opts<{
    works: string[]
    peers: string[]
    threads: number[]
    rounds: number
    python?: string
    json?: string
  }>()

const folder = fileURLToPath(new URL('.', import.meta.url))

function install(): void {
  if (existsSync(`${folder}/node_modules`)) return
  console.error('installing the peers into bench/peers')
  // What their install scripts would fetch is for GPUs.
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] })
}

/** The peers that were asked for and can be had; about the others a line is said. */
async function enlist(): Promise<{ peers: Peer[]; remarks: string[] }> {
  const peers: Peer[] = []
  const remarks: string[] = []
  const join = async (name: string, make: () => Promise<Peer> | Peer) => {
    try {
      peers.push(await make())
    } catch (error) {
      remarks.push(`${name} could not be started: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const chosen = (name: string) => options.peers.includes(name)
  for (const threads of options.threads) {
    peers.push(wengertWith(threads))
  }
  if (chosen('torch')) {
    const { pythonWithTorch, torch } = await import('./torch.js')
    const commands = options.python === undefined ? ['python3', '/usr/bin/python3'] : [options.python]
    const python = pythonWithTorch(commands)
    if (python === undefined) remarks.push(`PyTorch was not there: no \`import torch\` in ${commands.join(' or ')}`)
    else for (const threads of options.threads) await join('PyTorch', () => torch(python, threads))
  }
  if (chosen('onnx')) {
    for (const threads of options.threads) {
      await join('onnxruntime', async () => (await import('./onnx.js')).onnx(threads))
    }
  }
  if (chosen('jax')) await join('jax-js, jit', async () => (await import('./jax.js')).jax(true))
  if (chosen('jax-eager')) await join('jax-js, eager', async () => (await import('./jax.js')).jax(false))
  for (const backend of ['wasm', 'cpu'] as const) {
    if (chosen(`tfjs-${backend}`)) await join(`tfjs ${backend}`, async () => (await import('./tfjs.js')).tfjs(backend))
  }
  return { peers, remarks }
}

install()
const { peers, remarks } = await enlist()
const comparisons: Comparison[] = []
for (const work of works.filter(({ id }) => options.works.includes(id))) {
  console.error(work.title)
  comparisons.push(await compare(work, peers, options.rounds))
}
for (const peer of peers) peer.close()

const processors = cpus()
const versions = [...new Set(peers.map(({ version }) => version))].join(', ')
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${processors.length} × ${processors[0]?.model}`,
)
console.log(`${versions}; ${options.rounds} rounds\n`)
console.log(tables(comparisons, peers))
if (remarks.length > 0) console.log(`\n${remarks.join('\n')}`)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(record(comparisons, peers), null, 2)}\n`)
