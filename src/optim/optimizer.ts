import { contiguous } from '../core/contiguous.js'
import { suffixOf } from '../core/dtype.js'
import { withRecording } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, markChanged, tick } from '../memory/arena.js'
import { closeScope, openScope } from '../memory/scope.js'
import { clone, copy_ } from '../ops/copy.js'
import { zerosLike } from '../ops/creation.js'
import { groupsOf, type OptimizedParameters, type ParameterGroup } from './groups.js'
import type { CommonSettings, UpdateRule } from './rule.js'
import { checkState, type OptimizerState, type PlainSetting } from './state.js'

/** What is kept for one parameter. */
interface Slot {
  readonly parameter: Tensor
  /** In the order of the rule's names; null where not needed so far. */
  readonly buffers: (Tensor | null)[]
  steps: number
}

/**
 * Updates parameters in place from their gradients. Base of `SGD`, `Adam`, `AdamW` and `RMSprop`; the loop is
 *
 *     optimizer.zeroGrad()
 *     loss(…).backward()
 *     optimizer.step()
 */
export abstract class Optimizer<Settings extends CommonSettings> {
  /** The parameters with their settings, which may be changed between steps: `optimizer.groups[0].lr = 0.01`. */
  readonly groups: readonly ParameterGroup<Settings>[]
  readonly #rule: UpdateRule<Settings>
  readonly #slots: readonly (readonly Slot[])[]

  /**
   * @throws ArgumentError where there is no parameter, or one twice, or a setting that cannot be; GradientError for a
   *   parameter that is no leaf; DTypeError for one that is not floating
   */
  protected constructor(
    rule: UpdateRule<Settings>,
    parameters: OptimizedParameters<Settings>,
    options: Readonly<Partial<Settings>>,
  ) {
    this.#rule = rule
    this.groups = groupsOf(rule, parameters, options)
    this.#slots = this.groups.map((group) =>
      group.parameters.map((parameter) => ({ parameter, buffers: rule.buffers.map(() => null), steps: 0 })),
    )
  }

  /**
   * Updates every parameter that has a gradient, in place and unrecorded. A tape that saved the old numbers refuses to be
   * swept afterwards.
   *
   * @throws ArgumentError where a setting was changed to what cannot be; nothing is updated then
   */
  step(): void {
    for (const group of this.groups) this.#rule.check(this.#rule.name, group)
    withRecording(false, () => {
      this.groups.forEach((group, index) => {
        for (const slot of this.#slots[index] as readonly Slot[]) {
          const { gradient } = slot.parameter
          if (gradient !== null) this.#update(slot, gradient, group)
        }
      })
    })
  }

  #update(slot: Slot, gradient: Tensor, settings: Settings): void {
    const { parameter, buffers } = slot
    const rule = this.#rule
    const count = buffers.length
    const addresses = new Array<number>(count)
    const fresh = new Array<boolean>(count)
    for (let i = 0; i < count; i++) {
      addresses[i] = 0
      fresh[i] = buffers[i] === null && rule.needs(rule.buffers[i] as string, settings)
      if (fresh[i] === true) buffers[i] = zerosLike(parameter)
    }
    const mark = openScope()
    try {
      tick()
      for (let i = 0; i < count; i++) {
        const buffer = buffers[i] as Tensor | null
        if (buffer === null || !rule.needs(rule.buffers[i] as string, settings)) continue
        addresses[i] = addressOf(buffer.storage)
        buffer.storage.home = null
      }
      rule.update({
        suffix: suffixOf(parameter.dtype) as 'f32' | 'f64',
        count: parameter.size,
        gradient: addressOf(contiguous(gradient).storage),
        parameter: addressOf(parameter.storage),
        buffers: addresses,
        fresh,
        settings,
        step: slot.steps + 1,
      })
    } finally {
      closeScope(mark, null)
    }
    slot.steps++
    markChanged(parameter.storage)
  }

  /** Sets the gradients of all parameters to null. */
  zeroGrad(): void {
    for (const { parameters } of this.groups) for (const parameter of parameters) parameter.setGradient(null)
  }

  /** A copy of all that the optimiser has gathered, and of its settings. */
  stateDict(): OptimizerState {
    const slots = this.#slots.flat()
    const tensors: Record<string, Tensor> = {}
    slots.forEach(({ buffers }, index) => {
      buffers.forEach((buffer, i) => {
        if (buffer !== null) tensors[`${index}.${this.#rule.buffers[i]}`] = clone(buffer)
      })
    })
    let index = 0
    const groups = this.groups.map(({ parameters, ...settings }) => ({
      ...structuredClone(settings as Record<string, PlainSetting>),
      parameters: parameters.map(() => index++),
    }))
    return { tensors, steps: slots.map(({ steps }) => steps), groups }
  }

  /**
   * Goes on from a state that `stateDict` returned: the same updates follow, to the last bit.
   *
   * @throws ArgumentError where the state is not one of this optimiser over parameters of these shapes in these groups;
   *   it lists all that does not fit, and nothing is changed
   */
  loadStateDict(state: OptimizerState): void {
    const op = `${this.#rule.name}.loadStateDict`
    const slots = this.#slots.flat()
    const settings = ['lr', ...Object.keys(this.#rule.defaults).filter((name) => name !== 'lr')]
    const parameters = slots.map(({ parameter }) => parameter)
    checkState(op, state, { parameters, buffers: this.#rule.buffers, groups: this.groups, settings })
    // Plain data, so that what is loaded is nobody else's.
    const groups = state.groups.map(({ parameters: _, ...rest }) => structuredClone(rest) as unknown as Settings)
    for (const group of groups) this.#rule.check(op, group)
    groups.forEach((group, i) => {
      Object.assign(this.groups[i] as object, group)
    })
    slots.forEach((slot, index) => {
      slot.steps = state.steps[index] as number
      this.#rule.buffers.forEach((name, i) => {
        const saved = state.tensors[`${index}.${name}`]
        slot.buffers[i] = saved === undefined ? null : copy_(zerosLike(slot.parameter), saved)
      })
    })
  }
}
