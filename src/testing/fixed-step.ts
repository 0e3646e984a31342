// Comparison with central differences of one step that the caller chose.
import { type Comparison, EdgeWatch, isBetween, type Setting } from './comparison.js'
import type { Vector } from './layout.js'
import { ROUNDING_NOTE } from './notes.js'
import { classify, type Line, type Quotients, quotientsOf, roundingOf, type Slopes, slopesAlong } from './numeric.js'
import type { Along } from './side.js'
import type { LinePlace } from './tally.js'
import { judge, type Measurement } from './verdict.js'

/** Where both sides agree, slopes left and right must differ by this many tolerances to be worth a second look. */
const CLEARLY = 10

export class FixedStep implements Comparison {
  private readonly rounding: Vector
  private readonly edge: EdgeWatch

  constructor(
    private readonly setting: Setting,
    private readonly eps: number,
    private readonly atol: number,
    private readonly rtol: number,
  ) {
    this.rounding = roundingOf(setting.center, eps, setting.weights)
    this.edge = new EdgeWatch(setting)
  }

  along(line: Line, _: readonly number[], place: LinePlace, analytic: Along): void {
    const { eps } = this
    const slopes = this.slopes(line, eps)
    this.edge.look(place, slopes.ends)
    let finer: readonly [Slopes, Slopes] | null = null
    for (let component = 0; component < slopes.central.length; component++) {
      const value = analytic.slope(component)
      const whole = quotientsOf(slopes, component)
      if (this.isSuspicious(value, whole, component)) {
        finer ??= [this.slopes(line, eps / 2), this.slopes(line, eps / 4)]
        const [half, quarter] = finer
        this.examine(place, component, value, [whole, quotientsOf(half, component), quotientsOf(quarter, component)])
      } else this.compare(place, component, value, whole.central)
    }
  }

  private slopes(line: Line, h: number): Slopes {
    return slopesAlong(line, h, this.setting.center, this.setting.weights)
  }

  /** One step tells nothing of its error. */
  private measurement(numeric: number): Measurement {
    return { numeric, estimate: 0, asked: this.atol + this.rtol * Math.abs(numeric), floor: 0 }
  }

  private compare(place: LinePlace, component: number, analytic: number, numeric: number): void {
    const measurement = this.measurement(numeric)
    const verdict = judge(analytic, measurement)
    const drowned = verdict === 'wrong' && Math.abs(analytic - numeric) <= (this.rounding[component] as number)
    if (drowned) this.setting.notes.add(ROUNDING_NOTE)
    this.setting.tally.compare(place, component, analytic, measurement, drowned ? 'noisy' : verdict)
  }

  /** What slopes left and right may differ by without a word. */
  private tolerance({ left, right }: Quotients): number {
    return this.atol + this.rtol * Math.max(Math.abs(left), Math.abs(right))
  }

  private agree(analytic: number, numeric: number): boolean {
    return judge(analytic, this.measurement(numeric)) === 'right'
  }

  /** Whether smaller steps may tell more: where both sides disagree, or the slopes left and right clearly do. */
  private isSuspicious(analytic: number, quotients: Quotients, component: number): boolean {
    const { left, right, central } = quotients
    if (!Number.isFinite(left) || !Number.isFinite(right)) return false
    const gap = Math.abs(right - left) - (this.rounding[component] as number)
    return gap > CLEARLY * this.tolerance(quotients) || !this.agree(analytic, central)
  }

  private examine(
    place: LinePlace,
    component: number,
    analytic: number,
    steps: readonly [Quotients, Quotients, Quotients],
  ): void {
    const [whole, , quarter] = steps
    const kind = classify(steps, this.tolerance(whole), this.rounding[component] as number)
    if (kind === 'smooth') {
      this.compare(place, component, analytic, whole.central)
      return
    }
    const accepted =
      kind === 'kink' && (this.agree(analytic, whole.central) || isBetween(analytic, quarter, this.tolerance(quarter)))
    this.setting.tally.pointOut(place, component, analytic, whole, kind, accepted)
  }
}
