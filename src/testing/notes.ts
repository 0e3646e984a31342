// What a report says in sentences.
import type { Evaluation } from './function.js'
import { type Layout, type Part, showPlace, type Vector } from './layout.js'
import type { Settings } from './options.js'
import type { Tally } from './tally.js'

export const ROUNDING_NOTE =
  'Some of the disagreement is no larger than what rounding does to the differences of outputs this large: scale the function down, or pass a larger eps.'

export const NOT_DETERMINISTIC_NOTE =
  'The function is not deterministic: the same inputs gave different outputs, so differences mean nothing. Take what is random out of it (dropout off, random numbers drawn outside), or call manualSeed inside.'

export const GRADIENT_NOT_DETERMINISTIC_NOTE =
  'The gradient is not deterministic: two sweeps with the same cotangent gave different gradients, though the outputs are the same.'

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
  return `${showPlace(part.name, index)} becomes ${value} when ${line} is moved by eps: the point lies at the edge of where the function is defined; choose one further inside.`
}

/** A cotangent that a rule does not pass on linearly; null where all is well. */
export function linearityNote(
  jacobian: Vector,
  weights: Vector,
  gradient: Vector,
  inputs: Layout,
  { atol, rtol }: Settings,
): string | null {
  for (let entry = 0; entry < gradient.length; entry++) {
    let combined = 0
    let size = 0
    for (let i = 0; i < weights.length; i++) {
      const term = (weights[i] as number) * (jacobian[i * gradient.length + entry] as number)
      combined += term
      size += Math.abs(term)
    }
    const found = gradient[entry] as number
    if (Object.is(found, combined) || !(Math.abs(found - combined) > atol + rtol * size)) continue
    const { part, index } = inputs.locate(entry)
    return `The sweep is not linear in the cotangent: for a random one ${showPlace(part.name, index)} receives ${found}, where the rows of the Jacobian add up to ${combined}. A rule must multiply its cotangent by the derivative and do nothing else with it.`
  }
  return null
}

/** Wrong derivatives because the tape does not lead from an output, or to an input. */
export function detachedNotes(
  center: Evaluation,
  reached: readonly boolean[],
  inputs: Layout,
  outputs: Layout,
  tally: Tally,
): string[] {
  const wrong = tally.wrongOutputs
  const isCut = ({ position }: Part) => center.outputs[position]?.requiresGrad === false
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
    return largest > 0 && largest <= atol + rtol * largest && tally.failed(position) === 0
  }
  return parts
    .filter(isSmall)
    .map(
      ({ name, position }) =>
        `No derivative towards ${name} is larger than ${tally.largest(position).toExponential(1)}, which the tolerance takes for 0: entry by entry, a gradient of 0 would pass too. Pass a smaller atol, or scale the function up.`,
    )
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
