// One check of a function at a point: its Jacobian, or a sample of it, against differences.
import type { Checkable, Pullback, Pushforward } from './checkable.js'
import type { Comparison, Setting } from './comparison.js'
import { ExtrapolatedDifferences, roundingWithin } from './extrapolated.js'
import { FixedStep } from './fixed-step.js'
import { type Names, showPlace, type Vector } from './layout.js'
import { checkMovable, directionLine, entryLine } from './lines.js'
import { noiseAlong } from './noise.js'
import {
  detachedNotes,
  forwardLinearityNote,
  gradientNotDeterministicNote,
  linearityNote,
  NOT_DETERMINISTIC_NOTE,
  nonFiniteNote,
  type Rounding,
  smallNotes,
} from './notes.js'
import type { Weights } from './numeric.js'
import type { Settings } from './options.js'
import { type GradcheckReport, reportFrom } from './report.js'
import { Scales, UNIT_SCALES } from './scales.js'
import { randomDirection, randomWeights, sample, seeded, type Uniform } from './seeded.js'
import { jacobianByColumns, jacobianByRows, jacobianSide, type Side, tangentSide } from './side.js'
import { type LinePlace, Tally } from './tally.js'

/** With more entries than this in inputs and outputs together, samples are compared unless all are asked for. */
const FULL_LIMIT = 4096

/** @param crossCheck a further test, which gives a sentence about what is wrong; called for a deterministic function */
export function check(
  title: string,
  op: string,
  f: Checkable,
  names: Names,
  settings: Settings,
  crossCheck: () => string | null = () => null,
): GradcheckReport {
  checkMovable(op, f, settings.eps === null ? null : settings.eps / 4)
  const center = f.derivative()
  const mode = settings.mode ?? (f.inputs.size + f.outputs.size > FULL_LIMIT ? 'sampled' : 'full')
  const tally = new Tally(f.inputs, settings.eps === null)
  const scales = new Scales(f.point, f.inputs)
  const subject: Subject = { f, mode, settings, scales, tally, notes: new Set(), uniform: seeded(settings.seed) }
  const sound = inspect(subject, center, crossCheck)
  const { notes } = subject
  const totals = tally.totals()
  const wrong = totals.failed > 0 || !sound.derivative
  const verdict = wrong ? 'wrong' : totals.noisy > 0 || !sound.values ? 'noisy' : 'right'
  return reportFrom(
    title,
    {
      ok: verdict === 'right',
      verdict,
      mode,
      ...totals,
      inputs: tally.inputs(),
      worst: tally.worst,
      digits: settings.eps === null ? totals.digits : null,
      nonDifferentiable: tally.nonDifferentiable,
      deterministic: sound.values && sound.steady,
      notes: [...notes],
    },
    names,
    settings,
  )
}

/** What a check works on and gathers. */
interface Subject {
  readonly f: Checkable
  readonly mode: 'full' | 'sampled'
  readonly settings: Settings
  readonly scales: Scales
  readonly tally: Tally
  readonly notes: Set<string>
  readonly uniform: Uniform
}

/** What was found beside the numbers. */
interface Soundness {
  /** The function gives the same outputs each time. */
  readonly values: boolean
  /** The derivative is the same each time. */
  readonly steady: boolean
  /** The derivative is steady, linear and well-formed, and stands the cross-check. */
  readonly derivative: boolean
}

function inspect(subject: Subject, center: Pullback | Pushforward, crossCheck: () => string | null): Soundness {
  const { f, notes } = subject
  const again = f.derivative()
  if (!same(center.values, again.values)) {
    notes.add(NOT_DETERMINISTIC_NOTE)
    return { values: false, steady: true, derivative: true }
  }
  add(notes, nonFiniteNote(center.values, f.outputs))
  const { steady, sound } =
    center.mode === 'reverse'
      ? inspectPullback(subject, center, again as Pullback)
      : inspectPushforward(subject, center, again as Pushforward)
  const fault = crossCheck()
  add(notes, fault)
  for (const note of smallNotes(f.inputs, subject.tally, subject.settings)) notes.add(note)
  const unchanged = same(center.values, f.values(f.point))
  if (!unchanged) notes.add(NOT_DETERMINISTIC_NOTE)
  return { values: unchanged, steady, derivative: steady && sound && fault === null }
}

interface Found {
  readonly steady: boolean
  readonly sound: boolean
}

function inspectPullback(subject: Subject, center: Pullback, again: Pullback): Found {
  const { f, mode, tally, notes, settings, uniform } = subject
  const weights = weightsFor(subject)
  const gradient = center.pull(weights)
  for (const fault of gradient.faults) notes.add(fault)
  const steady = same(gradient.values, again.pull(weights).values)
  if (!steady) notes.add(gradientNotDeterministicNote('sweeps', 'cotangent'))
  let fault: string | null = null
  if (mode === 'full') {
    const jacobian = jacobianByRows(center, f)
    compareAll(subject, comparisonOf(subject, center.values, null, jacobianSide(jacobian, f)))
    fault = linearityNote(jacobian, weights, gradient.values, f.inputs, settings, roundingOf(subject, center.values))
    add(notes, fault)
  } else compareSamples(subject, center.values, weights, jacobianSide(gradient.values, f), uniform)
  for (const note of detachedNotes(center.cut, gradient.reached, f.inputs, f.outputs, tally)) notes.add(note)
  return { steady, sound: fault === null && gradient.faults.length === 0 }
}

