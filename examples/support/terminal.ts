import type { WriteStream } from 'node:tty'
import { Chalk, type ChalkInstance } from 'chalk'
import { getBorderCharacters, table } from 'table'
import type { Part, Section, Table } from './document.js'
import { dotPlot } from './dot-plot.js'

const WIDTH = 88

/** Colours as the output can show them: Node heeds NO_COLOR, TERM and what is known of terminals; a pipe has none. */
export function coloursOf(stream: Partial<WriteStream>): ChalkInstance {
  const depth = stream.isTTY === true ? (stream.getColorDepth?.() ?? 1) : 1
  return new Chalk({ level: depth >= 24 ? 3 : depth >= 8 ? 2 : depth >= 4 ? 1 : 0 })
}

/** A section as text of a terminal. */
export function renderSection({ title, parts }: Section, colours: ChalkInstance): string {
  const blocks = [colours.bold.underline(title), ...parts.flatMap((part) => renderPart(part, colours) ?? [])]
  return blocks.map((block) => `${block}\n`).join('\n')
}

function renderPart(part: Part, colours: ChalkInstance): string | null {
  switch (part.kind) {
    case 'text':
      return wrap(part.text)
    case 'table':
      return `${colours.bold(part.title)}\n${renderTable(part)}`
    case 'chart':
      return `${colours.bold(part.title)}\n${dotPlot(part)}`
    case 'picture':
      return part.terminal?.(colours) ?? null
  }
}

function wrap(text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

function renderTable({ columns, rows }: Table): string {
  const groups = columns.map(({ group = '' }) => group)
  const grouped = groups.some((group) => group !== '')
  const headings = groups.map((group, i) => (i > 0 && group === groups[i - 1] ? '' : group))
  const header = [...(grouped ? [headings] : []), columns.map(({ head }) => head)]
  const text = table([...header, ...rows.map((row) => [...row])], {
    border: { ...getBorderCharacters('void'), bodyJoin: '', joinBody: '─', joinJoin: '─' },
    columns: columns.map((column, i) => ({
      alignment: column.text === true ? 'left' : 'right',
      paddingLeft: 0,
      paddingRight: i === columns.length - 1 ? 0 : 2,
    })),
    drawHorizontalLine: (line) => line === header.length,
    spanningCells: groups.flatMap((group, col) => {
      const colSpan = groups.slice(col).findIndex((other) => other !== group)
      const span = colSpan === -1 ? groups.length - col : colSpan
      const first = group !== '' && headings[col] === group
      return first && span > 1 ? [{ row: 0, col, colSpan: span, alignment: 'center' as const }] : []
    }),
  })
  return text.replace(/ +$/gm, '').trimEnd()
}
