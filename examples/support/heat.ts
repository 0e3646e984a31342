// Weights of attention as colours over the patches of an image.
import * as Plot from '@observablehq/plot'

/** One square picture: an image, a grid of weights, or weights over an image. */
export interface Panel {
  /** What is written below it, in at most two lines. */
  readonly label: readonly string[]
  /** The image, as a URI. */
  readonly image?: string
  /** A weight for each place of a square grid, row by row. */
  readonly weights?: readonly number[]
  /** Places of the grid with a frame around them. */
  readonly framed?: readonly number[]
  /** Lines between places of the grid, where this differs from one to the next. */
  readonly sides?: readonly boolean[]
}

/** Rows of panels with a scale of their colours below. */
export interface Heatmaps {
  /** Read to those who cannot see it. */
  readonly label: string
  /** What stands above the columns. */
  readonly heads: readonly string[]
  readonly rows: readonly (readonly Panel[])[]
  /** Places along a side of the grid. */
  readonly grid: number
  /** The weight from which on all have the last colour. */
  readonly top: number
  /** What a weight is, for the scale. */
  readonly quantity: string
}

const [SIZE, GAP, HEAD, LINE, SCALE] = [124, 12, 22, 15, 46]

/** The panels as an SVG element. */
export function heatmaps({ label: name, heads, rows, grid, top, quantity }: Heatmaps): string {
  const colour = Plot.scale({ color: { type: 'linear', domain: [0, top], scheme: 'viridis', clamp: true } }).apply
  const width = Math.max(heads.length, ...rows.map((row) => row.length)) * (SIZE + GAP) - GAP
  const label = 8 + LINE * Math.max(...rows.flat().map((panel) => panel.label.length))
  const height = HEAD + rows.length * (SIZE + label + GAP) + SCALE
  const headings = heads.map((head, i) => text(i * (SIZE + GAP) + SIZE / 2, 14, head, 'middle', 600))
  const panels = rows.flatMap((row, j) =>
    row.map(
      (panel, i) =>
        `<g transform="translate(${i * (SIZE + GAP)} ${HEAD + j * (SIZE + label + GAP)})">${draw(panel, grid, colour)}</g>`,
    ),
  )
  const scale = Array.from({ length: 50 }, (_, i) => {
    const share = i / 50
    return `<rect x="${share * 200}" y="0" width="4" height="12" fill="${colour((share + 0.01) * top)}"/>`
  })
  const legend = `<g transform="translate(0 ${height - SCALE + 8})">${scale.join('')}${text(0, 27, '0', 'start')}${text(200, 27, `${number(top)} or more`, 'end')}${text(212, 11, quantity, 'start')}</g>`
  return `<svg class="heatmaps" role="img" aria-label="${name}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-size="12" font-family="system-ui, sans-serif">${headings.join('')}${panels.join('')}${legend}</svg>`
}

function draw(
  { label, image, weights, framed = [], sides = [] }: Panel,
  grid: number,
  colour: (value: number) => string,
): string {
  const cell = SIZE / grid
  const at = (place: number) => [(place % grid) * cell, Math.floor(place / grid) * cell] as const
  const parts: string[] = []
  if (image !== undefined) {
    parts.push(`<image href="${image}" width="${SIZE}" height="${SIZE}" style="image-rendering: pixelated"/>`)
  }
  weights?.forEach((weight, place) => {
    const [x, y] = at(place)
    const opacity = image === undefined ? '' : ' fill-opacity="0.6"'
    parts.push(
      `<rect x="${x}" y="${y}" width="${cell}" height="${cell}" fill="${colour(weight)}"${opacity} shape-rendering="crispEdges"/>`,
    )
  })
  const borders = sides.flatMap((side, place) => {
    const [x, y] = at(place)
    const beside = place % grid < grid - 1 && sides[place + 1] !== side
    const below = place + grid < sides.length && sides[place + grid] !== side
    return [beside ? `M${x + cell} ${y}v${cell}` : '', below ? `M${x} ${y + cell}h${cell}` : '']
  })
  if (borders.length > 0) parts.push(`<path d="${borders.join('')}" fill="none" stroke="#fff" stroke-width="1.5"/>`)
  for (const place of framed) {
    const [x, y] = at(place)
    parts.push(
      `<rect x="${x}" y="${y}" width="${cell}" height="${cell}" fill="none" stroke="#ff3b30" stroke-width="2.5"/>`,
    )
  }
  label.forEach((line, i) => {
    parts.push(text(SIZE / 2, SIZE + (i + 1) * LINE, line, 'middle'))
  })
  return parts.join('')
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', weight = 400): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-weight="${weight}" fill="currentColor">${content}</text>`
}

function number(value: number): string {
  return String(Number(value.toPrecision(2)))
}
