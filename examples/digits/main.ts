import { main } from '../support/example.js'
import { loadDigits } from './images.js'
import { accuracySection, attentionSection, taskSection, untrainedSection } from './sections.js'
import { accuracyOf, trainModel } from './training.js'

/** Attention is drawn from this accuracy on: what a model does that knows less would mislead. */
const LEARNED = 0.5

await main({
  name: 'digits',
  title: 'Handwritten digits',
  description:
    'Trains a small vision transformer on 8,000 handwritten digits, tests it on 2,000, and shows where it looks.',
  steps: 3000,
  async run({ seed, steps }, show) {
    const sets = loadDigits()
    show(taskSection(sets))
    const trained = await trainModel(sets, steps, seed)
    show(accuracySection(sets, trained))
    const accuracy = accuracyOf(trained.answers, sets.test)
    show(accuracy < LEARNED ? untrainedSection() : await attentionSection(sets, trained))
    const { result, seconds, curve } = trained
    return {
      text: `Test accuracy ${(100 * accuracy).toFixed(2)} % after ${result.done} steps in ${seconds.toFixed(1)} s, ${result.stepsPerSecond.toFixed(1)} steps per second.`,
      numbers: { accuracy, loss: result.loss, curve },
    }
  },
})
