// Compares derivatives along one line with difference quotients, and finds out where these cannot be trusted.
import type { Layout, Vector } from './layout.js'
import { edgeNote, ROUNDING_NOTE } from './notes.js'
import {
  classify,
  type Line,
  type Quotients,
  quotientsOf,
  roundingOf,
  type Slopes,
  slopesAlong,
  type Weights,
} from './numeric.js'
import type { Settings } from './options.js'
import { agree, type LinePlace, type Tally } from './tally.js'

/** Where both sides agree, slopes left and right must differ by this many tolerances to be worth a second look. */
const CLEARLY = 10

export class Comparison {
  private readonly rounding: Vector
  private edgeNoted = false

  /**
   * @param center f at the point
   * @param weights which components of f are compared
   */
  constructor(
    private readonly center: Vector,
    private readonly weights: Weights,
    private readonly outputs: Layout,
    private readonly settings: Settings,
    private readonly tally: Tally,
    private readonly notes: Set<string>,
  ) {
    this.rounding = roundingOf(center, settings.eps, weights)
  }

  /** Compares every component's derivative along a line. */
  along(line: Line, place: LinePlace, analytic: (component: number) => number): void {
    const { eps } = this.settings
    const slopes = this.slopes(line, eps)
    this.noteEdge(place, slopes)
    let finer: readonly [Slopes, Slopes] | null = null
    for (let component = 0; component < slopes.central.length; component++) {
      const value = analytic(component)
      const whole = quotientsOf(slopes, component)
      if (this.isSuspicious(value, whole, component)) {
        finer ??= [this.slopes(line, eps / 2), this.slopes(line, eps / 4)]
        const [half, quarter] = finer
        this.examine(place, component, value, [whole, quotientsOf(half, component), quotientsOf(quarter, component)])
      } else this.tally.compare(place, component, value, whole.central)
    }
  }

  private slopes(line: Line, h: number): Slopes {
    return slopesAlong(line, h, this.center, this.weights)
  }

  /** What slopes left and right may differ by without a word. */
  private tolerance({ left, right }: Quotients): number {
    return this.settings.atol + this.settings.rtol * Math.max(Math.abs(left), Math.abs(right))
  }

  /** Whether smaller steps may tell more: where both sides disagree, or the slopes left and right clearly do. */
  private isSuspicious(analytic: number, quotients: Quotients, component: number): boolean {
    const { left, right, central } = quotients
    if (!Number.isFinite(left) || !Number.isFinite(right)) return false
    const gap = Math.abs(right - left) - (this.rounding[component] as number)
    return gap > CLEARLY * this.tolerance(quotients) || !agree(analytic, central, this.settings)
  }

  private examine(
    place: LinePlace,
    component: number,
    analytic: number,
    steps: readonly [Quotients, Quotients, Quotients],
  ): void {
    const [whole, , quarter] = steps
    const rounding = this.rounding[component] as number
    const right = agree(analytic, whole.central, this.settings)
    const kind = classify(steps, this.tolerance(whole), rounding)
    if (kind === 'smooth') {
      if (!right && Math.abs(analytic - whole.central) <= rounding) this.notes.add(ROUNDING_NOTE)
      this.tally.compare(place, component, analytic, whole.central)
      return
    }
    const slack = this.tolerance(quarter)
    const between =
      analytic >= Math.min(quarter.left, quarter.right) - slack &&
      analytic <= Math.max(quarter.left, quarter.right) + slack
    this.tally.pointOut(place, component, analytic, whole, kind, kind === 'kink' && (right || between))
  }

  private noteEdge({ name }: LinePlace, { ends }: Slopes): void {
    if (this.edgeNoted) return
    for (const end of ends) {
      const entry = end.findIndex((value, i) => !Number.isFinite(value) && Number.isFinite(this.center[i]))
      if (entry < 0) continue
      this.notes.add(edgeNote(this.outputs, entry, end[entry] as number, name))
      this.edgeNoted = true
      return
    }
  }
}
