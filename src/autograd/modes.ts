import { ArgumentError } from '../core/errors.js'
import { withRecording } from '../core/operation.js'
import { withPropagation } from './forward.js'

/**
 * Runs `fn` without recording: its results need no gradient, and carry no tangent of a `jvp` under way. Returns what it
 * returns.
 *
 * @throws ArgumentError unless fn is a synchronous function (recording is off only until it returns)
 */
export function noGrad<Result>(fn: () => Result): Result {
  return run('noGrad', false, fn)
}

/**
 * Runs `fn` with recording, also inside `noGrad`. Returns what it returns.
 *
 * @throws ArgumentError unless fn is a synchronous function
 */
export function enableGrad<Result>(fn: () => Result): Result {
  return run('enableGrad', true, fn)
}

/** Runs `fn` with recording, and the tangents of a forward pass under way, on or off. */
export function inMode<Result>(recording: boolean, fn: () => Result): Result {
  return withRecording(recording, () => withPropagation(recording, fn))
}

function run<Result>(op: string, recording: boolean, fn: () => Result): Result {
  if (typeof fn !== 'function') throw new ArgumentError(`${op}: takes a function to run, got ${typeof fn}`)
  const result = inMode(recording, fn)
  if (result instanceof Promise) {
    throw new ArgumentError(
      `${op}: the function returned a promise, but holds only until the first await; call it inside, around the synchronous parts`,
    )
  }
  return result
}
