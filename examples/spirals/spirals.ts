import * as Plot from '@observablehq/plot'
import { binaryCrossEntropyWithLogits, manualSeed, noGrad, randn, tensor } from 'wengert'
import { DataLoader } from 'wengert/data'
import { MLP, SiLU } from 'wengert/nn'
import { AdamW, OneCycleLR } from 'wengert/optim'
import { endless } from '../support/batches.js'
import { curves } from '../support/curves.js'
import { paragraph } from '../support/document.js'
import type { Example } from '../support/example.js'
import { BLUE, figure, ORANGE } from '../support/figure.js'
import { readable } from '../support/format.js'
import { gridPoints, regionMarks } from '../support/regions.js'
import { train } from '../support/train.js'

/** A point and which of the spirals it is from. */
interface Point {
  readonly x: number
  readonly y: number
  readonly spiral: 0 | 1
}

const COUNT = 400
const TURNS = 1.75
const NOISE = 0.02
const BATCH = 100
const GRID = { low: -1.15, high: 1.15, side: 161 }

/** Points of two spirals, one the other turned by half a circle: angle and radius grow together; with a little noise. */
function makePoints(count: number): Point[] {
  const noise = noGrad(() => randn([count, 2]).scale(NOISE).data)
  return Array.from({ length: count }, (_, i): Point => {
    const spiral = i % 2 === 0 ? 0 : 1
    const radius = 0.08 + (0.92 * i) / count
    const angle = 2 * Math.PI * TURNS * radius + spiral * Math.PI
    return {
      x: radius * Math.cos(angle) + (noise[2 * i] ?? 0),
      y: radius * Math.sin(angle) + (noise[2 * i + 1] ?? 0),
      spiral,
    }
  })
}

/** A perceptron tells two spirals apart that are wound around each other. */
export const spirals: Example = {
  name: 'spirals',
  title: 'Two spirals',
  description: 'Trains a perceptron to tell two spirals apart, and draws the decision boundary that it finds.',
  steps: 1500,

  async run({ seed, steps }, show) {
    manualSeed(seed)
    const [training, test] = [makePoints(COUNT), makePoints(COUNT)]
    const model = new MLP([2, 32, 32, 1], { activation: new SiLU() })
    const optimizer = new AdamW(model.parameters(), { lr: 0.02 })
    const schedule = new OneCycleLR(optimizer, { maxLr: 0.02, totalSteps: steps })
    const batches = endless(new DataLoader(training, { batchSize: BATCH, shuffle: true, seed }))
    const logits = (points: readonly Point[]) => model.forward(tensor(points.map(({ x, y }) => [x, y])))
    const lossOf = (points: readonly Point[]) =>
      binaryCrossEntropyWithLogits(logits(points), tensor(points.map(({ spiral }) => [spiral])))
    const [losses, testLosses]: [[number, number][], [number, number][]] = [[], []]
    const { done } = await train({
      steps,
      step: (index) => {
        if (index % 10 === 0) testLosses.push([index, noGrad(() => lossOf(test).item())])
        optimizer.zeroGrad()
        const loss = lossOf(batches.next().value)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.push([index, loss.item()])
        return loss.item()
      },
    })
    const accuracyOn = (points: readonly Point[]) => {
      const outputs = noGrad(() => logits(points).data)
      return points.filter(({ spiral }, i) => (outputs[i] ?? 0) > 0 === (spiral === 1)).length / points.length
    }
    const accuracy = { training: accuracyOn(training), test: accuracyOn(test) }
    const percentage = (share: number) => `${readable(share * 100)} %`
    const values = noGrad(() => model.forward(tensor(gridPoints(GRID))).sigmoid().data)
    show({
      title: 'The decision boundary',
      parts: [
        paragraph(
          `${COUNT} points to train on and ${COUNT} others to test on, half of each from either spiral. The perceptron has two hidden layers of 32 with SiLU; AdamW takes ${done} steps on batches of ${BATCH}. Right are ${percentage(accuracy.training)} of the training points and ${percentage(accuracy.test)} of the test points.`,
        ),
        {
          kind: 'picture',
          title: 'Test points over what the model says: the line is the decision boundary',
          html: figure('The decision boundary between two spirals', {
            width: 600,
            height: 580,
            marginLeft: 50,
            marginBottom: 44,
            x: { label: 'x →', labelArrow: 'none', domain: [GRID.low, GRID.high], ticks: 5 },
            y: { label: '↑ y', labelArrow: 'none', domain: [GRID.low, GRID.high], ticks: 5 },
            marks: [
              ...regionMarks({ ...GRID, values }),
              Plot.dot(test, {
                x: 'x',
                y: 'y',
                r: 3,
                fill: ({ spiral }: Point) => (spiral === 0 ? ORANGE : BLUE),
                stroke: 'var(--background)',
                strokeWidth: 0.8,
              }),
            ],
          }),
        },
        curves('The loss while it learns', 'binary cross-entropy', [
          { name: 'one batch', colour: ORANGE, points: losses },
          { name: 'test points', colour: BLUE, points: testLosses },
        ]),
      ],
    })
    return {
      text: `${percentage(accuracy.test)} of ${COUNT} test points are told right after ${done} steps.`,
      numbers: { done, accuracy, losses, testLosses },
    }
  },
}
