import * as Plot from '@observablehq/plot'
import { binaryCrossEntropyWithLogits, manualSeed, noGrad, tanh, tensor } from 'wengert'
import { MLP } from 'wengert/nn'
import { Adam } from 'wengert/optim'
import { curves } from '../support/curves.js'
import { paragraph, table } from '../support/document.js'
import type { Example } from '../support/example.js'
import { BLUE, figure } from '../support/figure.js'
import { plain, readable } from '../support/format.js'
import { gridPoints, regionMarks } from '../support/regions.js'
import { train } from '../support/train.js'

const INPUTS = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]
const TARGETS = [[0], [1], [1], [0]]
const GRID = { low: -0.5, high: 1.5, side: 81 }

/** A perceptron learns x₁ xor x₂, which no straight line can tell apart. */
export const xor: Example = {
  name: 'xor',
  title: 'Exclusive or',
  description: 'Trains a small perceptron to tell x₁ xor x₂, and draws what it says between the four points.',
  steps: 300,

  async run({ seed, steps }, show) {
    manualSeed(seed)
    const [x, target] = [tensor(INPUTS), tensor(TARGETS)]
    const model = new MLP([2, 8, 1], { activation: tanh })
    const optimizer = new Adam(model.parameters(), { lr: 0.05 })
    const losses: number[] = []
    const { done } = await train({
      steps,
      step: () => {
        optimizer.zeroGrad()
        const bce = binaryCrossEntropyWithLogits(model.forward(x), target)
        bce.backward()
        optimizer.step()
        losses.push(bce.item())
        return bce.item()
      },
    })
    const predict = (points: number[][]) => noGrad(() => Array.from(model.forward(tensor(points)).sigmoid().data))
    const outputs = predict(INPUTS)
    const right = outputs.filter((p, i) => Math.round(p) === TARGETS[i]?.[0]).length
    const points = INPUTS.map(([x1, x2], i) => ({ x1, x2, name: `${TARGETS[i]?.[0]}` }))
    show({
      title: 'What it says',
      parts: [
        paragraph(
          `The perceptron has two inputs, 8 hidden numbers with tanh between, and one output, the logarithm of the odds of 1. Its loss, the binary cross-entropy over the four points, fell from ${readable(losses[0] ?? 0)} to ${readable(losses.at(-1) ?? 0)} in ${done} steps of Adam.`,
        ),
        table(
          'The four points',
          [{ head: 'x₁' }, { head: 'x₂' }, { head: 'x₁ xor x₂' }, { head: 'probability of 1' }],
          outputs.map((p, i) => [...(INPUTS[i] ?? []).map(String), `${TARGETS[i]?.[0]}`, p.toFixed(4)]),
        ),
        {
          kind: 'picture',
          title: 'Probability of 1 over the plane: blue is 1, orange is 0, the line is one half',
          html: figure('Probability of 1 over the plane', {
            width: 460,
            height: 430,
            marginLeft: 50,
            marginBottom: 44,
            x: { label: 'x₁ →', labelArrow: 'none', domain: [GRID.low, GRID.high], ticks: 5 },
            y: { label: '↑ x₂', labelArrow: 'none', domain: [GRID.low, GRID.high], ticks: 5 },
            marks: [
              ...regionMarks({ ...GRID, values: predict(gridPoints(GRID)) }),
              Plot.dot(points, { x: 'x1', y: 'x2', r: 11, fill: 'var(--background)', stroke: 'var(--text)' }),
              Plot.text(points, { x: 'x1', y: 'x2', text: 'name', fontWeight: 600 }),
            ],
          }),
        },
        curves('The loss while it learns', 'binary cross-entropy', [
          { name: 'loss', colour: BLUE, points: losses.map((value, i) => [i, value]) },
        ]),
      ],
    })
    return {
      text: `${right} of 4 points are told right after ${done} steps; the loss is ${plain(losses.at(-1) ?? 0)}.`,
      numbers: { done, losses, outputs, right },
    }
  },
}
