// The lines through the point along which derivatives are compared.
import { ArgumentError } from '../core/errors.js'
import type { VectorFunction } from './function.js'
import { showPlace, type Vector } from './layout.js'
import type { Line } from './numeric.js'

/** Moves one entry. */
export function entryLine(f: VectorFunction, entry: number): Line {
  const center = f.point[entry] as number
  return {
    at(step) {
      const moved = f.point.slice()
      moved[entry] = center + step
      return { values: f.evaluate(moved).values, step: (moved[entry] as number) - center }
    },
  }
}

/** Moves all entries at once. */
export function directionLine(f: VectorFunction, direction: Vector): Line {
  return {
    at: (step) => ({ values: f.evaluate(f.point.map((x, i) => x + step * (direction[i] as number))).values, step }),
  }
}

/** Throws where an entry cannot be moved by `step`. */
export function checkMovable(op: string, f: VectorFunction, step: number): void {
  f.point.forEach((x, entry) => {
    if (x + step > x && x - step < x) return
    const { part, index } = f.inputs.locate(entry)
    throw new ArgumentError(
      Number.isFinite(x)
        ? `${op}: ${showPlace(part.name, index)} is ${x}, beside which a step of ${step} vanishes; scale the input down, or pass a larger eps`
        : `${op}: ${showPlace(part.name, index)} is ${x}; only at a point of finite numbers can a gradient be checked`,
    )
  })
}
