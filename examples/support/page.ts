import { plotChart } from './chart.js'
import type { Part, Section, Table } from './document.js'

/** What the head of a page says. */
export interface Page {
  readonly title: string
  /** A sentence or two below it: the outcome. */
  readonly lead: string
  /** Styles of its own pictures. */
  readonly style?: string
}

/** A page of HTML that stands by itself: the pictures and styles are in it, and it needs no scripts. */
export function renderPage({ title, lead, style = '' }: Page, sections: readonly Section[]): string {
  const body = sections.map(
    ({ title: heading, parts }) => `<section>
<h2>${rich(heading)}</h2>
${parts.map(renderPart).join('\n')}
</section>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${commonStyle}${style}</style>
</head>
<body>
<main>
<h1>${rich(title)}</h1>
<p>${rich(lead)}</p>
${body.join('\n')}
</main>
</body>
</html>
`
}

function renderPart(part: Part): string {
  switch (part.kind) {
    case 'text':
      return `<p>${rich(part.text)}</p>`
    case 'table':
      return renderTable(part)
    case 'chart':
      return `<figure><figcaption>${rich(part.title)}</figcaption>${withIndices(plotChart(part))}${bandNote(part)}</figure>`
    case 'picture': {
      const caption = part.title === undefined ? '' : `<figcaption>${rich(part.title)}</figcaption>`
      return `<figure>${caption}${withIndices(part.html)}</figure>`
    }
  }
}

function bandNote({ series }: Extract<Part, { kind: 'chart' }>): string {
  return series.some((one) => one.band !== undefined) ? '<p>Shaded: the middle half of the rows.</p>' : ''
}

function renderTable({ title, columns, rows }: Table): string {
  const groups: { head: string; span: number }[] = []
  for (const { group = '' } of columns) {
    const last = groups.at(-1)
    if (last !== undefined && group !== '' && last.head === group) last.span++
    else groups.push({ head: group, span: 1 })
  }
  const side = (column: number) => (columns[column]?.text === true ? ' class="text"' : '')
  const row = (cells: readonly string[], tag: 'td' | 'th') =>
    `<tr>${cells.map((cell, i) => `<${tag}${side(i)}>${rich(cell)}</${tag}>`).join('')}</tr>`
  const above = groups.some(({ head }) => head !== '')
    ? `<tr>${groups.map(({ head, span }) => (head === '' ? '<td></td>' : `<th class="group" colspan="${span}">${rich(head)}</th>`)).join('')}</tr>`
    : ''
  return `<div class="wide"><table>
<caption>${rich(title)}</caption>
<thead>${above}${row(
    columns.map(({ head }) => head),
    'th',
  )}</thead>
<tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody>
</table></div>`
}

/** Text as HTML. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const index = /(?<=[\p{L}‖])_(Q|K|V|O|F|k|v|s|n|near|far|row|concat)(?![A-Za-z0-9])/gu

/** Text with the indices of its symbols (W_Q, d_k) set as such. */
function rich(text: string): string {
  return escaped(text).replace(index, '<sub>$1</sub>')
}

/** The same in the text of an SVG element. */
function withIndices(svg: string): string {
  return svg.replace(/>[^<]*_[^<]*</g, (text) =>
    text.replace(index, '<tspan dy="0.3em" font-size="75%">$1</tspan><tspan dy="-0.225em">\u200b</tspan>'),
  )
}

const commonStyle = `
:root { color-scheme: light dark; --background: #fff; --text: #1b1f24; --faint: #667; --line: #ccd; }
@media (prefers-color-scheme: dark) { :root { --background: #14171c; --text: #e4e7eb; --faint: #9aa4b2; --line: #3a414c; } }
body { margin: 0; background: var(--background); color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 3rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
sub { line-height: 0; font-size: .75em; }
.wide { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption, figcaption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; color: var(--faint); }
thead tr:last-child th { border-bottom: 1px solid var(--line); }
.text { text-align: left; }
.group { text-align: center; border-bottom: 1px solid var(--line); }
figure { margin: 1.5rem 0; }
figure p { margin: .2rem 0; font-size: .875rem; color: var(--faint); }
figure > svg { --plot-background: var(--background); max-width: 100%; height: auto; }
`
