// The parameters of an optimiser in groups, each with settings of its own.
import { checkFloating } from '../core/dtype.js'
import { ArgumentError, GradientError, showValue } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import type { CommonSettings, UpdateRule } from './rule.js'

/** Parameters that are updated with the same settings. The settings may be changed between steps. */
export type ParameterGroup<Settings> = { readonly parameters: readonly Tensor[] } & Settings

/** A group as it is given: what it does not set is as the optimiser's options say. */
export type GroupOptions<Settings> = { readonly parameters: Iterable<Tensor> } & Readonly<Partial<Settings>>

/** What an optimiser updates: parameters, all alike, or groups of them. */
export type OptimizedParameters<Settings> = Iterable<Tensor> | readonly GroupOptions<Settings>[]

/** The groups that the arguments of an optimiser describe, with all settings filled in and checked. */
export function groupsOf<Settings extends CommonSettings>(
  rule: UpdateRule<Settings>,
  given: OptimizedParameters<Settings>,
  options: Readonly<Partial<Settings>>,
): ParameterGroup<Settings>[] {
  const op = rule.name
  const names = ['lr', ...Object.keys(rule.defaults).filter((name) => name !== 'lr')]
  checkOptions(op, options, names)
  const items = listOf<unknown>(op, given)
  if (items.length === 0) throw new ArgumentError(`${op}: there are no parameters to update`)
  const described = items.some((item) => !isTensor(item) && isDescription(item))
    ? (items as readonly GroupOptions<Settings>[])
    : [{ parameters: items as readonly Tensor[] }]
  const seen = new Set<Tensor>()
  return described.map((group, index) => {
    const place = described.length === 1 ? op : `${op}: group ${index}`
    if (!isDescription(group)) {
      throw new ArgumentError(
        `${place}: mixes parameters and groups; give either parameters, or { parameters, lr, … }s`,
      )
    }
    checkOptions(op, group, ['parameters', ...names])
    const parameters = listOf(op, group.parameters)
    for (const parameter of parameters) {
      if (typeof parameter === 'object' && parameter !== null && !isTensor(parameter)) {
        throw new ArgumentError(
          `${place}: a parameter must be a tensor, got an object; groups are { parameters, ${names.join(', ')} }`,
        )
      }
      checkParameter(op, parameter, seen)
    }
    const settings = { ...rule.defaults, ...defined(options), ...defined(group), parameters }
    if (settings.lr === undefined) throw new ArgumentError(`${place}: lr is missing; there is no default`)
    const complete = settings as unknown as ParameterGroup<Settings>
    rule.check(op, complete)
    return complete
  })
}

/** The options that are given, without those that are undefined. */
function defined<Options extends object>(options: Options): Partial<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<Options>
}

function isDescription(value: unknown): value is { readonly parameters: unknown } {
  return typeof value === 'object' && value !== null && 'parameters' in value && typeof value.parameters !== 'function'
}

/** The members of something iterable, for example what `module.parameters()` returns. */
export function listOf<Item>(op: string, items: Iterable<Item>): Item[] {
  if (typeof items === 'object' && items !== null && Symbol.iterator in items) return [...items]
  const hint = isTensor(items)
    ? '; put it into an array'
    : typeof items === 'object'
      ? '; of a module, pass its parameters()'
      : ''
  throw new ArgumentError(`${op}: parameters must be a list of tensors, got ${showValue(items)}${hint}`)
}

function checkParameter(op: string, parameter: unknown, seen: Set<Tensor>): void {
  checkTensor(op, parameter, 'a parameter')
  const shown = `the parameter of shape ${showShape(parameter.shape)}`
  if (!parameter.isLeaf) {
    throw new GradientError(`${op}: ${shown} is the result of a recorded operation; only leaves can be updated`)
  }
  checkFloating(op, parameter.dtype)
  if (parameter.strides !== null) {
    throw new ArgumentError(`${op}: ${shown} is a view of other numbers; make a leaf of its clone(), or a Parameter`)
  }
  if (seen.has(parameter)) throw new ArgumentError(`${op}: ${shown} is given twice`)
  seen.add(parameter)
}
