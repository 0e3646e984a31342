import { ArgumentError, showValue } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { Optimizer } from './optimizer.js'
import type { CommonSettings } from './rule.js'

/** An optimiser of any kind. */
export type AnyOptimizer = Pick<Optimizer<CommonSettings>, 'groups'>

/** What a schedule needs to go on, for a checkpoint. */
export interface ScheduleState {
  /** How often `step` has been called. */
  readonly step: number
  /** The learning rates of the groups that the schedule starts from. */
  readonly baseLrs: readonly number[]
}

/** For each group under a schedule, the rate that was set last and the one that it was made from. */
const scheduled = new WeakMap<CommonSettings, { readonly lr: number; readonly baseLr: number }>()

/**
 * Sets the learning rates of an optimiser's groups as the steps go on: at once for step 0, then at every call of `step`,
 * whose place is behind the optimiser's. A rate is a function of the step and of the rate that the group had before any
 * schedule changed it.
 */
export abstract class LRSchedule {
  readonly #op: string
  readonly #optimizer: AnyOptimizer
  #baseLrs: readonly number[]
  #step = 0

  /** @throws ArgumentError unless `optimizer` is one */
  protected constructor(op: string, optimizer: AnyOptimizer) {
    if (!(optimizer instanceof Optimizer)) {
      throw new ArgumentError(`${op}: the first argument must be an optimiser, got ${showValue(optimizer)}`)
    }
    this.#op = op
    this.#optimizer = optimizer
    this.#baseLrs = optimizer.groups.map((group) => {
      const known = scheduled.get(group)
      return known !== undefined && known.lr === group.lr ? known.baseLr : group.lr
    })
  }

  /** The learning rate at a step (from 0) of a group that starts from `baseLr`. */
  abstract lrAt(step: number, baseLr: number): number

  /** The momentum (of Adam β₁) at a step; null for schedules that leave it alone. */
  momentumAt(_step: number): number | null {
    return null
  }

  /** Goes on by one step. */
  step(): void {
    this.goTo(this.#step + 1)
  }

  /** The learning rates of the groups at present. */
  get lrs(): number[] {
    return this.#optimizer.groups.map(({ lr }) => lr)
  }

  /** @internal Whether this schedule changes the given optimiser, or any where none is given. */
  belongsTo(optimizer: AnyOptimizer): boolean {
    return this.#optimizer === optimizer
  }

  /** Goes to a step and sets the optimiser to it. */
  protected goTo(step: number): void {
    const lrs = this.#baseLrs.map((baseLr) => this.lrAt(step, baseLr))
    const momentum = this.momentumAt(step)
    this.#step = step
    this.#optimizer.groups.forEach((group, i) => {
      group.lr = lrs[i] as number
      scheduled.set(group, { lr: group.lr, baseLr: this.#baseLrs[i] as number })
      if (momentum !== null) setMomentum(group, momentum)
    })
  }

  /** Where the schedule stands. */
  stateDict(): ScheduleState {
    return { step: this.#step, baseLrs: [...this.#baseLrs] }
  }

  /**
   * Goes on from a state that `stateDict` returned, and sets the optimiser to it.
   *
   * @throws ArgumentError unless it is the state of a schedule of as many groups
   */
  loadStateDict(state: ScheduleState): void {
    const op = `${this.#op}.loadStateDict`
    if (state === undefined) throw new ArgumentError(`${op}: the state must be what stateDict returned, got undefined`)
    checkOptions(op, state, ['step', 'baseLrs'])
    const { step, baseLrs } = state
    const count = this.#optimizer.groups.length
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new ArgumentError(`${op}: step must be a whole number of at least 0, got ${showValue(step)}`)
    }
    if (!Array.isArray(baseLrs) || baseLrs.length !== count || !baseLrs.every(Number.isFinite)) {
      throw new ArgumentError(`${op}: baseLrs must be ${count} numbers, one for each group, got ${showValue(baseLrs)}`)
    }
    this.#baseLrs = [...baseLrs]
    this.goTo(step)
  }
}

function setMomentum(group: object, momentum: number): void {
  if ('betas' in group) group.betas = [momentum, (group.betas as readonly [number, number])[1]]
  else Object.assign(group, { momentum })
}
