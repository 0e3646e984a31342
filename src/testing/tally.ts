// Gathers comparisons into what the report says.
import type { Layout, Place } from './layout.js'
import type { Quotients } from './numeric.js'
import type { GradcheckEntry, GradcheckInput, NonDifferentiablePoint } from './report.js'
import { errorBetween, type Measurement, toleranceOf, type Verdict } from './verdict.js'

/** Along which derivatives are compared: one entry of an input, or a random direction over all. */
export interface LinePlace {
  /** The input's position; null for a direction. */
  readonly input: number | null
  /** The entry's index in it; null for a direction. */
  readonly index: readonly number[] | null
  /** `input 0 [1, 2]`, for sentences. */
  readonly name: string
  /** The output entry that a component of the function is; null for a random combination of all. */
  output(component: number): Place | null
}

/** Of a float64. */
const MOST_DIGITS = -Math.log10(Number.EPSILON)

/** Ratios that differ by less than this factor count as equal. */
const SAME = 1.01

const RANKS: Readonly<Record<Verdict, number>> = { right: 0, noisy: 1, wrong: 2 }

/** What was found in one input, or in the random directions. */
class Extremes {
  /** Derivatives compared. */
  count = 0
  failed = 0
  noisy = 0
  maxAbsoluteError = 0
  /** The largest derivative, analytic or numeric, in size. */
  largest = 0
  /** The largest estimate of a numeric derivative's error. */
  maxEstimate = 0
  /** The largest error that rounding was taken to explain. */
  slack = 0
  /** The entry whose error is the largest multiple of its tolerance, wrong ones before others, and that multiple. */
  worst: GradcheckEntry | null = null
  worstRatio = -1
  worstRank = -1

  get maxRelativeError(): number {
    return relative(this.maxAbsoluteError, this.largest)
  }

  /** Takes an entry as the worst if it is. */
  offer(verdict: Verdict, ratio: number, error: number, entry: () => GradcheckEntry): void {
    const rank = RANKS[verdict]
    if (this.worst !== null && !isWorse(rank, ratio, error, this)) return
    this.worstRank = rank
    this.worstRatio = ratio
    this.worst = entry()
  }

  isWorseThan(other: Extremes): boolean {
    return isWorse(this.worstRank, this.worstRatio, this.worst?.absoluteError ?? 0, other)
  }

  summary(): Pick<GradcheckInput, 'failed' | 'noisy' | 'worst' | 'maxAbsoluteError' | 'maxRelativeError'> & {
    count: number
  } {
    const { count, failed, noisy, worst, maxAbsoluteError, maxRelativeError } = this
    return { count, failed, noisy, worst, maxAbsoluteError, maxRelativeError }
  }

  get digits(): number | null {
    if (this.largest <= this.slack || !Number.isFinite(this.maxEstimate)) return null
    return Math.max(0, Math.min(MOST_DIGITS, -Math.log10(this.maxEstimate / this.largest)))
  }
}

/** By verdict, then by ratio; where those are about equal, as for a wrong factor, by size. */
function isWorse(rank: number, ratio: number, error: number, { worst, worstRank, worstRatio }: Extremes): boolean {
  if (rank !== worstRank) return rank > worstRank
  if (ratio > SAME * worstRatio) return true
  return ratio * SAME >= worstRatio && error > (worst?.absoluteError ?? 0)
}

function relative(error: number, size: number): number {
  return error > 0 && Number.isFinite(error) ? error / size : error
}

export class Tally {
  readonly nonDifferentiable: NonDifferentiablePoint[] = []
  /** Outputs with a wrong derivative, by position; null for a random combination of all. */
  readonly wrongOutputs = new Set<number | null>()
  private readonly entries: ReadonlyMap<number, Extremes>
  private readonly directions = new Extremes()

  /** @param estimates whether numeric derivatives come with an estimate of their error */
  constructor(
    private readonly layout: Layout,
    private readonly estimates: boolean,
  ) {
    this.entries = new Map(layout.parts.map(({ position }) => [position, new Extremes()]))
  }

  /** Counts a derivative of a smooth function. */
  compare(place: LinePlace, component: number, analytic: number, measurement: Measurement, verdict: Verdict): void {
    this.count(place, component, verdict)
    this.rank(place, component, analytic, measurement, verdict, this.estimates ? measurement.estimate : null)
    const extremes = this.of(place.input)
    extremes.maxEstimate = Math.max(extremes.maxEstimate, measurement.estimate)
    extremes.slack = Math.max(extremes.slack, toleranceOf(measurement) - measurement.asked)
  }

