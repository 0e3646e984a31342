import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'

/** Options of the gradient checks. None is needed for a sound answer; `eps` asks for PyTorch's method instead. */
export interface GradcheckOptions {
  /**
   * Given: central differences with this one step, an absolute distance whatever the entry's size, as in PyTorch's
   * `torch.autograd.gradcheck` (whose default is 1e-6). Left out: differences for several steps, chosen by each
   * entry's size and extrapolated to step 0, with an estimate of their own error.
   */
  readonly eps?: number | undefined
  /**
   * Absolute part of the tolerance |analytic − numeric| ≤ atol + rtol · |numeric|. Default 1e-5 with `eps`, else what
   * rounding does to the differences, by the sizes of outputs and inputs.
   */
  readonly atol?: number | undefined
  /** Relative part of the tolerance. Default 1e-3 with `eps`, else 1e-6. */
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

export const OPTION_NAMES = ['eps', 'atol', 'rtol', 'mode', 'samples', 'directions', 'seed']

/** Options as a check uses them. */
export interface Settings {
  /** Null: extrapolated differences. */
  readonly eps: number | null
  /** Null: by rounding. Only where `eps` is null. */
  readonly atol: number | null
  readonly rtol: number
  /** Null: by size. */
  readonly mode: 'full' | 'sampled' | null
  readonly samples: number
  readonly directions: number
  readonly seed: number
}

/** The options with their defaults. Throws ArgumentError for values that make no sense. */
export function settingsFrom(op: string, options: GradcheckOptions, names: readonly string[] = OPTION_NAMES): Settings {
  checkOptions(op, options, names)
  const eps = options.eps ?? null
  const atol = options.atol ?? (eps === null ? null : 1e-5)
  const { rtol = eps === null ? 1e-6 : 1e-3, samples = 64, directions = 8, seed = 0 } = options
  const sampling = options.samples !== undefined || options.directions !== undefined
  const { mode = sampling ? 'sampled' : null } = options
  if (eps !== null && !(eps > 0 && Number.isFinite(eps))) {
    throw new ArgumentError(`${op}: eps must be a positive number, got ${String(eps)}`)
  }
  for (const [name, value] of Object.entries({ atol: atol ?? 0, rtol })) {
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
