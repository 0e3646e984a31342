import { crossEntropy, manualSeed, noGrad } from 'wengert'
import { AdamW, clipGradNorm, OneCycleLR } from 'wengert/optim'
import { curves } from '../support/curves.js'
import { type Picture, paragraph, table } from '../support/document.js'
import type { Example } from '../support/example.js'
import { BLUE, ORANGE } from '../support/figure.js'
import { percent } from '../support/format.js'
import { escaped } from '../support/page.js'
import { train } from '../support/train.js'
import { CharacterModel, CONTEXT } from './model.js'
import { allPieces, type Pieces, randomPieces, Text } from './text.js'

const BATCH = 16
const SAMPLE = 160
/** How often the model is tested and writes a sample, at most, and the steps between at least. */
const LOOKS = 8
const SPACE = 10

/** What the model is like after some steps. */
interface Look {
  readonly step: number
  readonly testLoss: number
  readonly sample: string
}

/** A character model with causal attention learns to write on in Shakespeare's sonnets. */
export const charLm: Example = {
  name: 'char-lm',
  title: 'A character model of Shakespeare’s sonnets',
  description:
    'Trains a small transformer with causal attention to tell the next character of Shakespeare’s sonnets; prints what it writes while it learns.',
  steps: 1600,

  async run({ seed, steps }, show) {
    manualSeed(seed)
    const text = new Text()
    const model = new CharacterModel(text.characters.length)
    const size = model.parameters().reduce((sum, parameter) => sum + parameter.size, 0)
    const optimizer = new AdamW(model.parameters(), { lr: 1e-2 })
    const schedule = new OneCycleLR(optimizer, { maxLr: 1e-2, totalSteps: steps })
    const test = allPieces(text.test, CONTEXT)
    const lossOn = ({ x, target }: Pieces) => crossEntropy(model.forward(x), target)
    const looks: Look[] = []
    const look = (step: number) => {
      const testLoss = noGrad(() => lossOn(test).item())
      const sample = text.decode(model.continue(text.encode('\n'), SAMPLE)).trim()
      looks.push({ step, testLoss, sample })
      console.log(`\n— after ${step} steps, test loss ${testLoss.toFixed(3)} —\n${sample}`)
    }
    const losses: [number, number][] = []
    const every = Math.max(SPACE, Math.round(steps / LOOKS))
    const { done } = await train({
      steps,
      step: (index) => {
        if (index % every === 0) look(index)
        optimizer.zeroGrad()
        const loss = lossOn(randomPieces(text.training, BATCH, CONTEXT))
        loss.backward()
        clipGradNorm(model.parameters(), 1)
        optimizer.step()
        schedule.step()
        losses.push([index, loss.item()])
        return loss.item()
      },
    })
    look(done)
    console.log()
    const frequency = entropyOfCharacters(text)
    const last = looks.at(-1)?.testLoss ?? 0
    const accuracy = noGrad(() =>
      model.forward(test.x).argmax({ axis: -1 }).eq(test.target).to('float32').mean().item(),
    )
    show({
      title: 'What it learned',
      parts: [
        paragraph(
          `The 154 sonnets are ${text.training.length + text.test.length} characters, ${text.characters.length} different ones; the first nine tenths are trained on, the rest is the test. The model sees up to ${CONTEXT} characters and tells the next: an embedding of characters and of places, two transformer blocks of causal attention with 4 heads, D = ${model.embedDim}, ${size} parameters. AdamW took ${done} steps on batches of ${BATCH} pieces of the text.`,
        ),
        table(
          'Cross-entropy of the next character, on the test',
          [{ head: '', text: true }, { head: 'nats' }, { head: 'bits' }],
          [
            ['any character as likely as another', Math.log(text.characters.length)],
            ['each as likely as it is frequent', frequency],
            [`the model after ${done} steps`, last],
          ].map(([name, nats]) => [String(name), Number(nats).toFixed(3), (Number(nats) / Math.LN2).toFixed(3)]),
        ),
        paragraph(`The character that it holds to be the likeliest is the right one ${percent(accuracy)} of the time.`),
        curves('The loss while it learns', 'cross-entropy in nats', [
          { name: 'one batch', colour: ORANGE, points: losses },
          { name: 'test', colour: BLUE, points: looks.map(({ step, testLoss }) => [step, testLoss]) },
        ]),
        samples(looks),
      ],
    })
    return {
      text: `The test loss after ${done} steps is ${last.toFixed(3)} nats for a character (by frequency alone: ${frequency.toFixed(3)}).`,
      numbers: { done, looks, frequency, accuracy, losses },
    }
  },
}

/** Cross-entropy of the test for the frequencies that characters have in what is trained on. */
function entropyOfCharacters({ characters, training, test }: Text): number {
  // Each is counted once more than it occurs, so that none is impossible.
  const counts = new Float64Array(characters.length).fill(1)
  for (const code of training) counts[code] = (counts[code] ?? 0) + 1
  const all = counts.reduce((sum, count) => sum + count, 0)
  return test.reduce((sum, code) => sum - Math.log((counts[code] ?? 0) / all), 0) / test.length
}

/** What it wrote. A terminal has shown it already. */
function samples(looks: readonly Look[]): Picture {
  const entries = looks.map(
    ({ step, testLoss, sample }) =>
      `<p>after ${step} steps, test loss ${testLoss.toFixed(3)}</p><blockquote style="white-space: pre-line">${escaped(sample)}</blockquote>`,
  )
  return { kind: 'picture', title: 'What it writes while it learns', html: entries.join('\n') }
}
