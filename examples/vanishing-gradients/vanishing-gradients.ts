import { runFixedStructure } from '../satellite-attention/fixed-structure.js'
import { runRandomWeights } from '../satellite-attention/random-weights.js'
import { fixedStructureSection, randomWeightsSection } from '../satellite-attention/sections.js'
import type { Example, RunOptions } from '../support/example.js'
import { Progress } from '../support/progress.js'
import { train } from '../support/train.js'
import { trainingSection, verdictOn } from './sections.js'
import { type Course, isLook, KEY_DIMS, OPTIMIZERS, type OptimizerName, Run, type Training } from './training.js'

/** What becomes of gradients and of training without the factor 1/√d_k. */
export const vanishingGradients: Example = {
  name: 'vanishing-gradients',
  title: 'Vanishing gradients: what 1/√d_k is for',
  description:
    'Measures what becomes of attention’s gradients without the factor 1/√d_k: for scores of a fixed structure, for random weights, and while the same task is learned with and without it. --steps is of the last.',
  steps: 400,

  async run({ seed, steps }, show) {
    const progress = new Progress(process.stdout, process.stderr)
    const fixedStructure = runFixedStructure(seed)
    show(fixedStructureSection(fixedStructure))
    const randomWeights = runRandomWeights(seed, (done) => progress.show('Experiment 2', done))
    progress.clear()
    show(randomWeightsSection(randomWeights))
    const training = await runTraining({ seed, steps })
    show(trainingSection(training, steps))
    return { text: verdictOn(training), numbers: { fixedStructure, randomWeights, training } }
  },
}

/** Trains every head, one after the other; those that come before it is stopped. */
async function runTraining({ seed, steps }: RunOptions): Promise<Training[]> {
  const results: Training[] = []
  for (const optimizer of Object.keys(OPTIMIZERS) as OptimizerName[]) {
    for (const keyDim of KEY_DIMS) {
      const unscaled = await trainHead(
        new Run(keyDim, 'none', optimizer, seed),
        `${optimizer}, d_k ${keyDim}, unscaled`,
        steps,
      )
      if (unscaled === null) return results
      const scaled = await trainHead(
        new Run(keyDim, 'sqrt', optimizer, seed),
        `${optimizer}, d_k ${keyDim}, scaled`,
        steps,
      )
      if (scaled === null) return results
      results.push({ optimizer, keyDim, unscaled, scaled })
    }
  }
  return results
}

/** How the head fares; null where it is stopped. */
async function trainHead(run: Run, name: string, steps: number): Promise<Course | null> {
  console.error(`Experiment 3: ${name}`)
  const { done, ended } = await train({
    steps,
    step: (index) => {
      if (isLook(index, steps)) run.look(index)
      return run.step()
    },
  })
  if (ended === 'stopped') return null
  run.look(done)
  return run.course
}
