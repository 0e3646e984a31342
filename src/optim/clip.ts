// Bounding gradients between backward and an optimiser's step.
import { ArgumentError, showValue } from '../core/errors.js'
import { withRecording } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { closeScope, openScope } from '../memory/scope.js'
import { checkTensor } from '../ops/arguments.js'
import { scale } from '../ops/arithmetic.js'
import { detach } from '../ops/copy.js'
import { norm } from '../ops/norms.js'
import { clamp } from '../ops/rounding.js'
import { listOf } from './groups.js'

/**
 * Where the length of all gradients taken together, `√Σ g²`, is more than maxNorm, replaces each g by
 * `g · maxNorm / (length + 1e-6)`, as PyTorch does. Parameters without a gradient do not count.
 *
 * Source: Pascanu et al., "On the difficulty of training recurrent neural networks", arXiv 1211.5063.
 *
 * @returns the length before clipping
 * @throws ArgumentError unless maxNorm is a number of at least 0
 */
export function clipGradNorm(parameters: Iterable<Tensor>, maxNorm: number): number {
  checkBound('clipGradNorm', 'maxNorm', maxNorm)
  const holders = holdersIn('clipGradNorm', parameters)
  const mark = openScope()
  let length: number
  try {
    length = Math.hypot(...holders.map(({ gradient }) => norm(detach(gradient as Tensor)).item()))
  } finally {
    closeScope(mark, null)
  }
  const factor = maxNorm / (length + 1e-6)
  // Not `factor < 1`: a length of NaN makes all of them NaN, so that it is seen.
  if (!(factor >= 1)) replaceGradients(holders, (gradient) => scale(gradient, factor))
  return length
}

/**
 * Replaces every gradient by the same with its numbers clamped to [−clipValue, clipValue].
 *
 * @throws ArgumentError unless clipValue is a number of at least 0
 */
export function clipGradValue(parameters: Iterable<Tensor>, clipValue: number): void {
  checkBound('clipGradValue', 'clipValue', clipValue)
  const holders = holdersIn('clipGradValue', parameters)
  replaceGradients(holders, (gradient) => clamp(gradient, { min: -clipValue, max: clipValue }))
}

function checkBound(op: string, name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0) return
  throw new ArgumentError(`${op}: ${name} must be a number of at least 0, got ${showValue(value)}`)
}

function holdersIn(op: string, parameters: Iterable<Tensor>): Tensor[] {
  const list = listOf(op, parameters)
  for (const parameter of list) checkTensor(op, parameter, 'a parameter')
  return list.filter(({ gradient }) => gradient !== null)
}

/** Gives gradients others in their place; who holds the old ones sees no change. */
function replaceGradients(holders: readonly Tensor[], fn: (gradient: Tensor) => Tensor): void {
  const mark = openScope()
  try {
    withRecording(false, () => {
      for (const holder of holders) holder.setGradient(fn(holder.gradient as Tensor))
    })
  } finally {
    closeScope(mark, null)
  }
}
