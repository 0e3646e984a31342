import { ArgumentError, showValue } from '../core/errors.js'

/** Throws unless a setting is a finite number of at least 0. */
export function checkNotNegative(op: string, name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return
  throw new ArgumentError(`${op}: ${name} must be a finite number of at least 0, got ${showValue(value)}`)
}

/** Throws unless a setting is a number in [0, 1). */
export function checkFraction(op: string, name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value < 1) return
  throw new ArgumentError(`${op}: ${name} must be a number in [0, 1), got ${showValue(value)}`)
}
