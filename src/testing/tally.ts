// Gathers comparisons into what the report says.
import type { Layout, Place } from './layout.js'
import type { Quotients } from './numeric.js'
import type { Settings } from './options.js'
import type { GradcheckEntry, GradcheckInput, NonDifferentiablePoint } from './report.js'

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

/** |analytic − numeric| ≤ atol + rtol · |numeric|; false where anything is NaN, or one is infinite and not the other. */
export function agree(analytic: number, numeric: number, { atol, rtol }: Settings): boolean {
  const error = errorBetween(analytic, numeric)
  return error <= atol + rtol * Math.abs(numeric) && error !== Number.POSITIVE_INFINITY
}

function errorBetween(analytic: number, numeric: number): number {
  return analytic === numeric ? 0 : Math.abs(analytic - numeric)
}

/** What was found in one input, or in the random directions. */
class Extremes {
  /** Derivatives compared. */
  count = 0
  failed = 0
  maxAbsoluteError = 0
  /** The largest derivative, analytic or numeric, in size. */
  largest = 0
  /** The entry whose error is the largest multiple of its tolerance, and that multiple. */
  worst: GradcheckEntry | null = null
  worstRatio = -1

  get maxRelativeError(): number {
    return relative(this.maxAbsoluteError, this.largest)
  }
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

  constructor(
    private readonly layout: Layout,
    private readonly settings: Settings,
  ) {
    this.entries = new Map(layout.parts.map(({ position }) => [position, new Extremes()]))
  }

  /** Counts a derivative of a smooth function. */
  compare(place: LinePlace, component: number, analytic: number, numeric: number): void {
    this.count(place, component, agree(analytic, numeric, this.settings))
    this.rank(place, component, analytic, numeric)
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
    const entry = this.entry(place, component, analytic, central)
    this.nonDifferentiable.push({ ...entry, kind, left, right, accepted })
    this.count(place, component, accepted)
    if (!accepted) this.rank(place, component, analytic, central)
  }

  /** What was found for each checked input. */
  inputs(): GradcheckInput[] {
    return this.layout.parts.map(({ position, name, shape }) => {
      const { count, failed, worst, maxAbsoluteError, maxRelativeError } = this.of(position)
      return { input: position, name, shape, entries: count, failed, worst, maxAbsoluteError, maxRelativeError }
    })
  }

  /** What was found in all. */
  totals(): {
    entries: number
    directions: number
    failed: number
    maxAbsoluteError: number
    maxRelativeError: number
  } {
    const all = [...this.entries.values(), this.directions]
    return {
      entries: all.reduce((total, { count }) => total + count, -this.directions.count),
      directions: this.directions.count,
      failed: all.reduce((total, { failed }) => total + failed, 0),
      maxAbsoluteError: Math.max(...all.map(({ maxAbsoluteError }) => maxAbsoluteError)),
      maxRelativeError: Math.max(...all.map(({ maxRelativeError }) => maxRelativeError)),
    }
  }

  /** The worst entry, as it tells a place; the worst direction where only directions are wrong or there are no entries. */
  get worst(): GradcheckEntry | null {
    const { directions } = this
    const entries = [...this.entries.values()]
    const first = entries.reduce((a, b) => (b.worstRatio > a.worstRatio ? b : a))
    const onlyDirections = directions.failed > 0 && entries.every(({ failed }) => failed === 0)
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

  private count({ input, output }: LinePlace, component: number, right: boolean): void {
    const extremes = this.of(input)
    extremes.count++
    if (right) return
    extremes.failed++
    this.wrongOutputs.add(output(component)?.part.position ?? null)
  }

  private rank(place: LinePlace, component: number, analytic: number, numeric: number): void {
    const { atol, rtol } = this.settings
    const extremes = this.of(place.input)
    const error = errorBetween(analytic, numeric)
    extremes.maxAbsoluteError = Math.max(extremes.maxAbsoluteError, error)
    extremes.largest = Math.max(extremes.largest, Math.abs(analytic), Math.abs(numeric))
    const quotient = error / (atol + rtol * Math.abs(numeric))
    const ratio = error === 0 ? 0 : Number.isNaN(quotient) ? Number.POSITIVE_INFINITY : quotient
    if (ratio > extremes.worstRatio) {
      extremes.worstRatio = ratio
      extremes.worst = this.entry(place, component, analytic, numeric)
    }
  }

  private entry(
    { input, index, output }: LinePlace,
    component: number,
    analytic: number,
    numeric: number,
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
      absoluteError,
      relativeError: relative(absoluteError, Math.max(Math.abs(analytic), Math.abs(numeric))),
    }
  }
}
