import * as Plot from '@observablehq/plot'
import { manualSeed, mseLoss, noGrad } from 'wengert'
import { SelfAttention } from 'wengert/nn'
import { Adam } from 'wengert/optim'
import { curves } from '../support/curves.js'
import { type Part, paragraph, table } from '../support/document.js'
import type { Example } from '../support/example.js'
import { BLUE, figure, ORANGE } from '../support/figure.js'
import { percent, plain, readable } from '../support/format.js'
import { train } from '../support/train.js'
import { FEATURES, found, ROWS, sequences, VALUE } from './task.js'

const KEY_DIM = 16
const BATCH = 16
const TEST = 64

/** One attention head learns to look up a key. */
export const recall: Example = {
  name: 'recall',
  title: 'Associative recall: attention learns to look up a key',
  description:
    'Trains one attention head to find, for each row, the row whose key it asks for, and draws the attention that it learned.',
  steps: 1000,

  async run({ seed, steps }, show) {
    manualSeed(seed)
    const test = sequences(TEST)
    const head = new SelfAttention({ inputDim: FEATURES, keyDim: KEY_DIM, valueDim: VALUE })
    const optimizer = new Adam(head.parameters(), { lr: 3e-3 })
    const testLoss = () => noGrad(() => mseLoss(head.forward(test.x), test.target).item())
    const foundRows = () => found(head.attention(test.x), test.sought)
    const before = { loss: testLoss(), found: foundRows() }
    const losses: [number, number][] = []
    const { done } = await train({
      steps,
      step: (index) => {
        const { x, target } = sequences(BATCH)
        optimizer.zeroGrad()
        const loss = mseLoss(head.forward(x), target)
        loss.backward()
        optimizer.step()
        losses.push([index, loss.item()])
        return loss.item()
      },
    })
    const after = { loss: testLoss(), found: foundRows() }
    const attention = noGrad(() => head.attention(test.x))
    const onSought = noGrad(() => attention.gather(2, test.sought.unsqueeze(-1)).mean().item())
    const trained = after.found > 0.5
    const row = (name: string, { loss, found: share }: typeof before) => [name, readable(loss), percent(share)]
    show({
      title: 'What the head finds',
      parts: [
        paragraph(
          `A sequence has N = ${ROWS} rows, and each row three parts of random numbers: a key, the key of another row (or its own), and a value. For every row, the value is wanted that stands under the key it asks for. One attention head of d_k = ${KEY_DIM} must learn to make queries of what is asked for, keys of the keys and values of the values; the sequences are new in every step, so that there is nothing to learn by heart. Loss: mean((Y − T)²); always answering 0 has a loss of 1.`,
        ),
        table(
          `On ${TEST} sequences not seen in training`,
          [{ head: '', text: true }, { head: 'loss' }, { head: 'rows found' }],
          [row('before training', before), row(`after ${done} steps`, after)],
        ),
        paragraph(
          `A row is found where its largest weight is at the row it seeks, which gets ${percent(onSought)} of the attention on average.`,
        ),
        ...heatmap(trained ? attention.at(0).toArray() : null, test.sought.at(0).toArray()),
        curves('The loss while it learns', 'mean squared error of a batch', [
          { name: 'loss', colour: BLUE, points: losses },
        ]),
      ],
    })
    return {
      text: `${percent(after.found)} of the rows of new sequences are found after ${done} steps (before: ${percent(before.found)}); the loss is ${plain(after.loss)}.`,
      numbers: { done, before, after, onSought, losses },
    }
  },
}

/** The attention of one sequence. Null where the head has not learned the task: then it would say nothing. */
function heatmap(attention: unknown, sought: unknown): Part[] {
  if (attention === null) {
    return [
      paragraph('No heatmap of A is drawn: the head finds less than half of the rows, and A would say nothing yet.'),
    ]
  }
  const cells = (attention as number[][]).flatMap((weights, n) => weights.map((a, m) => ({ n: n + 1, m: m + 1, a })))
  const wanted = (sought as number[]).map((m, n) => ({ n: n + 1, m: m + 1 }))
  const title = 'A of a sequence not seen in training: the trained head on associative recall'
  return [
    {
      kind: 'picture',
      title,
      html: `${figure(title, {
        width: 560,
        height: 540,
        marginLeft: 56,
        marginBottom: 48,
        padding: 0,
        x: { type: 'band', label: 'm: the row that is looked at →', labelArrow: 'none', tickSize: 0 },
        y: { type: 'band', label: '↓ n: the row that asks', labelArrow: 'none', tickSize: 0 },
        opacity: { type: 'linear', domain: [0, 1], range: [0, 1] },
        marks: [
          Plot.cell(cells, { x: 'm', y: 'n', fill: BLUE, fillOpacity: 'a', inset: 0.5 }),
          Plot.cell(wanted, { x: 'm', y: 'n', fill: 'none', stroke: ORANGE, strokeWidth: 2, inset: 1.5 }),
          Plot.frame({ stroke: 'var(--line)' }),
        ],
      })}<p>The bluer, the more attention, from 0 to 1. Framed: the row that is sought. These cells are a permutation matrix, and A is close to it where they are the blue ones.</p>`,
    },
  ]
}
