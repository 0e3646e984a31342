// Holds derivatives along one line against differences.
import type { Layout, Vector } from './layout.js'
import { edgeNote } from './notes.js'
import type { Line, Quotients, Weights } from './numeric.js'
import type { Along } from './side.js'
import type { LinePlace, Tally } from './tally.js'

export interface Comparison {
  /**
   * Compares every component's derivative along a line.
   *
   * @param scales over what distances the function may change along it
   */
  along(line: Line, scales: readonly number[], place: LinePlace, analytic: Along): void
}

/** What is compared, and where findings go. */
export interface Setting {
  /** f at the point. */
  readonly center: Vector
  /** Which components of f are compared. */
  readonly weights: Weights
  readonly outputs: Layout
  readonly tally: Tally
  readonly notes: Set<string>
}

/** Notes, once, that an output stops being finite when the point is moved. */
export class EdgeWatch {
  private noted = false

  constructor(private readonly setting: Setting) {}

  look({ name }: LinePlace, ends: readonly Vector[]): void {
    if (this.noted) return
    const { center, outputs, notes } = this.setting
    for (const end of ends) {
      const entry = end.findIndex((value, i) => !Number.isFinite(value) && Number.isFinite(center[i]))
      if (entry < 0) continue
      notes.add(edgeNote(outputs, entry, end[entry] as number, name))
      this.noted = true
      return
    }
  }
}

/** Slopes left and right of a smooth function, or of a place without a derivative. */
export type Kind = 'smooth' | 'kink' | 'jump'

/** A derivative confirmed at a kink: one within the slopes left and right. */
export function isBetween(analytic: number, { left, right }: Quotients, slack: number): boolean {
  return analytic >= Math.min(left, right) - slack && analytic <= Math.max(left, right) + slack
}
