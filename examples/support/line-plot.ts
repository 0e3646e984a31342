import * as Plot from '@observablehq/plot'
import type { Picture } from './document.js'
import { BLUE, figure, ORANGE } from './figure.js'

/** A quantity over another, from left to right. */
export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

/** A value that lines are compared with. */
export interface Level {
  readonly name: string
  readonly value: number
}

/** Lines with one pair of axes, both linear. */
export interface LinePlot {
  readonly title: string
  /** What is drawn to the right, and upwards. */
  readonly x: string
  readonly y: string
  /** At most as many as there are colours: four. */
  readonly lines: readonly Line[]
  /** Drawn across, dashed. */
  readonly levels?: readonly Level[]
  /** The range of y; default: from 0 to the largest value. */
  readonly range?: readonly [number, number]
  readonly format?: (y: number) => string
}

// Each line is named at its end as well.
const COLOURS = [BLUE, ORANGE, '#2a9d74', '#a678d8']
const [HEIGHT, TOP, BOTTOM] = [340, 32, 44]
/** Pixels from name to name. */
const LINE_HEIGHT = 17

/** The lines as a picture of a page. */
export function linePlot({ title, x, y, lines, levels = [], range, format = String }: LinePlot): Picture {
  const values = [...lines.flatMap(({ points }) => points.map(([, value]) => value)), ...levels.map((l) => l.value)]
  const [low, high] = range ?? [0, Math.max(...values) * 1.05]
  const ends = [
    ...lines.map(({ name, points }, i) => ({ name, colour: COLOURS[i] ?? 'currentColor', y: points.at(-1)?.[1] ?? 0 })),
    ...levels.map(({ name, value }) => ({ name, colour: 'currentColor', y: value })),
  ]
  const pixels = ends.map((end) => ((high - end.y) / (high - low)) * (HEIGHT - TOP - BOTTOM))
  const places = apart(pixels, HEIGHT - TOP - BOTTOM)
  const right = Math.max(...lines.flatMap(({ points }) => points.map(([place]) => place)))
  const html = figure(title, {
    height: HEIGHT,
    marginLeft: 60,
    marginRight: 20 + 7.5 * Math.max(...ends.map(({ name }) => name.length)),
    marginTop: TOP,
    marginBottom: BOTTOM,
    x: { label: `${x} →`, labelArrow: 'none' },
    y: { domain: [low, high], grid: true, label: `↑ ${y}`, labelArrow: 'none', tickFormat: format, ticks: 6 },
    marks: [
      ...levels.map(({ value }) => Plot.ruleY([value], { strokeDasharray: '5 4', strokeOpacity: 0.7 })),
      ...lines.map(({ points }, i) =>
        Plot.line(points, { x: '0', y: '1', stroke: COLOURS[i] ?? 'currentColor', strokeWidth: 2, clip: true }),
      ),
      ...ends.map((end, i) =>
        Plot.text([end], {
          x: () => right,
          y: 'y',
          text: 'name',
          fill: end.colour,
          dx: 8,
          dy: (places[i] ?? 0) - (pixels[i] ?? 0),
          textAnchor: 'start',
          fontWeight: 600,
        }),
      ),
    ],
  })
  return { kind: 'picture', title, html }
}

/** Places as they are given where that leaves room for a line of text at each; else moved apart, in their order. */
function apart(places: readonly number[], room: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0))
  const moved = [...places]
  let lowest = Number.NEGATIVE_INFINITY
  for (const i of order) {
    lowest = Math.max(places[i] ?? 0, lowest + LINE_HEIGHT)
    moved[i] = lowest
  }
  // What went beyond the bottom comes back up.
  let highest = room
  for (const i of order.reverse()) {
    highest = Math.min(moved[i] ?? 0, highest)
    moved[i] = highest
    highest -= LINE_HEIGHT
  }
  return moved
}
