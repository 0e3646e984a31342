import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

// Colours that stand out on white as on black, and for the colour-blind.
export const ORANGE = '#d9622b'
export const BLUE = '#3b8fd0'

/** The pixels of a figure as wide as the text of a page. */
export const WIDTH = 720

/** A plot as an SVG element for a web page that needs neither scripts nor network. Its text takes the page's colour. */
export function figure(label: string, options: Plot.PlotOptions): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const element = Plot.plot({
    width: WIDTH,
    ...options,
    document: document as unknown as Document,
    ariaLabel: label,
    style: { background: 'none', fontSize: '13px' },
  })
  element.setAttribute('role', 'img')
  return element.outerHTML
}

/** What the colours of a figure mean, to stand above it. */
export function legend(entries: readonly { readonly colour: string; readonly name: string }[]): string {
  const spans = entries.map(({ colour, name }) => `<span style="color: ${colour}; font-weight: 600">${name}</span>`)
  return `<p>${spans.join(' &ensp; ')}</p>`
}