  /** Counts a derivative that differences cannot confirm. Its error says nothing unless it is wrong. */
  pointOut(
    place: LinePlace,
    component: number,
    analytic: number,
    { left, right, central }: Quotients,
    kind: 'kink' | 'jump',
    accepted: boolean,
  ): void {
    const verdict = accepted ? 'right' : 'wrong'
    this.nonDifferentiable.push({
      ...this.entry(place, component, analytic, central, null, verdict),
      kind,
      left,
      right,
      accepted,
    })
    this.count(place, component, verdict)
    if (!accepted) {
      this.rank(place, component, analytic, { numeric: central, estimate: 0, asked: 0, floor: 0 }, verdict, null)
    }
  }

  /** What was found for each checked input. */
  inputs(): GradcheckInput[] {
    return this.layout.parts.map(({ position, name, shape }) => {
      const { count, ...found } = this.of(position).summary()
      return { input: position, name, shape, entries: count, ...found }
    })
  }

  /** What was found in all. */
  totals(): {
    entries: number
    directions: number
    failed: number
    noisy: number
    digits: number | null
    maxAbsoluteError: number
    maxRelativeError: number
  } {
    const all = [...this.entries.values(), this.directions]
    return {
      entries: all.reduce((total, { count }) => total + count, -this.directions.count),
      directions: this.directions.count,
      failed: all.reduce((total, { failed }) => total + failed, 0),
      noisy: all.reduce((total, { noisy }) => total + noisy, 0),
      digits: all.reduce<number | null>(
        (least, { digits }) => (digits === null ? least : Math.min(least ?? digits, digits)),
        null,
      ),
      maxAbsoluteError: Math.max(...all.map(({ maxAbsoluteError }) => maxAbsoluteError)),
      maxRelativeError: Math.max(...all.map(({ maxRelativeError }) => maxRelativeError)),
    }
  }

  /** The worst entry, as it tells a place; the worst direction where only directions are wrong or there are no entries. */
  get worst(): GradcheckEntry | null {
    const { directions } = this
    const entries = [...this.entries.values()]
    const first = entries.reduce((a, b) => (b.isWorseThan(a) ? b : a))
    const isLost = (extremes: Extremes) => extremes.failed + extremes.noisy > 0
    const onlyDirections = isLost(directions) && !entries.some(isLost)
    return (onlyDirections || first.worst === null ? directions : first).worst
  }

  /** The largest derivative towards an input, in size. */
  largest(input: number): number {
    return this.of(input).largest
  }

  /** How many derivatives towards an input are wrong. */
  failed(input: number): number {
    return this.of(input).failed
  }

  private of(input: number | null): Extremes {
    return input === null ? this.directions : (this.entries.get(input) as Extremes)
  }

  /** The largest error towards an input that rounding was taken to explain. */
  slack(input: number): number {
    return this.of(input).slack
  }

  private count({ input, output }: LinePlace, component: number, verdict: Verdict): void {
    const extremes = this.of(input)
    extremes.count++
    if (verdict === 'noisy') extremes.noisy++
    if (verdict !== 'wrong') return
    extremes.failed++
    this.wrongOutputs.add(output(component)?.part.position ?? null)
  }

  private rank(
    place: LinePlace,
    component: number,
    analytic: number,
    measurement: Measurement,
    verdict: Verdict,
    estimate: number | null,
  ): void {
    const { numeric } = measurement
    const extremes = this.of(place.input)
    const error = errorBetween(analytic, numeric)
    extremes.maxAbsoluteError = Math.max(extremes.maxAbsoluteError, error)
    extremes.largest = Math.max(extremes.largest, Math.abs(analytic), Math.abs(numeric))
    const quotient = error / toleranceOf(measurement)
    const ratio = error === 0 ? 0 : Number.isNaN(quotient) ? Number.POSITIVE_INFINITY : quotient
    const entry = () => this.entry(place, component, analytic, numeric, estimate, verdict)
    extremes.offer(verdict, ratio, error, entry)
  }

  private entry(
    { input, index, output }: LinePlace,
    component: number,
    analytic: number,
    numeric: number,
    estimate: number | null,
    verdict: Verdict,
  ): GradcheckEntry {
    const place = output(component)
    const absoluteError = errorBetween(analytic, numeric)
    return {
      input,
      index,
      output: place?.part.position ?? null,
      outputIndex: place?.index ?? null,
      analytic,
      numeric,
      numericError: estimate,
      absoluteError,
      relativeError: relative(absoluteError, Math.max(Math.abs(analytic), Math.abs(numeric))),
      verdict,
    }
  }
}
