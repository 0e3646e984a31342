import type { TapeNode } from '../core/node.js'
import { type Shape, showShape } from '../core/shape.js'
import { formatTable } from '../core/table.js'
import type { Tensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import type { Storage } from '../memory/storage.js'
import { checkTensor } from '../ops/arguments.js'
import { currentCollector, withCollector } from './collect.js'
import { dot, mermaid } from './diagram.js'
import { entriesOf } from './entries.js'

/** One line of the tape. */
export interface TapeEntry {
  /** Rises in the order of execution. */
  readonly id: number
  /** The operation's name; `leaf` for a tensor with `requiresGrad` that no operation made. */
  readonly op: string
  /** The entries that the inputs came from, by id; null for inputs that need no gradient. */
  readonly inputs: readonly (number | null)[]
  readonly inputShapes: readonly Shape[]
  readonly shape: Shape
  /** Bytes of the values saved for the backward sweep; values saved by several entries count in each. */
  readonly bytesSaved: number
  /** Whether a sweep has passed and given the saved values up. */
  readonly released: boolean
}

/** The Wengert list behind a tensor, in the order of execution. */
export interface Tape {
  readonly entries: readonly TapeEntry[]
  /** Bytes of all saved values, each counted once. */
  readonly bytesSaved: number
  /** The entries as a table: id, op, inputs with their shapes, output shape, bytes saved. */
  toString(): string
  /** The entries as a flowchart in the language of Mermaid. */
  toMermaid(): string
  /** The entries as a digraph in the DOT language of Graphviz. */
  toDot(): string
}

/**
 * The tape that `backward` would sweep from a tensor: empty where it needs no gradient. Of a function, which is called
 * without arguments: all that the call records, whether its result depends on it or not, and the leaves that it reads;
 * what a transform inside of it records is its own. A picture taken now.
 */
export function tapeOf(subject: Tensor | (() => unknown)): Tape {
  if (typeof subject === 'function') return picture(recordedBy(subject))
  checkTensor('tapeOf', subject)
  return picture(subject.node === null ? [] : entriesOf([subject.node]).reverse())
}

function recordedBy(fn: () => unknown): TapeNode[] {
  const nodes = new Set<TapeNode>()
  const around = currentCollector()
  withCollector(
    (node, output) => {
      for (const parent of node.parents) if (parent !== null && parent.operation === null) nodes.add(parent)
      nodes.add(node)
      around?.(node, output)
    },
    () => publicly(fn),
  )
  return [...nodes].sort((a, b) => a.id - b.id)
}

function picture(nodes: readonly TapeNode[]): Tape {
  const entries = nodes.map(entryOf)
  const storages = new Set<Storage>()
  for (const node of nodes) for (const tensor of keptBy(node)) storages.add(tensor.storage)
  let bytesSaved = 0
  for (const storage of storages) bytesSaved += storage.bytes
  return {
    entries,
    bytesSaved,
    toString: () => table(entries, bytesSaved),
    toMermaid: () => mermaid(entries),
    toDot: () => dot(entries),
  }
}

/** The values that an entry keeps: its saved ones, or what a checkpoint keeps in place of them. */
function keptBy(node: TapeNode): readonly Tensor[] {
  const saved = node.saved.filter((tensor) => tensor !== null)
  return node.segment === null || node.released ? saved : [...saved, ...node.segment.heldBy(node)]
}

function entryOf(node: TapeNode): TapeEntry {
  const storages = new Set(keptBy(node).map(({ storage }) => storage))
  return {
    id: node.id,
    op: node.operation?.name ?? 'leaf',
    inputs: node.parents.map((parent) => parent?.id ?? null),
    inputShapes: node.inputShapes,
    shape: node.shape,
    bytesSaved: [...storages].reduce((total, storage) => total + storage.bytes, 0),
    released: node.released,
  }
}

function table(entries: readonly TapeEntry[], bytesSaved: number): string {
  const rows = entries.map((entry) => [
    String(entry.id),
    entry.op,
    entry.inputShapes.map((shape, i) => `${entry.inputs[i] ?? '·'} ${showShape(shape)}`).join(', '),
    showShape(entry.shape),
    entry.released ? 'released' : String(entry.bytesSaved),
  ])
  const lines = formatTable(['id', 'op', 'inputs', 'output', 'bytes saved'], rows, [0, 4])
  return [...lines, `${entries.length} entries, ${bytesSaved} bytes saved`].join('\n')
}
