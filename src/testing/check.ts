// One check of a function at a point: its Jacobian, or a sample of a gradient, against difference quotients.
import type { Tensor } from '../core/tensor.js'
import { type Gradient, gradientAt, jacobianAt } from './analytic.js'
import { Comparison } from './comparison.js'
import { type DifferentiableFunction, type Evaluation, VectorFunction } from './function.js'
import { type Names, showPlace, type Vector } from './layout.js'
import { checkMovable, directionLine, entryLine } from './lines.js'
import {
  detachedNotes,
  GRADIENT_NOT_DETERMINISTIC_NOTE,
  linearityNote,
  NOT_DETERMINISTIC_NOTE,
  nonFiniteNote,
  smallNotes,
} from './notes.js'
import type { Weights } from './numeric.js'
import type { Settings } from './options.js'
import { type GradcheckReport, reportFrom } from './report.js'
import { randomDirection, randomWeights, sample, seeded, type Uniform } from './seeded.js'
import { type LinePlace, Tally } from './tally.js'

/** With more entries than this in inputs and outputs together, samples are compared unless all are asked for. */
const FULL_LIMIT = 4096

export function check(
  title: string,
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  names: Names,
  settings: Settings,
): GradcheckReport {
  const f = new VectorFunction(title, fn, inputs, names)
  checkMovable(title, f, settings.eps / 4)
  const center = f.evaluate(f.point)
  const mode = settings.mode ?? (f.inputs.size + f.outputs.size > FULL_LIMIT ? 'sampled' : 'full')
  const subject: Subject = { f, center, settings, tally: new Tally(f.inputs, settings), notes: new Set() }
  const sound = inspect(subject, mode)
  const { tally, notes } = subject
  const totals = tally.totals()
  const { eps, atol, rtol } = settings
  return reportFrom(
    title,
    {
      ok: sound.deterministic && sound.wellFormed && totals.failed === 0,
      mode,
      ...totals,
      inputs: tally.inputs(),
      worst: tally.worst,
      nonDifferentiable: tally.nonDifferentiable,
      deterministic: sound.deterministic,
      notes: [...notes],
    },
    names,
    `eps ${eps.toExponential()}, atol ${atol.toExponential()}, rtol ${rtol.toExponential()}`,
  )
}

/** What a check works on and gathers. */
interface Subject {
  readonly f: VectorFunction
  readonly center: Evaluation
  readonly settings: Settings
  readonly tally: Tally
  readonly notes: Set<string>
}

/** Compares everything. Returns whether the function keeps to its outputs, and the rules to their form. */
function inspect(subject: Subject, mode: 'full' | 'sampled'): { deterministic: boolean; wellFormed: boolean } {
  const { f, center, settings, tally, notes } = subject
  const again = f.evaluate(f.point)
  if (!same(center.values, again.values)) {
    notes.add(NOT_DETERMINISTIC_NOTE)
    return { deterministic: false, wellFormed: true }
  }
  add(notes, nonFiniteNote(center.values, f.outputs))
  const uniform = seeded(settings.seed)
  // A single output entry needs no weight to be one function; in a full check, it tests that rules are linear.
  const single = mode === 'sampled' && f.outputs.size === 1
  const weights = single ? Float64Array.of(1) : randomWeights(f.outputs.size, uniform)
  const gradient = gradientAt(center, weights, f.inputs, f.outputs)
  for (const fault of gradient.faults) notes.add(fault)
  const steady = same(gradient.values, gradientAt(again, weights, f.inputs, f.outputs).values)
  if (!steady) notes.add(GRADIENT_NOT_DETERMINISTIC_NOTE)

  const linear = mode === 'full' ? compareJacobian(subject, weights, gradient) : true
  if (mode === 'sampled') compareSamples(subject, weights, gradient, uniform)

  for (const note of detachedNotes(center, gradient.reached, f.inputs, f.outputs, tally)) notes.add(note)
  for (const note of smallNotes(f.inputs, tally, settings)) notes.add(note)
  const unchanged = same(center.values, f.evaluate(f.point).values)
  if (!unchanged) notes.add(NOT_DETERMINISTIC_NOTE)
  return { deterministic: steady && unchanged, wellFormed: linear && gradient.faults.length === 0 }
}

/** Every entry of the Jacobian. Returns whether a sweep with random weights combines its rows as it must. */
function compareJacobian(subject: Subject, weights: Vector, gradient: Gradient): boolean {
  const { f, center, settings, notes } = subject
  const jacobian = jacobianAt(center, f.inputs, f.outputs)
  const comparison = comparisonOf(subject, null)
  for (let entry = 0; entry < f.inputs.size; entry++) {
    comparison.along(entryLine(f, entry), entryPlace(f, entry, null), (output) => {
      return jacobian[output * f.inputs.size + entry] as number
    })
  }
  const note = linearityNote(jacobian, weights, gradient.values, f.inputs, settings)
  add(notes, note)
  return note === null
}

/** Some entries of the gradient of ⟨weights, f⟩, and random directional derivatives. */
function compareSamples(subject: Subject, weights: Vector, { values }: Gradient, uniform: Uniform): void {
  const { f, settings } = subject
  const comparison = comparisonOf(subject, weights)
  let offset = 0
  for (const { length } of f.inputs.split(f.point)) {
    for (const chosen of sample(settings.samples, length, uniform)) {
      const entry = offset + chosen
      comparison.along(entryLine(f, entry), entryPlace(f, entry, weights), () => values[entry] as number)
    }
    offset += length
  }
  if (f.inputs.size === 0) return
  for (let i = 0; i < settings.directions; i++) {
    const direction = randomDirection(f.inputs.size, uniform)
    const slope = direction.reduce((total, step, entry) => total + step * (values[entry] as number), 0)
    comparison.along(directionLine(f, direction), directionPlace(f, weights), () => slope)
  }
}

function comparisonOf({ f, center, settings, tally, notes }: Subject, weights: Weights): Comparison {
  return new Comparison(center.values, weights, f.outputs, settings, tally, notes)
}

function entryPlace(f: VectorFunction, entry: number, weights: Weights): LinePlace {
  const { part, index } = f.inputs.locate(entry)
  return { input: part.position, index, name: showPlace(part.name, index), output: outputPlaces(f, weights) }
}

function directionPlace(f: VectorFunction, weights: Weights): LinePlace {
  return { input: null, index: null, name: 'the point', output: outputPlaces(f, weights) }
}

function outputPlaces({ outputs }: VectorFunction, weights: Weights): LinePlace['output'] {
  return (component) => (weights !== null && outputs.size > 1 ? null : outputs.locate(component))
}

function same(a: Vector, b: Vector): boolean {
  return a.every((value, i) => Object.is(value, b[i]))
}

function add(notes: Set<string>, note: string | null): void {
  if (note !== null) notes.add(note)
}
