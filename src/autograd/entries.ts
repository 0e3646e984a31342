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
    for (const parent of (entries[next] as TapeNode).parents) {
      if (parent !== null && parent.visit !== visit) {
        parent.visit = visit
        entries.push(parent)
      }
    }
  }
  return entries.sort((a, b) => b.id - a.id)
}
