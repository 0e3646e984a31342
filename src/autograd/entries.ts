import type { TapeNode } from '../core/node.js'

let visits = 0

/**
 * The entries that the roots depend on, themselves included, from the highest id to the lowest. As ids rise in the order of
 * execution, each stands before everything it was computed from. Iterative, so that depth does not matter.
 */
export function entriesOf(roots: readonly TapeNode[]): TapeNode[] {
  const visit = ++visits
  const entries: TapeNode[] = []
  for (const root of roots) {
    if (root.visit === visit) continue
    root.visit = visit
    entries.push(root)
  }
  for (let next = 0; next < entries.length; next++) {
    const { parents } = entries[next] as TapeNode
    for (let i = 0; i < parents.length; i++) {
      const parent = parents[i] as TapeNode | null
      if (parent !== null && parent.visit !== visit && !parent.retired) {
        parent.visit = visit
        entries.push(parent)
      }
    }
  }
  return descending(entries)
}

/** Up to this many entries, insertion is the faster way: they are nearly in order already. */
const FEW = 64

/** Sorts entries in place, from the highest id to the lowest. */
function descending(entries: TapeNode[]): TapeNode[] {
  if (entries.length > FEW) return entries.sort((a, b) => b.id - a.id)
  for (let i = 1; i < entries.length; i++) {
    const entry = entries[i] as TapeNode
    let place = i
    for (; place > 0 && (entries[place - 1] as TapeNode).id < entry.id; place--) {
      entries[place] = entries[place - 1] as TapeNode
    }
    entries[place] = entry
  }
  return entries
}

/** The part of a tape between roots and targets. */
export interface Course {
  /** The entries that lead from a root to a target, roots and targets included, from the highest id to the lowest. */
  readonly entries: readonly TapeNode[]
  readonly leading: ReadonlySet<TapeNode>
  /** Whether the roots also depend, through the targets or past them, on something recorded before the targets. */
  readonly outside: boolean
}

/** The entries between roots and targets. What was recorded before the first target is not looked at. */
export function entriesBetween(roots: readonly TapeNode[], targets: readonly TapeNode[]): Course {
  const visit = ++visits
  const goals = new Set(targets)
  const floor = targets.reduce((lowest, { id }) => Math.min(lowest, id), Number.POSITIVE_INFINITY)
  const found: TapeNode[] = []
  let outside = false
  const meet = (node: TapeNode | null): void => {
    if (node === null || node.visit === visit) return
    node.visit = visit
    if (goals.has(node)) found.push(node)
    else if (node.retired) return
    else if (node.id < floor || node.operation === null) outside = true
    else found.push(node)
  }
  for (const root of roots) meet(root)
  for (let next = 0; next < found.length; next++) for (const parent of (found[next] as TapeNode).parents) meet(parent)
  found.sort((a, b) => a.id - b.id)
  const leading = new Set<TapeNode>()
  for (const node of found) {
    if (goals.has(node) || node.parents.some((parent) => parent !== null && leading.has(parent))) leading.add(node)
  }
  return { entries: [...leading].reverse(), leading, outside }
}
