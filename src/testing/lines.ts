// The lines through the point along which derivatives are compared.
import { ArgumentError } from '../core/errors.js'
import type { Checkable } from './checkable.js'
import { showPlace, type Vector } from './layout.js'
import type { Line } from './numeric.js'

/** Moves one entry. */
export function entryLine(f: Checkable, entry: number): Line {
  const center = f.point[entry] as number
  return {
    at(step) {
      const moved = f.point.slice()
      moved[entry] = center + step
      return { values: f.values(moved), step: (moved[entry] as number) - center }
    },
  }
}

/** Moves all entries at once. */
export function directionLine(f: Checkable, direction: Vector): Line {
  return {
    at: (step) => ({ values: f.values(f.point.map((x, i) => x + step * (direction[i] as number))), step }),
  }
}

/** Throws where an entry is not finite, or cannot be moved by `step`. */
export function checkMovable(op: string, f: Checkable, step: number | null): void {
  f.point.forEach((x, entry) => {
    if (step === null ? Number.isFinite(x) : x + step > x && x - step < x) return
    const { part, index } = f.inputs.locate(entry)
    throw new ArgumentError(
      Number.isFinite(x)
        ? `${op}: ${showPlace(part.name, index)} is ${x}, beside which a step of ${step} vanishes; leave eps out, so that steps go by the size of each entry, or pass a larger one`
        : `${op}: ${showPlace(part.name, index)} is ${x}; only at a point of finite numbers can a gradient be checked`,
    )
  })
}
