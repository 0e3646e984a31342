import { withRecording } from '../core/operation.js'
import { withPropagation } from './forward.js'

/**
 * Runs `fn` without recording: its results need no gradient, and carry no tangent of a `jvp` under way. Returns what it
 * returns.
 */
export function noGrad<Result>(fn: () => Result): Result {
  return withRecording(false, () => withPropagation(false, fn))
}

/** Runs `fn` with recording, also inside `noGrad`. Returns what it returns. */
export function enableGrad<Result>(fn: () => Result): Result {
  return withRecording(true, () => withPropagation(true, fn))
}
