// What a report says in sentences.
import { type Layout, type Part, showPlace, type Vector } from './layout.js'
import type { Settings } from './options.js'
import type { Tally } from './tally.js'

export const ROUNDING_NOTE =
  'Some of the disagreement is no larger than what rounding does to the differences of outputs this large: scale the function down, pass a larger eps, or leave eps out.'

export const NOT_DETERMINISTIC_NOTE =
  'The function is not deterministic: the same inputs gave different outputs, so differences mean nothing. Take what is random out of it (dropout off, random numbers drawn outside), or call manualSeed inside.'

/** @param passes what goes through the rules, with what: sweeps with a cotangent */
export function gradientNotDeterministicNote(passes: string, seed: string): string {
  return `The gradient is not deterministic: two ${passes} with the same ${seed} gave different gradients, though the outputs are the same.`
}

/** Outputs that are NaN or infinite at the point itself; null where all are finite. */
export function nonFiniteNote(values: Vector, outputs: Layout): string | null {
  const count = values.reduce((total, value) => total + (Number.isFinite(value) ? 0 : 1), 0)
  if (count === 0) return null
  const nan = values.findIndex(Number.isNaN)
  const entry = nan >= 0 ? nan : values.findIndex((value) => !Number.isFinite(value))
  const { part, index } = outputs.locate(entry)
  const more = count > 1 ? ` (${count} output entries are NaN or infinite)` : ''
  const meaning =
    nan >= 0 ? 'nothing can be said about its derivative' : 'while it stays so, its derivative is taken as 0'
  return `${showPlace(part.name, index)} is ${values[entry]}${more}: ${meaning}.`
}

/** An output that stops being finite when the point is moved. */
export function edgeNote(outputs: Layout, entry: number, value: number, line: string): string {
  const { part, index } = outputs.locate(entry)
  return `${showPlace(part.name, index)} becomes ${value} when ${line} is moved a little: the point lies at the edge of where the function is defined; choose one further inside.`
}

/** A cotangent that a rule does not pass on linearly; null where all is well. */
export function linearityNote(
  jacobian: Vector,
  weights: Vector,
  gradient: Vector,
  inputs: Layout,
  settings: Settings,
  rounding: Rounding,
): string | null {
  const n = gradient.length
  const term: Term = (entry, i) => ({ factor: jacobian[i * n + entry] as number, rounding: rounding(i, entry) })
  const off = nonlinearAt(gradient, weights, term, settings)
  if (off === null) return null
  const { part, index } = inputs.locate(off.place)
  return `The sweep is not linear in the cotangent: for a random one ${showPlace(part.name, index)} receives ${off.found}, where the rows of the Jacobian add up to ${off.combined}. A rule must multiply its cotangent by the derivative and do nothing else with it.`
}

/** A tangent that a rule does not pass on linearly; null where all is well. */
export function forwardLinearityNote(
  jacobian: Vector,
  tangent: Vector,
  product: Vector,
  outputs: Layout,
  settings: Settings,
  rounding: Rounding,
): string | null {
  const n = tangent.length
  const term: Term = (entry, j) => ({ factor: jacobian[entry * n + j] as number, rounding: rounding(entry, j) })
  const off = nonlinearAt(product, tangent, term, settings)
  if (off === null) return null
  const { part, index } = outputs.locate(off.place)
  return `The forward pass is not linear in the tangent: for a random one ${showPlace(part.name, index)} gets ${off.found}, where the columns of the Jacobian add up to ${off.combined}.`
}

/** What rounding may do to the derivative of an output entry towards an input entry. */
export type Rounding = (output: number, input: number) => number

/** One summand, and what rounding may do to it. */
type Term = (place: number, i: number) => { readonly factor: number; readonly rounding: number }

/** Terms this much smaller than the largest do not matter: rounding may have left nothing else of them. */
const NEGLIGIBLE = 1e-3

/** The first entry that is not the sum of its terms. */
function nonlinearAt(
  found: Vector,
  weights: Vector,
  termOf: Term,
  { atol, rtol }: Settings,
): { place: number; found: number; combined: number } | null {
  const combined = new Float64Array(found.length)
  const sizes = new Float64Array(found.length)
  const slack = new Float64Array(found.length)
  for (let place = 0; place < found.length; place++) {
    for (let i = 0; i < weights.length; i++) {
      const { factor, rounding } = termOf(place, i)
      const term = (weights[i] as number) * factor
      slack[place] = (slack[place] as number) + Math.abs(weights[i] as number) * rounding
      combined[place] = (combined[place] as number) + term
      sizes[place] = (sizes[place] as number) + Math.abs(term)
    }
  }
  const least = NEGLIGIBLE * sizes.reduce((most, size) => (Number.isFinite(size) ? Math.max(most, size) : most), 0)
  const place = found.findIndex((value, i) => {
    const [sum, size] = [combined[i] as number, sizes[i] as number]
    const allowed = (atol ?? (slack[i] as number)) + rtol * Math.max(size, least)
    return !Object.is(value, sum) && Math.abs(value - sum) > allowed
  })
  return place < 0 ? null : { place, found: found[place] as number, combined: combined[place] as number }
}

/** Forward and reverse mode that tell different derivatives, by ⟨w, J u⟩ for random w and u. */
export function crossCheckNote(forward: number, reverse: number): string {
  return `Forward and reverse mode disagree: for a random cotangent w and tangent u, ⟨w, J u⟩ is ${forward} by a forward pass and ${reverse} by a sweep.`
}

/** Wrong derivatives because the tape does not lead from an output, or to an input. */
export function detachedNotes(
  cut: readonly number[],
  reached: readonly boolean[],
  inputs: Layout,
  outputs: Layout,
  tally: Tally,
): string[] {
  const wrong = tally.wrongOutputs
  const isCut = ({ position }: Part) => cut.includes(position)
  const notes = outputs.parts
    .filter((part) => isCut(part) && (wrong.has(part.position) || wrong.has(null)))
    .map(({ name, position }) => {
      // Of a combination of outputs it is not known which of them changes.
      const changes = wrong.has(position) ? ' although it changes with the inputs:' : '; if it changes with the inputs,'
      return `${capitalized(name)} needs no gradient${changes} ${CUT_OFF}`
    })
  if (notes.length > 0) return notes
  return inputs.parts
    .filter(({ position }, i) => reached[i] === false && tally.failed(position) > 0)
    .map(({ name }) => `No gradient reaches ${name} although the outputs change with it: ${CUT_OFF}`)
}

const CUT_OFF =
  'it was computed with detach(), under noGrad, or from numbers read out of a tensor (item(), data, toArray()).'

/** Derivatives so small that the tolerance takes them for 0. */
export function smallNotes({ parts }: Layout, tally: Tally, { atol, rtol }: Settings): string[] {
  const isSmall = ({ position }: Part) => {
    const largest = tally.largest(position)
    return largest > 0 && largest <= (atol ?? tally.slack(position)) + rtol * largest && tally.failed(position) === 0
  }
  return parts.filter(isSmall).map(({ name, position }) => {
    const cause =
      atol === null
        ? 'no more than what rounding does to the outputs: entry by entry, a gradient of 0 would pass too.'
        : 'which the tolerance takes for 0: entry by entry, a gradient of 0 would pass too. Pass a smaller atol, or scale the function up.'
    return `No derivative towards ${name} is larger than ${tally.largest(position).toExponential(1)}, ${cause}`
  })
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
