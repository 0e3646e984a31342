import { inMode } from '../autograd/modes.js'
import { ArgumentError, showValue } from '../core/errors.js'
import { type Shape, showShape } from '../core/shape.js'
import { formatTable } from '../core/table.js'
import { isTensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import { getGeneratorState, setGeneratorState } from '../ops/random.js'
import { Module } from './module.js'

/** A module in a `Summary`. */
export interface SummaryRow {
  /** `layers.0`; empty for the model itself. */
  readonly name: string
  /** The class. */
  readonly type: string
  /** Shapes of the outputs, in the order of the calls; empty where `forward` was not called. */
  readonly outputs: readonly Shape[]
  /** Numbers in the parameters of this module alone, without its parts. */
  readonly parameters: number
}

/** The modules of a model, with the shapes that an example takes on its way through them. `String(…)` is a table. */
export interface Summary {
  /** The model first, each module once, in the order of their assignment. */
  readonly rows: readonly SummaryRow[]
  /** Numbers in all parameters. */
  readonly parameters: number
  /** Of these, the numbers in parameters that require their gradient. */
  readonly trainable: number
  toString(): string
}

/**
 * What a model is made of: calls `model.forward(...inputs)` once, evaluated and unrecorded, and notes what each module
 * returns. The model is left as it was, and no random numbers are used up.
 *
 * @throws ArgumentError unless the model is a module with a `forward`; whatever `forward` throws
 */
export function summary<Inputs extends readonly unknown[]>(
  model: Module & { forward(...inputs: Inputs): unknown },
  ...inputs: Inputs
): Summary {
  if (!(model instanceof Module) || typeof model.forward !== 'function') {
    throw new ArgumentError(`summary: needs a module with a forward, got ${showValue(model)}`)
  }
  const named = model.namedModules()
  const outputs = new Map<Module, Shape[]>(named.map(([, module]) => [module, []]))
  watch(outputs, () => model.forward(...inputs))
  const sizes = new Map(named.map(([name]) => [name, 0]))
  let [parameters, trainable] = [0, 0]
  for (const [name, { size, requiresGrad }] of model.namedParameters()) {
    const owner = ownerOf(name, sizes)
    sizes.set(owner, (sizes.get(owner) ?? 0) + size)
    parameters += size
    if (requiresGrad) trainable += size
  }
  const rows = named.map(([name, module]) => ({
    name,
    type: module.constructor.name,
    outputs: outputs.get(module) ?? [],
    parameters: sizes.get(name) ?? 0,
  }))
  return { rows, parameters, trainable, toString: () => show(rows, parameters, trainable) }
}

/** The name of the module that holds a parameter: the longest beginning of its name that is one. */
function ownerOf(name: string, modules: ReadonlyMap<string, unknown>): string {
  let owner = name
  while (owner !== '' && !modules.has(owner)) owner = owner.slice(0, Math.max(0, owner.lastIndexOf('.')))
  return owner
}

/** Runs `call` with all modules evaluated, unrecorded, and notes the shapes that they return. */
function watch(outputs: ReadonlyMap<Module, Shape[]>, call: () => unknown): void {
  const generator = getGeneratorState()
  const before = [...outputs.keys()].map((module) => ({
    module,
    training: module.training,
    forward: Object.getOwnPropertyDescriptor(module, 'forward'),
  }))
  for (const [module, shapes] of outputs) {
    module.training = false
    if (!('forward' in module) || typeof module.forward !== 'function') continue
    const { forward } = module
    Object.defineProperty(module, 'forward', {
      configurable: true,
      value: (...inputs: readonly unknown[]): unknown => {
        const output: unknown = forward.apply(module, inputs)
        if (isTensor(output)) shapes.push(output.shape)
        return output
      },
    })
  }
  try {
    inMode(false, () => publicly(call))
  } finally {
    for (const { module, training, forward } of before) {
      module.training = training
      if (forward === undefined) Reflect.deleteProperty(module, 'forward')
      else Object.defineProperty(module, 'forward', forward)
    }
    setGeneratorState(generator)
  }
}

function show(rows: readonly SummaryRow[], parameters: number, trainable: number): string {
  const grouped = (count: number) => count.toLocaleString('en-US')
  const cells = rows.map(({ name, type, outputs, parameters: own }) => [
    name === '' ? '(model)' : name,
    type,
    [...new Set(outputs.map(showShape))].join(' '),
    grouped(own),
  ])
  const lines = formatTable(['layer', 'type', 'output', 'parameters'], cells, [3])
  const frozen = trainable === parameters ? '' : `, ${grouped(trainable)} of them trainable`
  return [...lines, `${grouped(parameters)} parameters${frozen}`].join('\n')
}
