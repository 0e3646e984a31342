import { manualSeed, randn, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { runCommand } from '../support/command.js'
import type { Section } from '../support/document.js'
import { loadImage } from '../support/image.js'
import { prepareFolder, writeReport } from '../support/output.js'
import { renderPage } from '../support/page.js'
import { Progress } from '../support/progress.js'
import { coloursOf, renderSection } from '../support/terminal.js'
import { runFixedStructure } from './fixed-structure.js'
import { checkLayer } from './gradients.js'
import { type Options, readOptions } from './options.js'
import { pictureStyle, tilePicture } from './picture.js'
import { runRandomWeights } from './random-weights.js'
import { fixedStructureSection, gradientSection, randomWeightsSection, tileSection, walkSection } from './sections.js'
import { cutTile, FEATURES, GULF_OF_ADEN, middleOf, PATCHES, standardisedPatches } from './tile.js'
import { verdictOf } from './verdict.js'
import { walkThrough } from './walk.js'

const TITLE = 'From a satellite tile to checked attention gradients'
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
    console.log(renderSection(section, colours))
  }
  add(tileSection(tile, await tilePicture(image, tile)))

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
  const page = renderPage({ title: TITLE, lead: verdict.text, style: pictureStyle }, sections)
  console.log(`${verdict.text}\nReport: ${await writeReport(out, page, numbers)}`)
  return verdict.exitCode
}

await runCommand(async () => {
  const options = readOptions(process.argv.slice(2))
  return options === null ? 0 : await run(options)
})
