// What a comparison of an analytic with a numeric derivative can say.

/**
 * `'right'`: both agree within the tolerance, and the numeric one is known well enough to say so. `'wrong'`: they differ
 * by more than the tolerance and the numeric one's error together explain. `'noisy'`: neither can be said, as the
 * numeric one is not known well enough.
 */
export type Verdict = 'right' | 'wrong' | 'noisy'

/** How many times its estimate the error of a numeric derivative may be. */
export const SAFETY = 4

/** A numeric derivative and what it is held to. */
export interface Measurement {
  readonly numeric: number
  /** Estimate of its error. */
  readonly estimate: number
  /** The tolerance asked for. */
  readonly asked: number
  /** An error that is nobody's fault: what rounding of the outputs does to differences. */
  readonly floor: number
}

/** The largest difference that is taken for none. */
export function toleranceOf({ estimate, asked, floor }: Measurement): number {
  return asked + Math.min(SAFETY * estimate, floor)
}

export function judge(analytic: number, measurement: Measurement): Verdict {
  const { numeric, estimate, asked, floor } = measurement
  const error = errorBetween(analytic, numeric)
  if (!Number.isFinite(error)) return 'wrong'
  if (estimate <= asked + floor && error <= toleranceOf(measurement)) return 'right'
  return error > asked + SAFETY * estimate ? 'wrong' : 'noisy'
}

/** |a − b|; 0 for equal infinities, NaN where either is NaN. */
export function errorBetween(a: number, b: number): number {
  return a === b ? 0 : Math.abs(a - b)
}
