import * as Plot from '@observablehq/plot'
import type { Picture } from './document.js'
import { figure, legend, WIDTH } from './figure.js'

/** Something measured while a model learns. */
export interface Curve {
  readonly name: string
  readonly colour: string
  /** Pairs of a step and a value. */
  readonly points: readonly (readonly [number, number])[]
}

/** Curves over the steps of a training, on a logarithmic axis, with their names above them. */
export function curves(title: string, quantity: string, given: readonly Curve[]): Picture {
  const svg = figure(title, {
    height: 300,
    marginLeft: 60,
    marginTop: 32,
    marginBottom: 44,
    x: { label: 'step →', labelArrow: 'none' },
    y: {
      type: 'log',
      grid: true,
      label: `↑ ${quantity} (logarithmic)`,
      labelArrow: 'none',
      tickFormat: logarithmicTick,
    },
    marks: given.map(({ colour, points }) =>
      Plot.lineY(points, { x: '0', y: '1', stroke: colour, strokeWidth: points.length > WIDTH ? 1 : 2 }),
    ),
  })
  return { kind: 'picture', title, html: given.length > 1 ? legend(given) + svg : svg }
}

/** Numbers of ordinary size plainly. */
export function logarithmicTick(value: number): string {
  return value >= 1e-3 && value < 1e4 ? String(Number(value.toPrecision(3))) : value.toExponential(0)
}
