import { WengertError } from '../core/errors.js'
import { type Shape, showShape, sizeOf } from '../core/shape.js'
import { type Names, showPlace } from './layout.js'

/** One derivative as both sides see it. */
export interface GradcheckEntry {
  /** Which argument of the function; null for a random direction over all inputs at once. */
  readonly input: number | null
  /** Which entry of it: one index for each axis, `[]` for a scalar; null for a direction. */
  readonly index: readonly number[] | null
  /** Which output; null for a random combination of all output entries (`'sampled'` mode). */
  readonly output: number | null
  /** Which entry of it; null for a combination. */
  readonly outputIndex: readonly number[] | null
  /** The derivative by the reverse sweep. */
  readonly analytic: number
  /** The derivative by central differences. */
  readonly numeric: number
  /** |analytic − numeric| */
  readonly absoluteError: number
  /** |analytic − numeric| / max(|analytic|, |numeric|); rounding alone makes it large where both are almost 0. */
  readonly relativeError: number
}

/** A place where the function has no derivative that differences could confirm. */
export interface NonDifferentiablePoint extends GradcheckEntry {
  /** Slopes that differ left and right; or an output that jumps or rises vertically. */
  readonly kind: 'kink' | 'jump'
  /** The slope from the left, over a step of `eps`. */
  readonly left: number
  /** The slope to the right, over a step of `eps`. */
  readonly right: number
  /** Whether the analytic value lies between the slopes of a kink, and so counts as right. */
  readonly accepted: boolean
}

/** What was found for one checked input. */
export interface GradcheckInput {
  /** Which argument of the function. */
  readonly input: number
  /** How the report's text calls it. */
  readonly name: string
  readonly shape: Shape
  /** Derivatives compared. */
  readonly entries: number
  /** How many of them are wrong. */
  readonly failed: number
  /** The entry furthest outside of its tolerance, or nearest to leaving it; null where none was compared. */
  readonly worst: GradcheckEntry | null
  readonly maxAbsoluteError: number
  /** The largest absolute error over the largest derivative towards this input: entries that are almost 0 do not blow it up. */
  readonly maxRelativeError: number
}

/** The result of a gradient check. As text, a few lines. */
export interface GradcheckReport {
  /** Whether everything compared agrees, the function is deterministic, and no gradient has a wrong form. */
  readonly ok: boolean
  /** Every entry of the Jacobian, or a sample of the gradient of a random combination of the outputs. */
  readonly mode: 'full' | 'sampled'
  /** Derivatives compared: pairs of an input entry and an output entry (`'full'`), or gradient entries (`'sampled'`). */
  readonly entries: number
  /** Random directional derivatives compared (`'sampled'` mode). */
  readonly directions: number
  /** How many entries and directions are wrong. */
  readonly failed: number
  /** Of each checked input, in the order of the arguments. */
  readonly inputs: readonly GradcheckInput[]
  /**
   * Of all inputs, the entry furthest outside of its tolerance, or nearest to leaving it; a direction where only
   * directions are wrong; null where nothing was compared.
   */
  readonly worst: GradcheckEntry | null
  /** Over all entries and directions. */
  readonly maxAbsoluteError: number
  /** The largest among the inputs and the directions: errors relative to the largest derivative towards the same input. */
  readonly maxRelativeError: number
  /** Kinks and jumps met; those of them that are not accepted count as failed. */
  readonly nonDifferentiable: readonly NonDifferentiablePoint[]
  /** Whether the function and its gradient came out the same, bit for bit, each time. */
  readonly deterministic: boolean
  /** What else a reader should know, in whole sentences. */
  readonly notes: readonly string[]
  /** The report in a few lines. */
  toString(): string
}

/** Thrown by `assertGradcheck` and `assertGradgradcheck`. The message is the report as text. */
export class GradcheckError extends WengertError {
  constructor(
    /** What was found. */
    readonly report: GradcheckReport,
  ) {
    super(String(report))
  }
}

