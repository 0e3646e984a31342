// Comparison with extrapolated differences, which know their own error.
import { agree, Candidate, type Finding, isFlat, leastChange, type Table } from './candidate.js'
import { type Comparison, EdgeWatch, isBetween, type Kind, type Setting } from './comparison.js'
import { extrapolate, extrapolateSides, type Level } from './extrapolation.js'
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
/** … and up to this size: derivatives where a function is saturated. */
const NEGLIGIBLE = 1e-10
/** … and in the end any, where the analytic derivative is less than this part of the error. */
const ZERO = 2 ** -4
/** What rounding does at least to a value that is the difference of others of about 1. */
const UNIT_ROUNDING = 2 ** -51
/** … and at most to be taken for that. */
const MOST_ROUNDING = 2 ** -48
/** An error of a difference is rarely larger than this many standard deviations of the function's noise. */
const DEVIATIONS = 8

/** Slopes left and right may differ by this part of them without a word. */
const UNNOTICED = 1e-3
/** A smooth function's slopes left and right come together by about half from step to step. */
const FALLING = 0.75
/** Rounding must be smaller than this part of the slopes to tell a kink. */
const VISIBLE = 0.05
/** A gap between slopes left and right is none where finer steps show one smaller than this part of it. */
const UNSEEN = 0.1

/** What rounding may do to a derivative of values of this size, by differences over a step. */
function roundingOver(step: number, size: number): number {
  return (ROUNDING * Number.EPSILON * size) / step
}

