// The analytic side of a comparison: derivatives by the function's own rules, along any line.
import type { Checkable, Pullback, Pushforward } from './checkable.js'
import type { Part, Vector } from './layout.js'
import { project, type Weights } from './numeric.js'

/** Derivatives along a line. */
export interface Along {
  /** Each component's derivative. */
  slope(component: number): number
  /** The largest derivative of a component towards the same input, as far as known. */
  largest(component: number): number
}

export interface Side {
  /** Towards one entry. */
  entry(entry: number): Along
  /** Along a direction over all entries. */
  direction(direction: Vector): Along
  /** Σⱼ |∂f/∂xⱼ · xⱼ| of each component: how large the terms are that it may be a small difference of. */
  readonly sizes: Vector
}

/** The Jacobian, m × n in row-major order: one sweep for each output entry. */
export function jacobianByRows(derivative: Pullback, f: Checkable): Vector {
  const jacobian = new Float64Array(f.outputs.size * f.inputs.size)
  const cotangent = new Float64Array(f.outputs.size)
  for (let i = 0; i < f.outputs.size; i++) {
    cotangent[i] = 1
    jacobian.set(derivative.pull(cotangent).values, i * f.inputs.size)
    cotangent[i] = 0
  }
  return jacobian
}

/** The Jacobian, m × n in row-major order: one forward pass for each input entry. */
export function jacobianByColumns(derivative: Pushforward, f: Checkable): Vector {
  const jacobian = new Float64Array(f.outputs.size * f.inputs.size)
  for (let entry = 0; entry < f.inputs.size; entry++) {
    derivative.push(unit(f, entry)).forEach((value, output) => {
      jacobian[output * f.inputs.size + entry] = value
    })
  }
  return jacobian
}

/** The rows of a Jacobian: all output entries by themselves, or ⟨weights, f⟩ alone. */
export function jacobianSide(jacobian: Vector, { inputs, point }: Checkable): Side {
  const rows = inputs.size === 0 ? 0 : jacobian.length / inputs.size
  const row = (component: number) => jacobian.subarray(component * inputs.size, (component + 1) * inputs.size)
  const sizes = new Float64Array(rows).map((_, component) => sizeOfTerms(row(component), point))
  // Of each input, the largest derivative of any component.
  const largest = new Map(inputs.parts.map(({ position }) => [position, 0]))
  for (let component = 0; component < rows; component++) {
    inputs.split(row(component)).forEach((slopes, i) => {
      const { position } = inputs.parts[i] as Part
      largest.set(position, slopes.reduce(largestFinite, largest.get(position) as number))
    })
  }
  return {
    entry: (entry) => {
      const bound = largest.get(inputs.locate(entry).part.position) as number
      return { slope: (component) => row(component)[entry] as number, largest: () => bound }
    },
    direction: (direction) => ({
      slope: (component) => dot(row(component), direction),
      largest: (component) => sizes[component] as number,
    }),
    sizes,
  }
}

/** ⟨weights, f⟩ alone, by forward passes. */
export function tangentSide(derivative: Pushforward, f: Checkable, weights: Weights): Side {
  const along = (direction: Vector): Along => {
    const products = project(derivative.push(direction), weights)
    const slope = (component: number) => products[component] as number
    return { slope, largest: (component) => largestFinite(0, slope(component)) }
  }
  return {
    entry: (entry) => along(unit(f, entry)),
    direction: along,
    sizes: Float64Array.of(along(f.point).largest(0)),
  }
}

function largestFinite(largest: number, slope: number): number {
  const size = Math.abs(slope)
  return Number.isFinite(size) && size > largest ? size : largest
}

function unit({ inputs }: Checkable, entry: number): Vector {
  const direction = new Float64Array(inputs.size)
  direction[entry] = 1
  return direction
}

export function dot(a: Vector, b: Vector): number {
  return a.reduce((total, value, i) => total + value * (b[i] as number), 0)
}

/** Terms that are not finite say nothing about the size of the others. */
function sizeOfTerms(slopes: Vector, point: Vector): number {
  return slopes.reduce((total, slope, i) => {
    const term = Math.abs(slope * (point[i] as number))
    return Number.isFinite(total + term) ? total + term : total
  }, 0)
}
