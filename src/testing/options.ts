import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'

/** Options of the gradient checks. The first three have the defaults of PyTorch's `torch.autograd.gradcheck`. */
export interface GradcheckOptions {
  /**
   * How far an entry is moved to either side; default 1e-6. An absolute distance, whatever the entry's size: for
   * entries and outputs far from 1, choose about 1e-6 times the distance over which the function changes.
   */
  readonly eps?: number | undefined
  /** Absolute part of the tolerance |analytic − numeric| ≤ atol + rtol · |numeric|; default 1e-5. */
  readonly atol?: number | undefined
  /** Relative part of the tolerance; default 1e-3. */
  readonly rtol?: number | undefined
  /**
   * `'full'` compares every entry of the Jacobian. `'sampled'` draws a random cotangent w and compares, for the scalar
   * function ⟨w, f⟩, `samples` entries of each input's gradient and `directions` random directional derivatives over
   * all inputs at once; its cost does not grow with the number of entries. Default: `'sampled'` where `samples` or
   * `directions` is given or where inputs and outputs have more than 4,096 entries together, else `'full'`.
   */
  readonly mode?: 'full' | 'sampled' | undefined
  /** Entries of each input compared in `'sampled'` mode; default 64. */
  readonly samples?: number | undefined
  /** Random directions compared in `'sampled'` mode; default 8. */
  readonly directions?: number | undefined
  /** Seed (its lower 32 bits) of all that is drawn; default 0. The library's own generator is left alone. */
  readonly seed?: number | undefined
}

/** Options as a check uses them. */
export interface Settings {
  readonly eps: number
  readonly atol: number
  readonly rtol: number
  /** Null: by size. */
  readonly mode: 'full' | 'sampled' | null
  readonly samples: number
  readonly directions: number
  readonly seed: number
}

/** The options with their defaults. Throws ArgumentError for values that make no sense. */
export function settingsFrom(op: string, options: GradcheckOptions): Settings {
  checkOptions(op, options, ['eps', 'atol', 'rtol', 'mode', 'samples', 'directions', 'seed'])
  const { eps = 1e-6, atol = 1e-5, rtol = 1e-3, samples = 64, directions = 8, seed = 0 } = options
  const sampling = options.samples !== undefined || options.directions !== undefined
  const { mode = sampling ? 'sampled' : null } = options
  if (!(eps > 0 && Number.isFinite(eps))) {
    throw new ArgumentError(`${op}: eps must be a positive number, got ${String(eps)}`)
  }
  for (const [name, value] of Object.entries({ atol, rtol })) {
    if (!(value >= 0)) throw new ArgumentError(`${op}: ${name} must be a number of at least 0, got ${String(value)}`)
  }
  if (mode !== null && mode !== 'full' && mode !== 'sampled') {
    throw new ArgumentError(`${op}: mode must be 'full' or 'sampled', got ${String(mode)}`)
  }
  if (mode === 'full' && sampling) {
    throw new ArgumentError(`${op}: samples and directions belong to mode 'sampled'; leave them out, or the mode`)
  }
  checkInteger(op, 'samples', samples, 1)
  checkInteger(op, 'directions', directions, 0)
  checkInteger(op, 'seed', seed)
  return { eps, atol, rtol, mode, samples, directions, seed }
}
