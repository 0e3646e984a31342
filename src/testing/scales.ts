// Over what distances an input's entries are moved, where nobody says it: by their own sizes.
import type { Layout, Vector } from './layout.js'

/** Entries smaller than this count as 0. */
const TINY = 1e-100

/** Each entry's size, and that of the largest of its input, as powers of 2, so that steps are taken exactly. */
export class Scales {
  /** An entry's own size; where it is 0, the largest of its input, or 1. */
  readonly own: Vector
  private readonly largest: Vector

  constructor(point: Vector, inputs: Layout) {
    this.own = new Float64Array(point.length)
    this.largest = new Float64Array(point.length)
    const parts = inputs.split(point)
    const owns = inputs.split(this.own)
    const largests = inputs.split(this.largest)
    parts.forEach((part, i) => {
      const largest = part.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
      const common = largest > TINY ? powerBelow(largest) : 1
      largests[i]?.fill(common)
      owns[i]?.set(part.map((x) => (Math.abs(x) > TINY ? powerBelow(Math.abs(x)) : common)))
    })
  }

  /**
   * The distances to try for an entry, until one shows the derivative well enough: its own size; larger ones, in case
   * rounding drowns what so small a step changes; smaller ones, in case the function changes over less.
   */
  of(entry: number): readonly number[] {
    const own = this.own[entry] as number
    const largest = this.largest[entry] as number
    const larger = [largest, 1].filter((scale, i, all) => scale > 8 * Math.max(own, ...all.slice(0, i)))
    return [own, ...larger, ...smallerThan(own)]
  }
}

/** Distances to try along a direction that is scaled already. */
export const UNIT_SCALES: readonly number[] = [1, ...smallerThan(1)]

function smallerThan(scale: number): number[] {
  return [scale * 2 ** -10, scale * 2 ** -20, scale * 2 ** -30]
}

/** The largest power of 2 up to x. */
function powerBelow(x: number): number {
  const power = 2 ** Math.floor(Math.log2(x))
  return power > x ? power / 2 : power
}
