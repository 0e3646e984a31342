import { access, constants, mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { manualSeed, randn, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import type { Section } from './document.js'
import { InputError, reason } from './errors.js'
import { runFixedStructure } from './fixed-structure.js'
import { checkLayer } from './gradients.js'
import { loadImage } from './image.js'
import { type Options, readOptions } from './options.js'
import { Progress } from './progress.js'
import { runRandomWeights } from './random-weights.js'
import { renderReport } from './report.js'
import { fixedStructureSection, gradientSection, randomWeightsSection, tileSection, walkSection } from './sections.js'
import { coloursOf, renderSection } from './terminal.js'
import { cutTile, FEATURES, GULF_OF_ADEN, middleOf, PATCHES, standardisedPatches } from './tile.js'
import { verdictOf } from './verdict.js'
import { walkThrough } from './walk.js'

const HEADS = 3

/** Runs everything and returns the exit code. */
async function run({ image: file, place, seed, out }: Options): Promise<number> {
  const image = await loadImage(file)
  const tile = cutTile(image, place ?? (file === null ? GULF_OF_ADEN : middleOf(image)))
  const patches = standardisedPatches(tile)
  await prepareFolder(out)

  const colours = coloursOf(process.stdout)
  const progress = new Progress(process.stdout, process.stderr)
  const sections: Section[] = []
  const add = (section: Section) => {
    sections.push(section)
    progress.clear()
    console.log(renderSection(section, tile, colours))
  }
  add(tileSection(tile))

  manualSeed(seed)
  const x = tensor(patches, { shape: [PATCHES, FEATURES] })
  const layer = new MultiHeadAttention({ embedDim: FEATURES, numHeads: HEADS, dtype: 'float64' })
  const walk = walkThrough(layer, x)
  add(walkSection(walk, layer))

  progress.show('Gradients')
  const small = new MultiHeadAttention({ embedDim: 12, numHeads: HEADS, dtype: 'float64' })
  const checks = [
    checkLayer('The layer of the tile: D = 192, H = 3, N = 16', layer, x, { samples: 64, directions: 8 }, seed),
    checkLayer('A small layer: D = 12, H = 3, N = 5', small, randn([5, 12], { dtype: 'float64' }), 'every entry', seed),
  ]
  add(gradientSection(checks))

  progress.show('Experiment 1')
  const fixedStructure = runFixedStructure(seed)
  add(fixedStructureSection(fixedStructure))

  const randomWeights = runRandomWeights(seed, (done) => progress.show('Experiment 2', done))
  add(randomWeightsSection(randomWeights))

  const verdict = verdictOf(walk, checks)
  const { image: _, ...where } = tile
  const numbers = { image: image.name, tile: where, seed, walk, checks, fixedStructure, randomWeights, verdict }
  const page = resolve(out, 'report.html')
  await write(page, await renderReport(sections, verdict.text, image, tile))
  await write(resolve(out, 'report.json'), `${JSON.stringify(numbers, null, 2)}\n`)
  console.log(`${verdict.text}\nReport: ${page}`)
  return verdict.exitCode
}

/** Finds out before the work whether the report can be written after it. */
async function prepareFolder(out: string): Promise<void> {
  try {
    const path = resolve(out)
    await makeFolder(path)
    // With the slash, a file in the folder's place is an error.
    await access(`${path}/`, constants.W_OK)
  } catch (thrown) {
    throw new InputError(`cannot write to the folder '${out}': ${reason(thrown)}`)
  }
}

/** Like mkdir's own `recursive`, which never returns where the file system refuses new folders with ENOENT (/proc). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT') throw thrown
    await makeFolder(dirname(path))
    await mkdir(path)
  }
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((thrown) => {
    throw new InputError(`cannot write the report: ${reason(thrown)}`)
  })
}

// Whoever reads only the beginning (head, less) closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

try {
  const options = readOptions(process.argv.slice(2))
  if (options !== null) process.exitCode = await run(options)
} catch (thrown) {
  if (!(thrown instanceof InputError)) throw thrown
  console.error(`error: ${thrown.message}`)
  process.exitCode = 2
}
