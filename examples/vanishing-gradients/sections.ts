import * as Plot from '@observablehq/plot'
import { DEAD } from '../satellite-attention/random-weights.js'
import { logarithmicTick } from '../support/curves.js'
import { type Part, type Picture, paragraph, type Section, type Table, table } from '../support/document.js'
import { BLUE, figure, legend, ORANGE } from '../support/figure.js'
import { percent, readable } from '../support/format.js'
import {
  BATCH,
  type Course,
  type Look,
  OPTIMIZERS,
  type OptimizerName,
  TARGET,
  TEST,
  type Training,
} from './training.js'

const SERIES = [
  { of: 'unscaled', colour: ORANGE, name: 'unscaled' },
  { of: 'scaled', colour: BLUE, name: 'scaled' },
] as const

export function trainingSection(results: readonly Training[], steps: number): Section {
  const optimizers = [...new Set(results.map(({ optimizer }) => optimizer))]
  return {
    title: 'Experiment 3: training with and without 1/√d_k',
    parts: [
      paragraph(
        `The task is associative recall, of the example of that name: each of 16 rows holds a key, the key of another row and a value, and is to find the value under the key it asks for. One attention head of d_k from 16 to 1024 is given ${steps} steps to learn it, on ${BATCH} new sequences each, from weights that give the entries of queries and keys unit variance. Scaled and unscaled heads have the same weights at first, the same sequences, and the same optimiser. Loss: mean((Y − T)²), where always answering 0 has a loss of 1. All numbers are of ${TEST} sequences not trained on.`,
      ),
      paragraph(
        `What to look for in the Jacobians is the beginning. Unscaled, many rows are dead before the first step, and the more of them the larger d_k is. At the end, small ones are no fault: a head that has learned to look keys up puts nearly all weight on one row, and ought to (what is less than ${LEAST} is drawn at the lower edge). Dead rows hinder less than their number suggests, for all rows share W_Q and W_K: the few that have a gradient teach the weights for all. Where hardly a row is dead, the unscaled head may even be the faster one, for the gradients of its scores are √d_k times as large. And SGD takes steps in proportion to the gradient, whereas Adam divides by its size and makes up for some of what was lost.`,
      ),
      firstRows(results.filter(({ optimizer }) => optimizer === optimizers[0])),
      ...optimizers.flatMap((optimizer) =>
        parts(
          optimizer,
          results.filter((result) => result.optimizer === optimizer),
        ),
      ),
    ],
  }
}

const regimes = (group: string) => ['unscaled', 'scaled'].map((head) => ({ head, group }))
const both = (result: Training, show: (course: Course) => string) => [show(result.unscaled), show(result.scaled)]

/** What the rows are like at first, the same for every optimiser. */
function firstRows(results: readonly Training[]): Table {
  return table(
    'The rows before the first step',
    [{ head: 'd_k' }, ...regimes('median ‖D_s a‖_F'), ...regimes(`rows < ${DEAD}`)],
    results.map((result) => [
      String(result.keyDim),
      ...both(result, ({ looks }) => readable(looks[0]?.jacobianNorm ?? 0)),
      ...both(result, ({ looks }) => percent(looks[0]?.deadRows ?? 0)),
    ]),
  )
}

function parts(optimizer: OptimizerName, results: readonly Training[]): Part[] {
  const { text } = OPTIMIZERS[optimizer]
  return [
    table(
      `${text}: steps to a loss of ${TARGET}, and the end`,
      [{ head: 'd_k' }, ...regimes(`steps to ${TARGET}`), ...regimes('loss at the end'), ...regimes('rows found')],
      results.map((result) => [
        String(result.keyDim),
        ...both(result, ({ stepsToTarget }) => String(stepsToTarget ?? 'never')),
        ...both(result, ({ looks }) => readable(looks.at(-1)?.loss ?? 0)),
        ...both(result, ({ looks }) => percent(looks.at(-1)?.found ?? 0)),
      ]),
    ),
    panels(`${optimizer}: the loss`, 'loss', results, ({ loss }) => loss),
    panels(
      `${optimizer}: ‖D_s a‖_F of the rows, the median and the middle half`,
      '‖D_s a‖_F',
      results,
      ({ jacobianNorm }) => jacobianNorm,
      ({ jacobianQuartiles }) => jacobianQuartiles,
    ),
  ]
}

/** What is less is drawn here, at the lower edge: a logarithmic axis has no place for 0. */
const LEAST = 1e-12
const shown = (value: number) => Math.max(LEAST, value)

/** A panel for each d_k, side by side. */
function panels(
  title: string,
  quantity: string,
  results: readonly Training[],
  value: (look: Look) => number,
  band?: (look: Look) => readonly [number, number],
): Picture {
  const svg = figure(title, {
    height: 280,
    marginLeft: 60,
    marginTop: 40,
    marginBottom: 44,
    fx: {
      label: null,
      domain: results.map(({ keyDim }) => keyDim),
      tickFormat: (keyDim: number) => `d_k = ${keyDim}`,
      padding: 0.2,
    },
    x: { label: 'step →', labelArrow: 'none', ticks: 2 },
    y: {
      type: 'log',
      grid: true,
      label: `↑ ${quantity} (logarithmic)`,
      labelArrow: 'none',
      tickFormat: logarithmicTick,
    },
    marks: SERIES.flatMap(({ of, colour }) => {
      const points = results.flatMap((result) =>
        result[of].looks.map((look) => ({
          keyDim: result.keyDim,
          step: look.step,
          value: shown(value(look)),
          band: (band?.(look) ?? []).map(shown),
        })),
      )
      const at = { x: 'step', fx: 'keyDim' } as const
      return [
        ...(band === undefined
          ? []
          : [
              Plot.areaY(points, {
                ...at,
                y1: (point: (typeof points)[number]) => point.band[0],
                y2: (point: (typeof points)[number]) => point.band[1],
                fill: colour,
                fillOpacity: 0.18,
              }),
            ]),
        Plot.lineY(points, { ...at, y: 'value', stroke: colour, strokeWidth: 2 }),
      ]
    }),
  })
  return { kind: 'picture', title, html: legend(SERIES) + svg }
}

/** What was measured, whatever it is: a sentence for each optimiser. */
export function verdictOn(results: readonly Training[]): string {
  const optimizers = [...new Set(results.map(({ optimizer }) => optimizer))]
  const sentences = optimizers.map((optimizer) => {
    const own = results.filter((result) => result.optimizer === optimizer)
    const steps = (of: 'scaled' | 'unscaled') => own.map((result) => result[of].stepsToTarget ?? 'never').join(', ')
    const keyDims = own.map(({ keyDim }) => keyDim).join(', ')
    return `With ${optimizer}, the steps to a loss of ${TARGET} at d_k = ${keyDims}: ${steps('scaled')} with 1/√d_k, ${steps('unscaled')} without.`
  })
  return sentences.length === 0 ? 'The training was stopped.' : sentences.join(' ')
}