function inspectPushforward(subject: Subject, center: Pushforward, again: Pushforward): Found {
  const { f, mode, notes, settings, uniform } = subject
  const weights = weightsFor(subject)
  const tangent = randomWeights(f.inputs.size, uniform)
  const product = center.push(tangent)
  const steady = same(product, again.push(tangent))
  if (!steady) notes.add(gradientNotDeterministicNote('passes', 'tangent'))
  if (mode === 'sampled') {
    compareSamples(subject, center.values, weights, tangentSide(center, f, weights), uniform)
    return { steady, sound: true }
  }
  const jacobian = jacobianByColumns(center, f)
  compareAll(subject, comparisonOf(subject, center.values, null, jacobianSide(jacobian, f)))
  const fault = forwardLinearityNote(
    jacobian,
    tangent,
    product,
    f.outputs,
    settings,
    roundingOf(subject, center.values),
  )
  add(notes, fault)
  return { steady, sound: fault === null }
}

/** By how much a derivative may be off at least where it is the sum of cotangents and tangents of about 1. */
const LEAST_ROUNDING = 2 ** -46

function roundingOf({ scales }: Subject, values: Vector): Rounding {
  const sizes = values.map((value) => (Number.isFinite(value) ? Math.abs(value) : 0))
  return (output, input) =>
    Math.max(LEAST_ROUNDING, roundingWithin(scales.own[input] as number, sizes[output] as number))
}

/** A single output entry needs no weight to be one function; in a full check, it tests that rules are linear. */
function weightsFor({ f, mode, uniform }: Subject): Vector {
  const single = mode === 'sampled' && f.outputs.size === 1
  return single ? Float64Array.of(1) : randomWeights(f.outputs.size, uniform)
}

/** A comparison, and the side it is made with. */
interface Compared {
  readonly comparison: Comparison
  readonly side: Side
  readonly weights: Weights
}

/** Every entry of the Jacobian. */
function compareAll({ f, scales }: Subject, compared: Compared): void {
  for (let entry = 0; entry < f.inputs.size; entry++) compareEntry(f, scales, entry, compared)
}

function compareEntry(f: Checkable, scales: Scales, entry: number, { comparison, side, weights }: Compared): void {
  comparison.along(entryLine(f, entry), scales.of(entry), entryPlace(f, entry, weights), side.entry(entry))
}

/** Some entries of the gradient of ⟨weights, f⟩, and random directional derivatives. */
function compareSamples(subject: Subject, center: Vector, weights: Vector, side: Side, uniform: Uniform): void {
  const { f, settings, scales } = subject
  if (f.outputs.size === 0) return
  const compared = comparisonOf(subject, center, weights, side)
  let offset = 0
  for (const { length } of f.inputs.split(f.point)) {
    for (const chosen of sample(settings.samples, length, uniform)) compareEntry(f, scales, offset + chosen, compared)
    offset += length
  }
  if (f.inputs.size === 0) return
  for (let i = 0; i < settings.directions; i++) {
    const signs = randomDirection(f.inputs.size, uniform)
    const direction = settings.eps === null ? scaled(signs, scales) : signs
    const place = directionPlace(f, weights)
    compared.comparison.along(directionLine(f, direction), UNIT_SCALES, place, side.direction(direction))
  }
}

function comparisonOf(subject: Subject, center: Vector, weights: Weights, side: Side): Compared {
  const { f, settings, tally, notes, scales } = subject
  const setting: Setting = { center, weights, outputs: f.outputs, tally, notes }
  const { eps, atol, rtol } = settings
  if (eps !== null) return { comparison: new FixedStep(setting, eps, atol ?? 0, rtol), side, weights }
  const measureNoise = (components: number) => {
    const direction = scaled(randomDirection(f.inputs.size, seeded(settings.seed + 1)), scales)
    return noiseAlong(directionLine(f, direction), weights, components)
  }
  return { comparison: new ExtrapolatedDifferences(setting, side, atol, rtol, measureNoise), side, weights }
}

/** Signs times the size of each entry. */
function scaled(signs: Vector, { own }: Scales): Vector {
  return signs.map((sign, entry) => sign * (own[entry] as number))
}

function entryPlace(f: Checkable, entry: number, weights: Weights): LinePlace {
  const { part, index } = f.inputs.locate(entry)
  return { input: part.position, index, name: showPlace(part.name, index), output: outputPlaces(f, weights) }
}

function directionPlace(f: Checkable, weights: Weights): LinePlace {
  return { input: null, index: null, name: 'the point', output: outputPlaces(f, weights) }
}

function outputPlaces({ outputs }: Checkable, weights: Weights): LinePlace['output'] {
  return (component) => (weights !== null && outputs.size > 1 ? null : outputs.locate(component))
}

function same(a: Vector, b: Vector): boolean {
  return a.every((value, i) => Object.is(value, b[i]))
}

function add(notes: Set<string>, note: string | null): void {
  if (note !== null) notes.add(note)
}
