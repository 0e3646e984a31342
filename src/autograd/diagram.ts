// The tape as a picture, in the languages of two drawing tools.
import { showShape } from '../core/shape.js'
import type { TapeEntry } from './tape.js'

/** What stands in an entry's box, line by line. */
function labelOf({ id, op, shape, bytesSaved, released }: TapeEntry): string[] {
  const kept = released ? 'released' : bytesSaved === 0 ? '' : `${bytesSaved} bytes saved`
  return [`${id} ${op}`, showShape(shape), kept].filter((line) => line !== '')
}

interface Edge {
  readonly from: number
  readonly to: number
}

/** One edge for each use of an entry that is listed. */
function edgesOf(entries: readonly TapeEntry[]): Edge[] {
  const listed = new Set(entries.map(({ id }) => id))
  return entries.flatMap(({ id, inputs }) =>
    inputs.flatMap((input) => (input !== null && listed.has(input) ? [{ from: input, to: id }] : [])),
  )
}

/** A flowchart for Mermaid: leaves rounded, results in boxes, arrows in the direction of computation. */
export function mermaid(entries: readonly TapeEntry[]): string {
  const text = (line: string) => line.replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('<', '#lt;')
  const nodes = entries.map((entry) => {
    const label = `"${labelOf(entry).map(text).join('<br/>')}"`
    return `  n${entry.id}${entry.op === 'leaf' ? `([${label}])` : `[${label}]`}`
  })
  const edges = edgesOf(entries).map(({ from, to }) => `  n${from} --> n${to}`)
  return ['flowchart TD', ...nodes, ...edges].join('\n')
}

/** A digraph for Graphviz, in the DOT language: leaves as ellipses, results as boxes. */
export function dot(entries: readonly TapeEntry[]): string {
  const text = (line: string) => line.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  const nodes = entries.map((entry) => {
    const shape = entry.op === 'leaf' ? 'ellipse' : 'box'
    return `  n${entry.id} [shape=${shape}, label="${labelOf(entry).map(text).join('\\n')}"]`
  })
  const edges = edgesOf(entries).map(({ from, to }) => `  n${from} -> n${to}`)
  return ['digraph tape {', ...nodes, ...edges, '}'].join('\n')
}
