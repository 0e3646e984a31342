import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { expect, test } from 'vitest'
import { type OptimizerName, Run, type Training } from '../../examples/vanishing-gradients/training.js'
import { runExample } from './command.js'

/** A head trained for some steps. */
function trained(keyDim: number, scale: 'sqrt' | 'none', optimizer: OptimizerName, steps: number) {
  const run = new Run(keyDim, scale, optimizer, 0)
  run.look(0)
  for (let step = 0; step < steps; step++) run.step()
  run.look(steps)
  return run.course
}

test('scaled, the head learns at d_k = 256; unscaled, most rows are all but dead, and SGD has not learned yet', () => {
  const [scaled, unscaled] = [trained(256, 'sqrt', 'SGD', 175), trained(256, 'none', 'SGD', 175)]
  expect(scaled.looks[0]?.deadRows).toBe(0)
  expect(scaled.looks[0]?.jacobianNorm).toBeGreaterThan(0.2)
  expect(scaled.stepsToTarget).toBe(175)
  expect(scaled.looks[1]?.found).toBeGreaterThan(0.9)
  expect(unscaled.looks[0]?.deadRows).toBeGreaterThan(0.25)
  expect(unscaled.looks[0]?.jacobianNorm).toBeLessThan(0.05)
  expect(unscaled.stepsToTarget).toBeNull()
  expect(unscaled.looks[1]?.found).toBeLessThan(0.5)
})

test('both see the same sequences and begin with the same weights, and the numbers come out again', () => {
  const losses = (scale: 'sqrt' | 'none') => {
    const run = new Run(16, scale, 'Adam', 3)
    return [run.step(), run.step(), run.step()]
  }
  expect(losses('none')).toEqual(losses('none'))
  expect(losses('sqrt')).not.toEqual(losses('none'))
  // With no difference in scale, there is none at all.
  expect(trained(1, 'sqrt', 'Adam', 5)).toEqual(trained(1, 'none', 'Adam', 5))
})

test('the command runs all three experiments and draws them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vanishing-gradients-'))
  try {
    const { numbers, page, stdout } = await runExample<{ training: Training[] }>(
      'vanishing-gradients',
      folder,
      '--steps',
      '2',
    )
    for (const title of ['Experiment 1', 'Experiment 2', 'Experiment 3']) expect(stdout).toContain(title)
    expect(numbers.training.map(({ optimizer, keyDim }) => `${optimizer} ${keyDim}`)).toEqual(
      ['SGD', 'Adam'].flatMap((name) => [16, 64, 256, 1024].map((keyDim) => `${name} ${keyDim}`)),
    )
    const { document } = parseHTML(page)
    // Four of the experiments before, and loss and rows for either optimiser.
    const figures = Array.from(document.querySelectorAll('figure > svg'))
    expect(figures).toHaveLength(8)
    for (const figure of figures) expect(figure.outerHTML).not.toMatch(/NaN|Infinity|undefined/)
    expect(figures.at(-1)?.querySelectorAll('[aria-label="line"] path')).toHaveLength(8)
  } finally {
    await rm(folder, { recursive: true })
  }
})
