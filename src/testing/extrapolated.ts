// Comparison with extrapolated differences, which know their own error.
import { type Comparison, EdgeWatch, isBetween, type Kind, type Setting } from './comparison.js'
import { type Extrapolated, extrapolate, extrapolateSides, type Level } from './extrapolation.js'
import type { Vector } from './layout.js'
import { classify, type Line, project, type Quotients, quotientsOf, slopesAlong } from './numeric.js'
import type { Along, Side } from './side.js'
import type { LinePlace } from './tally.js'
import { errorBetween, judge, type Measurement, SAFETY, type Verdict } from './verdict.js'

/** The first step, in parts of the distance over which the function may change. */
const FIRST_STEP = 2 ** -8
/** Steps of a table, each half of the one before: at least, where nothing speaks against it, and at most. */
const MIN_LEVELS = 2
const LEVELS = 3
const MAX_LEVELS = 6
/** Two steps are enough where their estimate is smaller than the tolerance by this factor. */
const CLEARLY = 1e-3

/** Rounding of outputs, and of the terms they are made of, that is nobody's fault: in units of 2⁻⁵². */
const ROUNDING = 2 ** 12
/** It excuses an error up to this part of the largest derivative towards the same input … */
const EXCUSED = 1e-3
/** … and any where the analytic derivative is 0, which is less than this part of the error. */
const ZERO = 2 ** -4
/** Distances smaller than this count as this when it comes to what rounding may do to a difference. */
const LEAST_SCALE = 2 ** -27
/** An error of a difference is rarely larger than this many standard deviations of the function's noise. */
const DEVIATIONS = 8

/** Slopes left and right may differ by this part of them without a word. */
const UNNOTICED = 1e-3
/** A smooth function's slopes left and right come together by about half from step to step. */
const FALLING = 0.75
/** Rounding must be smaller than this part of the slopes to tell a kink. */
const VISIBLE = 0.05

/** Differences for one distance. */
type Table = Level[]

export class ExtrapolatedDifferences implements Comparison {
  private readonly edge: EdgeWatch
  /** What each component's values may be off by because they are rounded. */
  private readonly rounding: Vector
  private noise: Vector | null = null

  /**
   * @param atol null: by rounding
   * @param measureNoise each component's noise; called where it matters
   */
  constructor(
    private readonly setting: Setting,
    private readonly side: Side,
    private readonly atol: number | null,
    private readonly rtol: number,
    private readonly measureNoise: (components: number) => Vector,
  ) {
    this.edge = new EdgeWatch(setting)
    const finite = setting.center.map((value) => (Number.isFinite(value) ? Math.abs(value) : 0))
    this.rounding = project(finite, setting.weights?.map(Math.abs) ?? null).map((size) => size * Number.EPSILON)
  }

  along(line: Line, scales: readonly number[], place: LinePlace, analytic: Along): void {
    const table = this.extended([], line, scales[0] as number, MIN_LEVELS)
    const unsettled: Candidate[] = []
    for (let component = 0; component < this.rounding.length; component++) {
      const candidate = new Candidate(component, analytic.slope(component), analytic.largest(component))
      if (!this.settles(candidate, table, place, scales, CLEARLY)) unsettled.push(candidate)
    }
    if (unsettled.length === 0) return
    this.extended(table, line, scales[0] as number, LEVELS)
    const hard = unsettled.filter((candidate) => !this.settles(candidate, table, place, scales, 1))
    if (hard.length > 0) this.examine(hard, table, line, scales, place)
  }

  /** Adds steps to a table. */
  private extended(table: Table, line: Line, scale: number, levels: number): Table {
    for (let i = table.length; i < levels; i++) {
      const step = scale * FIRST_STEP * 2 ** -i
      table.push({ step, slopes: slopesAlong(line, step, this.setting.center, this.setting.weights) })
    }
    return table
  }

  /** Counts a component as right if the table shows it so, and nothing in it looks like a kink. */
  private settles(
    candidate: Candidate,
    table: Table,
    place: LinePlace,
    scales: readonly number[],
    part: number,
  ): boolean {
    const { component, analytic } = candidate
    const { value, error } = this.extrapolated(table, component)
    const measurement = this.measurement(value, error, candidate, scales)
    const { estimate, asked, floor } = measurement
    if (estimate > part * asked + floor || judge(analytic, measurement) !== 'right') return false
    if (this.looksKinked(table, component, floor)) return false
    this.setting.tally.compare(place, component, analytic, measurement, 'right')
    return true
  }

  private extrapolated(table: Table, component: number): Extrapolated {
    return extrapolate(table, component, this.uncertainty(component))
  }

  /** By which a difference of two values may be off. */
  private uncertainty(component: number): number {
    return Math.max(2 * (this.rounding[component] as number), DEVIATIONS * (this.noise?.[component] ?? 0))
  }

  private measurement(
    numeric: number,
    estimate: number,
    { component, analytic, largest }: Candidate,
    scales: readonly number[],
  ): Measurement {
    const isExcused = estimate <= EXCUSED * largest || Math.abs(analytic) <= ZERO * estimate
    const size = (this.rounding[component] as number) + (this.side.sizes[component] as number) * Number.EPSILON
    const step = FIRST_STEP * Math.max(scales[0] as number, LEAST_SCALE)
    return {
      numeric,
      estimate,
      asked: (this.atol ?? 0) + this.rtol * Math.abs(numeric),
      floor: this.atol === null && isExcused ? (ROUNDING * size) / step : 0,
    }
  }

