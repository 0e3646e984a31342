// What tables of differences tell of one component's derivative.
import type { Extrapolated, Level } from './extrapolation.js'
import { errorBetween, SAFETY } from './verdict.js'

/** Differences for one distance: each level has half the step of the one before. */
export type Table = Level[]

/** A derivative as a table tells it. */
export interface Finding extends Extrapolated {
  /** The table's first step. */
  readonly step: number
  /** Whether no bit of the values has changed. */
  readonly flat: boolean
}

/** That of a whole table, and of its halves. */
export interface WholeFinding extends Finding {
  readonly halves: readonly Finding[]
}

export function isFlat(table: Table, component: number): boolean {
  return table.every(({ slopes }) => slopes.left[component] === 0 && slopes.right[component] === 0)
}

/** The least change of a value that was seen; 0 where there was none. */
export function leastChange(tables: readonly Table[], component: number): number {
  const changes = tables
    .flat()
    .flatMap(({ step, slopes }) =>
      [slopes.left, slopes.right].map((side) => Math.abs(step * (side[component] as number))),
    )
    .filter((change) => change > 0)
  return changes.length === 0 ? 0 : Math.min(...changes)
}

export function agree(a: Finding, b: Finding): boolean {
  return errorBetween(a.value, b.value) <= SAFETY * (a.error + b.error)
}

/** A component whose derivative is not plainly right. */
export class Candidate {
  /** By the tables, in their order. */
  readonly found: WholeFinding[] = []
  settled = false

  constructor(
    readonly component: number,
    readonly analytic: number,
    /** The largest derivative towards the same input. */
    readonly largest: number,
  ) {}

  /**
   * The finding with the least error among those that no finer steps contradict. Steps so short that no bit of the
   * output changes tell less than longer ones.
   */
  best(): Finding {
    const converged = this.found.filter((finding) => finding.converged)
    const moving = converged.filter(({ flat }) => !flat)
    const isRefuted = (finding: Finding) => moving.some((other) => other.step < finding.step && !agree(finding, other))
    const standing = moving.filter((finding) => !isRefuted(finding))
    const finite = this.found.filter(({ value }) => Number.isFinite(value))
    const eligible = [standing, converged, finite, this.found].find(({ length }) => length > 0) as readonly Finding[]
    return eligible.reduce((a, b) => (b.error < a.error ? b : a))
  }
}
