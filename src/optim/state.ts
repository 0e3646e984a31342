// An optimiser's state as plain data.
import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'

/** A setting of a group as plain data. */
export type PlainSetting = number | boolean | readonly number[]

/**
 * What an optimiser has gathered, for a checkpoint: named tensors, and numbers that JSON can hold. Parameters are
 * counted through all groups, from 0.
 */
export interface OptimizerState {
  /** The tensors kept for each parameter, `${index}.${name}`: `0.expAvg`, `0.expAvgSq`, … */
  readonly tensors: Readonly<Record<string, Tensor>>
  /** How many updates each parameter has had. */
  readonly steps: readonly number[]
  /** The settings of each group, with the indices of its parameters. */
  readonly groups: readonly Readonly<{ parameters: readonly number[]; [setting: string]: PlainSetting }>[]
}

/** What a state must fit. */
export interface StateForm {
  readonly parameters: readonly Tensor[]
  readonly buffers: readonly string[]
  readonly groups: readonly { readonly parameters: readonly Tensor[] }[]
  readonly settings: readonly string[]
}

/** Throws, with all that is wrong, unless a state fits. */
export function checkState(op: string, state: OptimizerState, form: StateForm): void {
  if (typeof state !== 'object' || state === null) {
    throw new ArgumentError(`${op}: the state must be what stateDict returned, got ${String(state)}`)
  }
  checkOptions(op, state, ['tensors', 'steps', 'groups'])
  const { tensors, steps, groups } = state
  if (typeof tensors !== 'object' || tensors === null || !Array.isArray(steps) || !Array.isArray(groups)) {
    throw new ArgumentError(`${op}: the state must have tensors, steps and groups, as stateDict returned them`)
  }
  const wrong = [...wrongGroups(state, form), ...wrongSteps(state, form), ...wrongTensors(state, form)]
  if (wrong.length > 0) throw new ArgumentError(`${op}: the state does not fit this optimiser; ${wrong.join('; ')}`)
}

function wrongGroups({ groups }: OptimizerState, form: StateForm): string[] {
  if (groups.length !== form.groups.length) return [`it has ${groups.length} groups instead of ${form.groups.length}`]
  let index = 0
  return form.groups.flatMap(({ parameters }, place) => {
    const group = groups[place] as Readonly<Record<string, PlainSetting>>
    const indices = parameters.map(() => index++)
    const missing = form.settings.filter((name) => !Object.hasOwn(group, name))
    const unexpected = Object.keys(group).filter((name) => name !== 'parameters' && !form.settings.includes(name))
    const given = group['parameters']
    return [
      ...(Array.isArray(given) && sameShape(given, indices)
        ? []
        : [`group ${place} has the parameters [${String(given)}] instead of [${indices}]`]),
      ...(missing.length > 0 ? [`group ${place} misses ${missing.join(', ')}`] : []),
      ...(unexpected.length > 0 ? [`group ${place} has an unexpected ${unexpected.join(', ')}`] : []),
    ]
  })
}

function wrongSteps({ steps }: OptimizerState, { parameters }: StateForm): string[] {
  if (steps.length === parameters.length && steps.every((step) => Number.isSafeInteger(step) && step >= 0)) return []
  return [`steps must be ${parameters.length} whole numbers of at least 0, got [${steps}]`]
}

function wrongTensors({ tensors, steps }: OptimizerState, { parameters, buffers }: StateForm): string[] {
  return Object.entries(tensors).flatMap(([key, value]) => {
    const [, digits, name] = /^(0|[1-9]\d*)\.(\w+)$/.exec(key) ?? []
    const parameter = parameters[Number(digits)]
    if (parameter === undefined || name === undefined || !buffers.includes(name)) return [`unexpected: ${key}`]
    if (!isTensor(value)) return [`${key} is no tensor`]
    if (sameShape(value.shape, parameter.shape)) {
      return steps[Number(digits)] === 0 ? [`${key} belongs to a parameter of 0 steps`] : []
    }
    return [`${key} has shape ${showShape(value.shape)} instead of ${showShape(parameter.shape)}`]
  })
}
