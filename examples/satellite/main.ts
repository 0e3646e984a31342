import { main } from '../support/example.js'
import { loadEarth } from './earth.js'
import { errorsOf } from './errors.js'
import { gazes, meanAround } from './gaze.js'
import { summarise } from './gaze-summary.js'
import type { PositionKind } from './model.js'
import {
  errorSection,
  gazeSection,
  outcome,
  positionName,
  type Ranked,
  taskSection,
  untrainedSection,
} from './sections.js'
import { colourStatistics, placesOf, sharesOf, TEST, TILE, TRAIN, testTiles } from './tiles.js'
import { examOf, type Trained, trainModel } from './training.js'

/** Held-out tiles that the models are tested with. */
const TESTED = 1024
/**
 * Attention is drawn where the error is below so much of the mean's: that of a model that has learned nothing can be a
 * little below it.
 */
const LEARNED = 0.75
const KINDS: readonly PositionKind[] = ['none', '1-D', '2-D']

await main({
  name: 'satellite',
  title: 'What is hidden in a satellite tile?',
  description:
    'Trains a small transformer to tell the share of water in a hidden patch of a satellite tile, with no, 1-D and 2-D ' +
    'positions, and shows where the patch looks.',
  steps: 1000,
  async run({ seed, steps }, show) {
    const earth = await loadEarth()
    const places = placesOf(earth, TRAIN)
    const colours = colourStatistics(earth, places)
    const exam = examOf(earth, testTiles(placesOf(earth, TEST), TESTED), colours)
    show(taskSection(places.length, exam))

    const mean = places.reduce((sum, { left, top }) => sum + earth.waterIn(left, top, TILE, TILE), 0) / places.length
    const rank = (name: string, predictions: readonly number[]): Ranked => ({
      name,
      errors: errorsOf(predictions, exam.truth),
    })
    const always = rank(
      'the mean',
      exam.tiles.map(() => mean),
    )
    const around = exam.tiles.map((tile) => meanAround(sharesOf(earth, tile), tile.hidden))
    const neighbours = rank('the neighbours’ average', around)

    const trained: Trained[] = []
    for (const kind of KINDS) {
      console.error(positionName(kind))
      trained.push(await trainModel(kind, { earth, places, colours, exam, steps, seed }))
    }
    const models = trained.map(({ kind, predictions }) => rank(positionName(kind), predictions))
    const best = trained.at(-1) as Trained
    const ranked = [always, neighbours, ...models]
    show(
      errorSection(
        ranked,
        trained,
        best.model.parameters().reduce((sum, { size }) => sum + size, 0),
      ),
    )

    const learned = (models.at(-1) as Ranked).errors.absolute < LEARNED * always.errors.absolute
    const given = learned ? gazes(best.model, exam) : null
    show(given === null ? untrainedSection() : await gazeSection(earth, exam, given, best.predictions))
    return {
      text: outcome(ranked),
      numbers: {
        errors: Object.fromEntries(ranked.map(({ name, errors }) => [name, errors])),
        curves: Object.fromEntries(trained.map(({ kind, curve }) => [kind, curve])),
        losses: Object.fromEntries(trained.map(({ kind, loss }) => [kind, loss])),
        attention: given === null ? null : summarise(earth, exam, given),
      },
    }
  },
})
