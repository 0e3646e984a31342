import type { LayerCheck } from './gradients.js'
import type { Walk } from './walk.js'

/** The outcome of a run. */
export interface Verdict {
  readonly text: string
  readonly exitCode: 0 | 1
}

/** Passes where the steps agree with the layer and every gradient with its finite differences. */
export function verdictOf(walk: Pick<Walk, 'ok'>, checks: readonly Pick<LayerCheck, 'title' | 'weights'>[]): Verdict {
  const failed = checks.flatMap(({ title, weights }) =>
    weights.filter(({ ok }) => !ok).map(({ weight }) => `∂L/∂${weight.replace('W', 'W_')} (${title})`),
  )
  if (!walk.ok) failed.unshift('A and Y of the layer')
  if (failed.length > 0) return { text: `FAIL: ${failed.join(', ')}.`, exitCode: 1 }
  return {
    text: 'The four weight gradients agree with finite differences, on the layer of the tile and on a small one.',
    exitCode: 0,
  }
}
