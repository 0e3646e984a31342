import { withRecording } from '../core/operation.js'

/** Runs `fn` without recording: its results need no gradient. Returns what it returns. */
export function noGrad<Result>(fn: () => Result): Result {
  return withRecording(false, fn)
}

/** Runs `fn` with recording, also inside `noGrad`. Returns what it returns. */
export function enableGrad<Result>(fn: () => Result): Result {
  return withRecording(true, fn)
}