  /** Whether slopes left and right do not come together as those of a smooth function do. */
  private looksKinked(table: Table, component: number, floor: number): boolean {
    const first = quotientsOf((table[0] as Level).slopes, component)
    const last = quotientsOf((table.at(-1) as Level).slopes, component)
    const gap = Math.abs(last.right - last.left)
    const least = (this.atol ?? 0) + this.rtol * Math.max(Math.abs(last.left), Math.abs(last.right)) + floor
    return gap > least && gap > FALLING ** (table.length - 1) * Math.abs(first.right - first.left)
  }

  /** Takes more and other steps for components that the first few do not show right. */
  private examine(
    candidates: readonly Candidate[],
    first: Table,
    line: Line,
    scales: readonly number[],
    place: LinePlace,
  ): void {
    const tables: Table[] = []
    this.noise ??= this.measureNoise(this.rounding.length)
    for (const scale of scales) {
      const table = tables.length === 0 ? first : this.extended([], line, scale, LEVELS)
      tables.push(table)
      const unclear = candidates.some((candidate) => !candidate.settled && !this.isClear(candidate, table, scales))
      if (unclear) this.extended(table, line, scale, MAX_LEVELS)
      for (const candidate of candidates) if (!candidate.settled) this.consider(candidate, table, scales)
      if (candidates.every(({ settled }) => settled)) break
    }
    const finest = tables.reduce((a, b) => ((b[0] as Level).step < (a[0] as Level).step ? b : a))
    this.edge.look(place, (finest.at(-1) as Level).slopes.ends)
    for (const candidate of candidates) this.conclude(candidate, tables, scales, place)
  }

  /** Whether a table's estimate is as small as it needs to be. */
  private isClear(candidate: Candidate, table: Table, scales: readonly number[]): boolean {
    const { value, error } = this.extrapolated(table, candidate.component)
    const { estimate, asked, floor } = this.measurement(value, error, candidate, scales)
    return estimate <= asked + floor
  }

  /** Takes a table's derivative if it is the best yet, and settles for it where another table has told the same. */
  private consider(candidate: Candidate, table: Table, scales: readonly number[]): void {
    const { component, analytic, best } = candidate
    const central = this.extrapolated(table, component)
    const sides = extrapolateSides(table, component, this.uncertainty(component))
    const found = sides.error < central.error ? sides : central
    const measurement = this.measurement(found.value, found.error, candidate, scales)
    const { asked, floor } = measurement
    const sure = found.error <= asked + floor
    const confirmed =
      best !== null &&
      best.error <= asked + floor &&
      errorBetween(best.value, found.value) <= asked + SAFETY * (best.error + found.error)
    if (best === null || found.error < best.error || !Number.isFinite(best.value)) candidate.best = found
    const kinked = this.looksKinked(table, component, floor)
    candidate.settled = !kinked && sure && (confirmed || judge(analytic, measurement) === 'right')
  }

  /** What all tables together say. */
  private conclude(candidate: Candidate, tables: readonly Table[], scales: readonly number[], place: LinePlace): void {
    const { component, analytic } = candidate
    const best = candidate.best as Extrapolated
    const measurement = this.measurement(best.value, best.error, candidate, scales)
    const verdict = judge(analytic, measurement)
    const { kind, steps } = candidate.settled ? SMOOTH : this.kindOf(component, tables)
    if (kind === 'smooth' || steps === null) {
      this.setting.tally.compare(place, component, analytic, measurement, verdict)
      return
    }
    const [whole, , quarter] = steps
    this.setting.tally.pointOut(place, component, analytic, whole, kind, accepts(analytic, verdict, kind, quarter))
  }

  /** Kink, jump or none of them, by the smallest steps that are not drowned by rounding or noise. */
  private kindOf(component: number, tables: readonly Table[]): Shape {
    const deviation = this.noise?.[component] ?? 0
    const finestFirst = [...tables].sort((a, b) => (a[0] as Level).step - (b[0] as Level).step)
    for (const table of finestFirst) {
      const [a, b, c] = table.slice(-LEVELS) as [Level, Level, Level]
      const steps = [a, b, c].map(({ slopes }) => quotientsOf(slopes, component)) as [Quotients, Quotients, Quotients]
      const [whole] = steps
      if (!steps.every(({ left, right }) => Number.isFinite(left) && Number.isFinite(right))) continue
      const rounding = (16 * (this.rounding[component] as number) + DEVIATIONS * deviation) / a.step
      const size = Math.max(Math.abs(whole.left), Math.abs(whole.right))
      if (rounding > VISIBLE * size) continue
      return { kind: classify(steps, (this.atol ?? 0) + UNNOTICED * size, rounding), steps }
    }
    return SMOOTH
  }
}

/** What slopes left and right tell, and which these are. */
interface Shape {
  readonly kind: Kind
  readonly steps: readonly [Quotients, Quotients, Quotients] | null
}

const SMOOTH: Shape = { kind: 'smooth', steps: null }

/** A component whose derivative is not plainly right. */
class Candidate {
  best: Extrapolated | null = null
  settled = false

  constructor(
    readonly component: number,
    readonly analytic: number,
    /** The largest derivative towards the same input. */
    readonly largest: number,
  ) {}
}

function accepts(analytic: number, verdict: Verdict, kind: Kind, slopes: Quotients): boolean {
  const slack = UNNOTICED * Math.max(Math.abs(slopes.left), Math.abs(slopes.right))
  return kind === 'kink' && (verdict === 'right' || isBetween(analytic, slopes, slack))
}