/** A report without its text. */
export type Findings = Omit<GradcheckReport, 'toString'>

export function reportFrom(title: string, findings: Findings, names: Names, tolerances: string): GradcheckReport {
  return { ...findings, toString: () => describe(title, findings, names, tolerances) }
}

function describe(title: string, findings: Findings, names: Names, tolerances: string): string {
  const { ok, failed, worst, inputs, directions, nonDifferentiable, notes } = findings
  const lines = [
    `${title} ${ok ? 'passed' : 'failed'}: ${summary(findings)} (${tolerances})`,
    ...inputs.map(inputLine(findings)),
  ]
  if (directions > 0) lines.push(`  ${counted(directions, 'random direction')} over all inputs`)
  if (worst !== null && failed > 0) lines.push(`  worst: ${derivativeName(worst, names)}: ${values(worst)}`)
  const shown = 3
  for (const point of nonDifferentiable.slice(0, shown)) lines.push(`  ${pointText(point, names)}`)
  if (nonDifferentiable.length > shown) lines.push(`  … and ${nonDifferentiable.length - shown} more such places`)
  if (nonDifferentiable.length > 0)
    lines.push('  Move the point by more than eps off such places to check the derivative there.')
  for (const note of notes) lines.push(`  ${note}`)
  return lines.join('\n')
}

function summary({ ok, deterministic, entries, directions, failed, mode }: Findings): string {
  if (entries + directions === 0) return deterministic ? 'nothing to compare' : 'not deterministic'
  const compared = counted(entries, mode === 'sampled' ? 'sampled derivative' : 'derivative')
  const what = directions > 0 ? `${compared} and ${counted(directions, 'direction')}` : compared
  if (failed > 0) return `${failed} of ${what} disagree`
  return `${what} ${entries + directions === 1 ? 'agrees' : 'agree'}${ok ? '' : ', but see below'}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function inputLine({ mode }: Findings): (input: GradcheckInput) => string {
  return ({ name, shape, entries, failed, maxAbsoluteError, maxRelativeError }) => {
    const extent = mode === 'sampled' ? `${entries} of ${sizeOf(shape)} entries` : counted(entries, 'derivative')
    const errors = `max absolute error ${short(maxAbsoluteError)}, relative ${short(maxRelativeError)}`
    return `  ${name} ${showShape(shape)}: ${extent}${failed > 0 ? `, ${failed} wrong` : ''}${entries > 0 ? `, ${errors}` : ''}`
  }
}

/** `∂ output 0 [1] / ∂ input 0 [0, 2]` */
function derivativeName({ input, index, output, outputIndex }: GradcheckEntry, names: Names): string {
  const above = output === null ? '⟨w, outputs⟩' : showPlace(names.output(output), outputIndex ?? [])
  return input === null
    ? `${above} along a random direction`
    : `∂ ${above} / ∂ ${showPlace(names.input(input), index ?? [])}`
}

function values({ analytic, numeric, absoluteError, relativeError }: GradcheckEntry): string {
  return `analytic ${long(analytic)}, numeric ${long(numeric)}, absolute error ${short(absoluteError)}, relative ${short(relativeError)}`
}

function pointText(point: NonDifferentiablePoint, names: Names): string {
  const { kind, left, right, analytic, accepted } = point
  const what = kind === 'kink' ? 'kink' : 'jump or vertical slope'
  const verdict = accepted ? 'accepted' : 'wrong'
  return `not differentiable (${what}): ${derivativeName(point, names)}: slopes ${long(left)} on the left and ${long(right)} on the right, analytic ${long(analytic)}: ${verdict}`
}

function short(value: number): string {
  return value === 0 ? '0' : Number.isFinite(value) ? value.toExponential(1) : String(value)
}

function long(value: number): string {
  return String(Number(value.toPrecision(8)))
}
