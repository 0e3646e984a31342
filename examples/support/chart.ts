import * as Plot from '@observablehq/plot'
import { logarithmicTick } from './curves.js'
import type { Chart } from './document.js'
import { BLUE, figure, ORANGE } from './figure.js'
import { percent } from './format.js'

interface Point {
  readonly series: string
  readonly keyDim: number
  readonly value: number
  readonly band: readonly [number, number]
}

/** A chart as an SVG element for a web page that needs neither scripts nor network. */
export function plotChart({ title, quantity, scale, keyDims, series }: Chart): string {
  const logarithmic = scale === 'log'
  const marks = series.flatMap((one): Plot.Markish[] => {
    const points = keyDims.flatMap((keyDim, i): Point[] => {
      const value = one.values[i]
      // A logarithmic axis has no place for 0.
      if (value === undefined || (logarithmic && value <= 0)) return []
      return [{ series: one.name, keyDim, value, band: one.band?.[i] ?? [value, value] }]
    })
    // Shapes and dashes say the same again.
    const colour = one.scaled ? BLUE : ORANGE
    const dash = one.dashed === true ? { strokeDasharray: '6 4' } : {}
    const at = { x: 'keyDim', y: 'value' } as const
    return [
      ...(one.band === undefined
        ? []
        : [
            Plot.areaY(points, {
              x: 'keyDim',
              y1: (point: Point) => point.band[0],
              y2: (point: Point) => point.band[1],
              fill: colour,
              fillOpacity: 0.18,
            }),
          ]),
      Plot.lineY(points, { ...at, stroke: colour, strokeWidth: 2, ...dash }),
      Plot.dot(points, {
        ...at,
        r: 4,
        stroke: colour,
        strokeWidth: 2,
        fill: one.scaled ? 'var(--background)' : colour,
      }),
      Plot.text(points.slice(-1), {
        ...at,
        text: 'series',
        fill: colour,
        dx: 10,
        textAnchor: 'start',
        fontWeight: 600,
      }),
    ]
  })
  return figure(title, {
    height: 360,
    marginLeft: 60,
    marginRight: 110,
    marginTop: 32,
    marginBottom: 44,
    x: {
      type: 'log',
      base: 4,
      ticks: [...keyDims],
      tickFormat: String,
      label: 'd_k (logarithmic) →',
      labelArrow: 'none',
    },
    y: logarithmic
      ? {
          type: 'log',
          grid: true,
          label: `↑ ${quantity} (logarithmic)`,
          labelArrow: 'none',
          tickFormat: logarithmicTick,
        }
      : { domain: [0, 1], grid: true, label: `↑ ${quantity}`, labelArrow: 'none', tickFormat: percent },
    marks,
  })
}