/** The same, by an entry's distance. */
export function roundingWithin(scale: number, size: number): number {
  return roundingOver(FIRST_STEP * scale, size)
}

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
      if (!this.settles(candidate, table, place, CLEARLY)) unsettled.push(candidate)
    }
    if (unsettled.length === 0) return
    this.extended(table, line, scales[0] as number, LEVELS)
    const hard = unsettled.filter((candidate) => !this.settles(candidate, table, place, 1))
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
  private settles(candidate: Candidate, table: Table, place: LinePlace, part: number): boolean {
    const { component, analytic } = candidate
    const measurement = this.measurement(this.finding(table, component), candidate)
    const { estimate, asked, floor } = measurement
    if (estimate > part * asked + floor || judge(analytic, measurement) !== 'right') return false
    if (this.looksKinked(table, component, estimate)) return false
    this.setting.tally.compare(place, component, analytic, measurement, 'right')
    return true
  }

  private finding(table: Table, component: number): Finding {
    const flat = isFlat(table, component)
    const uncertainty = flat ? 2 * (this.rounding[component] as number) : this.uncertainty(component)
    return { ...extrapolate(table, component, uncertainty), step: (table[0] as Level).step, flat }
  }

  /** By the slopes left and right. */
  private findingOfSides(table: Table, component: number): Finding {
    const sides = extrapolateSides(table, component, this.uncertainty(component))
    return { ...sides, step: (table[0] as Level).step, flat: false }
  }

  /** Whether the values are off by much more than their rounding. */
  private isNoisy(component: number): boolean {
    return DEVIATIONS * (this.noise?.[component] ?? 0) > ROUNDING * (this.rounding[component] as number)
  }

  /** By which a difference of two values may be off. */
  private uncertainty(component: number): number {
    return Math.max(2 * (this.rounding[component] as number), DEVIATIONS * (this.noise?.[component] ?? 0))
  }

  /** @param inTheEnd whether there is no other table to look at */
  private measurement(
    { value: numeric, error: estimate, step, flat }: Finding,
    { component, analytic, largest }: Candidate,
    inTheEnd = false,
  ): Measurement {
    const asked = (this.atol ?? 0) + this.rtol * Math.abs(numeric)
    if (this.atol !== null) return { numeric, estimate, asked, floor: 0 }
    if (inTheEnd && estimate <= NEGLIGIBLE) {
      // Where no bit of the output has changed, how finely it is rounded is not known.
      const unknown = flat && analytic !== 0
      return { numeric, estimate: unknown ? NEGLIGIBLE : estimate, asked, floor: NEGLIGIBLE }
    }
    const isExcused = estimate <= EXCUSED * largest || (inTheEnd && Math.abs(analytic) <= ZERO * estimate)
    return { numeric, estimate, asked, floor: isExcused ? this.floorOf(component, step) : 0 }
  }

  /** By what rounding may falsify a derivative. */
  private floorOf(component: number, step: number): number {
    return roundingOver(
      step,
      (this.rounding[component] as number) / Number.EPSILON + (this.side.sizes[component] as number),
    )
  }

  /** Whether slopes left and right do not come together as those of a smooth function do. */
  private looksKinked(table: Table, component: number, unknown: number): boolean {
    const first = quotientsOf((table[0] as Level).slopes, component)
    const last = quotientsOf((table.at(-1) as Level).slopes, component)
    const gap = Math.abs(last.right - last.left)
    const least = (this.atol ?? 0) + this.rtol * Math.max(Math.abs(last.left), Math.abs(last.right)) + unknown
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
      const table = this.extended(tables.length === 0 ? first : [], line, scale, MAX_LEVELS)
      tables.push(table)
      for (const candidate of candidates) if (!candidate.settled) this.consider(candidate, table)
      if (candidates.every(({ settled }) => settled)) break
    }
    const verdicts = candidates.map((candidate) => this.conclude(candidate, tables, place))
    if (verdicts.every((verdict) => verdict === 'right')) return
    for (const table of tables) for (const { slopes } of table) this.edge.look(place, slopes.ends)
  }

  /** Adds what a table tells, its coarse and its fine half also by themselves. Settles a component that it shows right. */
  private consider(candidate: Candidate, table: Table): void {
    const { component, analytic } = candidate
    const [whole, ...halves] = [table, table.slice(0, LEVELS), table.slice(LEVELS)].map((levels) => {
      const central = this.finding(levels, component)
      const sides = this.findingOfSides(levels, component)
      return sides.converged && (sides.error < central.error || !central.converged) ? sides : central
    }) as [Finding, ...Finding[]]
    const measurement = this.measurement(whole, candidate)
    const { estimate, asked, floor } = measurement
    const converged = whole.converged && !this.looksKinked(table, component, whole.error)
    candidate.found.push({ ...whole, halves, converged })
    candidate.settled = converged && estimate <= asked + floor && judge(analytic, measurement) === 'right'
  }

  /** What all tables together say. */
  private conclude(candidate: Candidate, tables: readonly Table[], place: LinePlace): Verdict {
    const { component, analytic } = candidate
    const told = candidate.best()
    // Values that change in steps as large as rounding makes them are not known better than by such a step.
    const change = leastChange(tables, component)
    const best = change > MOST_ROUNDING ? told : { ...told, error: Math.max(told.error, change / told.step) }
    const measurement = this.measurement(candidate.settled ? told : best, candidate, true)
    const verdict = this.verdictOn(candidate, best, measurement)
    const { kind, steps } = candidate.settled ? SMOOTH : this.kindOf(component, tables)
    if (kind === 'smooth' || steps === null || (verdict === 'right' && best.converged && !isBroken(steps))) {
      this.setting.tally.compare(place, component, analytic, measurement, verdict)
      return verdict
    }
    const [whole, , quarter] = steps
    const accepted = accepts(analytic, verdict, kind, quarter)
    this.setting.tally.pointOut(place, component, analytic, whole, kind, accepted)
    return accepted ? 'right' : 'wrong'
  }

  /** A derivative is wrong only where another one shows at more than one length of steps, and no finer ones speak against it. */
  private verdictOn({ component, analytic, found }: Candidate, best: Finding, measurement: Measurement): Verdict {
    const verdict = judge(analytic, measurement)
    if (verdict !== 'wrong' || !Number.isFinite(analytic) || !Number.isFinite(best.value)) return verdict
    const halves = found.flatMap((finding) => finding.halves).filter((half) => half.converged && agree(best, half))
    const isAgainst = ({ value, error }: Finding) => errorBetween(analytic, value) > measurement.asked + SAFETY * error
    const isTold = best.converged && halves.length > 1 && halves.some(isAgainst)
    // Where the function is noisy, steps over many waves of it show no slope either.
    const isVisible = Math.abs(best.value) > SAFETY * best.error || !this.isNoisy(component)
    return isTold && isVisible ? 'wrong' : 'noisy'
  }

  /** Kink, jump or none of them, by the smallest steps that are not drowned by rounding or noise. */
  private kindOf(component: number, tables: readonly Table[]): Shape {
    const deviation = this.noise?.[component] ?? 0
    const finestFirst = [...tables].sort((a, b) => (a[0] as Level).step - (b[0] as Level).step)
    /** How far apart slopes left and right can be over finer steps. */
    let finerGap = Number.POSITIVE_INFINITY
    for (const table of finestFirst) {
      const [a, b, c] = table.slice(-LEVELS) as [Level, Level, Level]
      const steps = [a, b, c].map(({ slopes }) => quotientsOf(slopes, component)) as [Quotients, Quotients, Quotients]
      const [whole, , quarter] = steps
      if (!steps.every(({ left, right }) => Number.isFinite(left) && Number.isFinite(right))) continue
      const rounding = (16 * (this.rounding[component] as number) + DEVIATIONS * deviation + UNIT_ROUNDING) / a.step
      const size = Math.max(Math.abs(whole.left), Math.abs(whole.right))
      if (rounding <= VISIBLE * size) {
        const kind = classify(steps, (this.atol ?? 0) + UNNOTICED * size, rounding)
        // What finer steps do not see stands beside the point.
        return finerGap < UNSEEN * Math.abs(quarter.right - quarter.left) ? SMOOTH : { kind, steps }
      }
      finerGap = Math.min(finerGap, Math.abs(whole.right - whole.left) + rounding)
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

/** Whether slopes left and right differ as those at a kink or a jump, rather than both being large. */
function isBroken([, , { left, right }]: readonly [Quotients, Quotients, Quotients]): boolean {
  return Math.abs(right - left) > 0.1 * Math.max(Math.abs(left), Math.abs(right))
}

function accepts(analytic: number, verdict: Verdict, kind: Kind, slopes: Quotients): boolean {
  const slack = UNNOTICED * Math.max(Math.abs(slopes.left), Math.abs(slopes.right))
  return kind === 'kink' && (verdict === 'right' || isBetween(analytic, slopes, slack))
}
