// Learning-rate schedules in PyTorch's formulas. t is the step, counted from 0; γ₀ the group's rate before any schedule.
import { ArgumentError, showValue } from '../core/errors.js'
import { checkFlag, checkOptions, requireOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import { checkNotNegative } from './checks.js'
import { type AnyOptimizer, LRSchedule } from './schedule.js'

/** Options of `ConstantLR`. */
export interface ConstantLROptions {
  /** f; default 1/3. */
  readonly factor?: number
  /** T, after which the factor ends; default 5. */
  readonly totalIters?: number
}

/** `f γ₀` for t < T, then γ₀. With `{ factor: 1 }`, γ₀ all along. */
export class ConstantLR extends LRSchedule {
  readonly #factor: number
  readonly #totalIters: number

  /** @throws ArgumentError for a negative factor or a number of steps that is no whole one */
  constructor(optimizer: AnyOptimizer, options: ConstantLROptions = {}) {
    const op = 'ConstantLR'
    super(op, optimizer)
    checkOptions(op, options, ['factor', 'totalIters'])
    const { factor = 1 / 3, totalIters = 5 } = options
    checkNotNegative(op, 'factor', factor)
    checkInteger(op, 'totalIters', totalIters, 0)
    this.#factor = factor
    this.#totalIters = totalIters
    this.goTo(0)
  }

  override lrAt(step: number, baseLr: number): number {
    return step < this.#totalIters ? baseLr * this.#factor : baseLr
  }
}

/** Options of `LinearLR`. */
export interface LinearLROptions {
  /** f₀, the factor of step 0; default 1/3. */
  readonly startFactor?: number
  /** f₁, the factor from step T on; default 1. */
  readonly endFactor?: number
  /** T; default 5. */
  readonly totalIters?: number
}

/** Linear warm-up (or decay): `γ₀ (f₀ + (f₁ − f₀) min(t, T)/T)`. */
export class LinearLR extends LRSchedule {
  readonly #startFactor: number
  readonly #endFactor: number
  readonly #totalIters: number

  /** @throws ArgumentError for negative factors or a number of steps below 1 */
  constructor(optimizer: AnyOptimizer, options: LinearLROptions = {}) {
    const op = 'LinearLR'
    super(op, optimizer)
    checkOptions(op, options, ['startFactor', 'endFactor', 'totalIters'])
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options
    checkNotNegative(op, 'startFactor', startFactor)
    checkNotNegative(op, 'endFactor', endFactor)
    checkInteger(op, 'totalIters', totalIters, 1)
    this.#startFactor = startFactor
    this.#endFactor = endFactor
    this.#totalIters = totalIters
    this.goTo(0)
  }

  override lrAt(step: number, baseLr: number): number {
    const passed = Math.min(step, this.#totalIters) / this.#totalIters
    return baseLr * (this.#startFactor + (this.#endFactor - this.#startFactor) * passed)
  }
}

/** Options of `StepLR`. */
export interface StepLROptions {
  /** How many steps a rate lasts. */
  readonly stepSize: number
  /** The factor from one rate to the next; default 0.1. */
  readonly gamma?: number
}

/** `γ₀ · gamma^⌊t/stepSize⌋`. */
export class StepLR extends LRSchedule {
  readonly #stepSize: number
  readonly #gamma: number

  /** @throws ArgumentError for a step size below 1 or a negative gamma */
  constructor(optimizer: AnyOptimizer, options: StepLROptions) {
    const op = 'StepLR'
    super(op, optimizer)
    requireOptions(op, options, 'stepSize: 30')
    checkOptions(op, options, ['stepSize', 'gamma'])
    const { stepSize, gamma = 0.1 } = options
    checkInteger(op, 'stepSize', stepSize, 1)
    checkNotNegative(op, 'gamma', gamma)
    this.#stepSize = stepSize
    this.#gamma = gamma
    this.goTo(0)
  }

  override lrAt(step: number, baseLr: number): number {
    return baseLr * this.#gamma ** Math.floor(step / this.#stepSize)
  }
}

/** Options of `CosineAnnealingLR`. */
export interface CosineAnnealingLROptions {
  /** T, the step at which the lowest rate is reached. */
  readonly tMax: number
  /** γ₁, the lowest rate; default 0. */
  readonly etaMin?: number
}

/**
 * `γ₁ + (γ₀ − γ₁)(1 + cos(πt/T))/2`: from γ₀ down to γ₁ at step T, and, where it goes on, up again.
 *
 * Source: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", arXiv 1608.03983.
 */
export class CosineAnnealingLR extends LRSchedule {
  readonly #tMax: number
  readonly #etaMin: number

  /** @throws ArgumentError for a number of steps below 1 or a negative rate */
  constructor(optimizer: AnyOptimizer, options: CosineAnnealingLROptions) {
    const op = 'CosineAnnealingLR'
    super(op, optimizer)
    requireOptions(op, options, 'tMax: 1000')
    checkOptions(op, options, ['tMax', 'etaMin'])
    const { tMax, etaMin = 0 } = options
    checkInteger(op, 'tMax', tMax, 1)
    checkNotNegative(op, 'etaMin', etaMin)
    this.#tMax = tMax
    this.#etaMin = etaMin
    this.goTo(0)
  }

  override lrAt(step: number, baseLr: number): number {
    return annealCosine(baseLr, this.#etaMin, step / this.#tMax)
  }
}

/** Options of `OneCycleLR`. */
export interface OneCycleLROptions {
  /** The highest rate. */
  readonly maxLr: number
  /** T, the number of steps in the cycle. */
  readonly totalSteps: number
  /** The share of the cycle in which the rate rises; default 0.3. */
  readonly pctStart?: number
  /** Whether rates move along half a cosine or a line; default 'cos'. */
  readonly annealStrategy?: 'cos' | 'linear'
  /** Whether the momentum (of Adam β₁) falls while the rate rises, and the reverse; default true. */
  readonly cycleMomentum?: boolean
  /** The lowest momentum; default 0.85. */
  readonly baseMomentum?: number
  /** The highest momentum; default 0.95. */
  readonly maxMomentum?: number
  /** The first rate is maxLr / divFactor; default 25. */
  readonly divFactor?: number
  /** The last rate is the first / finalDivFactor; default 1e4. */
  readonly finalDivFactor?: number
}

/**
 * The rate rises from maxLr/divFactor to maxLr at step pctStart · T − 1, and falls to maxLr/(divFactor · finalDivFactor)
 * at step T − 1; the momentum falls from maxMomentum to baseMomentum, and rises again. The groups' own rates do not
 * matter.
 *
 * Source: Smith and Topin, "Super-Convergence", arXiv 1708.07120.
 */
export class OneCycleLR extends LRSchedule {
  readonly #options: Required<OneCycleLROptions>

  /** @throws ArgumentError for options out of their ranges */
  constructor(optimizer: AnyOptimizer, options: OneCycleLROptions) {
    const op = 'OneCycleLR'
    super(op, optimizer)
    requireOptions(op, options, 'maxLr: 0.1, totalSteps: 1000')
    checkOptions(op, options, [...ONE_CYCLE])
    const settings = {
      maxLr: options.maxLr,
      totalSteps: options.totalSteps,
      pctStart: options.pctStart ?? 0.3,
      annealStrategy: options.annealStrategy ?? 'cos',
      cycleMomentum: options.cycleMomentum ?? true,
      baseMomentum: options.baseMomentum ?? 0.85,
      maxMomentum: options.maxMomentum ?? 0.95,
      divFactor: options.divFactor ?? 25,
      finalDivFactor: options.finalDivFactor ?? 1e4,
    }
    checkInteger(op, 'totalSteps', settings.totalSteps, 1)
    for (const name of ['maxLr', 'baseMomentum', 'maxMomentum'] as const) checkNotNegative(op, name, settings[name])
    for (const name of ['divFactor', 'finalDivFactor'] as const) {
      if (typeof settings[name] === 'number' && settings[name] > 0) continue
      throw new ArgumentError(`${op}: ${name} must be a number above 0, got ${showValue(settings[name])}`)
    }
    checkFlag(op, 'cycleMomentum', settings.cycleMomentum)
    const { pctStart, annealStrategy } = settings
    if (!(typeof pctStart === 'number' && pctStart >= 0 && pctStart <= 1)) {
      throw new ArgumentError(`${op}: pctStart must lie in [0, 1], got ${showValue(pctStart)}`)
    }
    if (annealStrategy !== 'cos' && annealStrategy !== 'linear') {
      throw new ArgumentError(`${op}: annealStrategy must be 'cos' or 'linear', got ${showValue(annealStrategy)}`)
    }
    this.#options = settings
    this.goTo(0)
  }

  /** @throws ArgumentError beyond the end of the cycle */
  override lrAt(step: number): number {
    const { maxLr, divFactor, finalDivFactor } = this.#options
    const first = maxLr / divFactor
    return this.#at(step, first, maxLr, first / finalDivFactor)
  }

  override momentumAt(step: number): number | null {
    const { cycleMomentum, baseMomentum, maxMomentum } = this.#options
    return cycleMomentum ? this.#at(step, maxMomentum, baseMomentum, maxMomentum) : null
  }

  #at(step: number, first: number, middle: number, last: number): number {
    const { totalSteps, pctStart, annealStrategy } = this.#options
    if (step > totalSteps) {
      throw new ArgumentError(`OneCycleLR: step ${step} lies beyond the end of the cycle of ${totalSteps} steps`)
    }
    const anneal = annealStrategy === 'cos' ? annealCosine : annealLinearly
    const peak = pctStart * totalSteps - 1
    if (step <= peak) return anneal(first, middle, shareOf(step, 0, peak))
    return anneal(middle, last, shareOf(step, peak, totalSteps - 1))
  }
}

const ONE_CYCLE = [
  ...['maxLr', 'totalSteps', 'pctStart', 'annealStrategy'],
  ...['cycleMomentum', 'baseMomentum', 'maxMomentum', 'divFactor', 'finalDivFactor'],
]

/** Options of `SequentialLR`. */
export interface SequentialLROptions {
  /** The schedules, in this order. */
  readonly schedules: readonly LRSchedule[]
  /** The steps at which the second, third, … takes over, each at its own step 0. */
  readonly milestones: readonly number[]
}

/** One schedule after another: for example a warm-up, then a cosine. */
export class SequentialLR extends LRSchedule {
  readonly #schedules: readonly LRSchedule[]
  readonly #milestones: readonly number[]

  /** @throws ArgumentError unless there is one milestone less than schedules, rising, and all are of this optimiser */
  constructor(optimizer: AnyOptimizer, options: SequentialLROptions) {
    const op = 'SequentialLR'
    super(op, optimizer)
    requireOptions(op, options, 'schedules: [warmup, cosine], milestones: [100]')
    checkOptions(op, options, ['schedules', 'milestones'])
    const { schedules, milestones } = options
    if (!Array.isArray(schedules) || !Array.isArray(milestones) || milestones.length !== schedules.length - 1) {
      throw new ArgumentError(`${op}: needs at least one schedule, and one milestone less than schedules`)
    }
    for (const schedule of schedules) {
      if (schedule instanceof LRSchedule && schedule.belongsTo(optimizer)) continue
      throw new ArgumentError(`${op}: every schedule must be one of the same optimiser, got ${showValue(schedule)}`)
    }
    milestones.forEach((milestone, i) => {
      checkInteger(op, 'a milestone', milestone, i === 0 ? 1 : (milestones[i - 1] as number) + 1)
    })
    this.#schedules = [...schedules]
    this.#milestones = [...milestones]
    this.goTo(0)
  }

  override lrAt(step: number, baseLr: number): number {
    const [schedule, own] = this.#placeOf(step)
    return schedule.lrAt(own, baseLr)
  }

  override momentumAt(step: number): number | null {
    const [schedule, own] = this.#placeOf(step)
    return schedule.momentumAt(own)
  }

  /** The schedule whose turn it is, and its own step. */
  #placeOf(step: number): [LRSchedule, number] {
    const place = this.#milestones.filter((milestone) => milestone <= step).length
    const start = place === 0 ? 0 : (this.#milestones[place - 1] as number)
    return [this.#schedules[place] as LRSchedule, step - start]
  }
}

function annealCosine(from: number, to: number, share: number): number {
  return to + ((from - to) * (1 + Math.cos(Math.PI * share))) / 2
}

function annealLinearly(from: number, to: number, share: number): number {
  return from + (to - from) * share
}

/** How far `step` is from start to end, at most 1. */
function shareOf(step: number, start: number, end: number): number {
  return step >= end ? 1 : (step - start) / (end - start)
}
