import { WengertError } from '../core/errors.js'
import { type Shape, showShape, sizeOf } from '../core/shape.js'
import { type Names, showPlace } from './layout.js'
import type { Settings } from './options.js'
import type { Verdict } from './verdict.js'

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
  /** The derivative by the function's own rules. */
  readonly analytic: number
  /** The derivative by differences. */
  readonly numeric: number
  /** Estimate of the numeric derivative's error; null where there is none (with `eps`, and at kinks and jumps). */
  readonly numericError: number | null
  /** |analytic − numeric| */
  readonly absoluteError: number
  /** |analytic − numeric| / max(|analytic|, |numeric|); rounding alone makes it large where both are almost 0. */
  readonly relativeError: number
  readonly verdict: Verdict
}

/** A place where the function has no derivative that differences could confirm. */
export interface NonDifferentiablePoint extends GradcheckEntry {
  /** Slopes that differ left and right; or an output that jumps or rises vertically. */
  readonly kind: 'kink' | 'jump'
  /** The slope from the left, over `eps`, or a smaller step. */
  readonly left: number
  /** The slope to the right, over `eps`, or a smaller step. */
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
  /** How many of them are too noisy to say. */
  readonly noisy: number
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
  /**
   * `'right'` where `ok`. `'wrong'`: some derivative differs from the numeric one by more than the tolerance and the
   * numeric one's error explain, or the rules have another fault, which `notes` tell. `'noisy'`: nothing is shown to be
   * wrong, but some numeric derivative is not known well enough for the tolerance, or the function is not deterministic.
   */
  readonly verdict: Verdict
  /** Every entry of the Jacobian, or a sample of the gradient of a random combination of the outputs. */
  readonly mode: 'full' | 'sampled'
  /** Derivatives compared: pairs of an input entry and an output entry (`'full'`), or gradient entries (`'sampled'`). */
  readonly entries: number
  /** Random directional derivatives compared (`'sampled'` mode). */
  readonly directions: number
  /** How many entries and directions are wrong. */
  readonly failed: number
  /** How many entries and directions are too noisy to say. */
  readonly noisy: number
  /**
   * The conditioning of the check: how many decimal digits the numeric derivatives have at least, by their estimates,
   * counted from the largest derivative towards the same input. Null with `eps`, and where all
   * derivatives are 0 as far as can be told.
   */
  readonly digits: number | null
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

/** Thrown by the assertions of gradient checks. The message is the report as text. */
export class GradcheckError extends WengertError {
  constructor(
    /** What was found. */
    readonly report: GradcheckReport,
    message: string = String(report),
  ) {
    super(message)
  }
}

/** A report without its text. */
export type Findings = Omit<GradcheckReport, 'toString'>

export function reportFrom(title: string, findings: Findings, names: Names, settings: Settings): GradcheckReport {
  return { ...findings, toString: () => describe(title, findings, names, settings) }
}

function describe(title: string, findings: Findings, names: Names, settings: Settings): string {
  const { verdict, failed, noisy, worst, inputs, directions, nonDifferentiable, notes } = findings
  const lines = [
    `${title} ${OUTCOMES[verdict]}: ${summary(findings)} (${methodText(findings, settings)})`,
    ...inputs.map(inputLine(findings)),
  ]
  if (directions > 0) lines.push(`  ${counted(directions, 'random direction')} over all inputs`)
  if (worst !== null && failed + noisy > 0) lines.push(`  worst: ${derivativeName(worst, names)}: ${values(worst)}`)
  const shown = 3
  for (const point of nonDifferentiable.slice(0, shown)) lines.push(`  ${pointText(point, names)}`)
  if (nonDifferentiable.length > shown) lines.push(`  … and ${nonDifferentiable.length - shown} more such places`)
  if (nonDifferentiable.length > 0) lines.push('  Move the point off such places to check the derivative there.')
  for (const note of notes) lines.push(`  ${note}`)
  return lines.join('\n')
}

const OUTCOMES: Readonly<Record<Verdict, string>> = { right: 'passed', wrong: 'failed', noisy: 'undecided' }

function methodText({ digits }: Findings, { eps, atol, rtol }: Settings): string {
  const known = digits === null ? '' : ` of ${Math.floor(digits)} digits`
  const method = eps === null ? `extrapolated differences${known}` : `eps ${eps.toExponential()}`
  return [method, ...(atol === null ? [] : [`atol ${atol.toExponential()}`]), `rtol ${rtol.toExponential()}`].join(', ')
}

function summary({ ok, deterministic, entries, directions, failed, noisy, mode }: Findings): string {
  if (entries + directions === 0) return deterministic ? 'nothing to compare' : 'not deterministic'
  const compared = counted(entries, mode === 'sampled' ? 'sampled derivative' : 'derivative')
  const what = directions > 0 ? `${compared} and ${counted(directions, 'direction')}` : compared
  const undecided = `${noisy} of ${what} ${noisy === 1 ? 'is' : 'are'} too noisy to say`
  if (failed > 0) return `${failed} of ${what} disagree${noisy > 0 ? `, ${undecided}` : ''}`
  if (noisy > 0) return undecided
  return `${what} ${entries + directions === 1 ? 'agrees' : 'agree'}${ok ? '' : ', but see below'}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function inputLine({ mode }: Findings): (input: GradcheckInput) => string {
  return ({ name, shape, entries, failed, noisy, maxAbsoluteError, maxRelativeError }) => {
    const extent = mode === 'sampled' ? `${entries} of ${sizeOf(shape)} entries` : counted(entries, 'derivative')
    const errors = `max absolute error ${short(maxAbsoluteError)}, relative ${short(maxRelativeError)}`
    return `  ${name} ${showShape(shape)}: ${extent}${failed > 0 ? `, ${failed} wrong` : ''}${noisy > 0 ? `, ${noisy} too noisy` : ''}${entries > 0 ? `, ${errors}` : ''}`
  }
}

/** `∂ output 0 [1] / ∂ input 0 [0, 2]` */
function derivativeName({ input, index, output, outputIndex }: GradcheckEntry, names: Names): string {
  const above = output === null ? '⟨w, outputs⟩' : showPlace(names.output(output), outputIndex ?? [])
  return input === null
    ? `${above} along a random direction`
    : `∂ ${above} / ∂ ${showPlace(names.input(input), index ?? [])}`
}

function values({ analytic, numeric, numericError, absoluteError, relativeError }: GradcheckEntry): string {
  const known = numericError === null ? '' : ` ± ${short(numericError)}`
  return `analytic ${long(analytic)}, numeric ${long(numeric)}${known}, absolute error ${short(absoluteError)}, relative ${short(relativeError)}`
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
