import { expect } from 'vitest'
import { type DType, Tensor, tensor, type WengertError } from 'wengert'
import { isRecording } from '../../src/core/operation.js'
import { type Dense, denseOf } from './reference.js'

/** A value that plain JavaScript may pass where TypeScript would not let it. */
export function untyped(value: unknown): never {
  return value as never
}

/** The gradient of a leaf, which must be there. */
export function gradOf(x: Tensor): Tensor {
  if (x.grad === null) throw new Error('there is no gradient')
  return x.grad
}

/** Expects the same shape and the same numbers: NaN equals NaN, −0 is not 0. */
export function expectSame(actual: Tensor, expected: Tensor | Dense): void {
  const wanted = expected instanceof Tensor ? denseOf(expected) : expected
  expect({ shape: actual.shape, data: [...actual.data] }).toEqual({ shape: wanted.shape, data: [...wanted.data] })
}

/** Expects the same shape, and every number to be within `absolute + relative · |wanted|`; NaN and ∞ as wanted. */
export function expectNear(
  actual: Tensor,
  expected: Tensor | Dense,
  { relative = 0, absolute = 0 }: { readonly relative?: number; readonly absolute?: number },
): void {
  const wanted = expected instanceof Tensor ? denseOf(expected) : expected
  expect(actual.shape).toEqual(wanted.shape)
  const found = actual.data
  const wrong = wanted.data.findIndex((value, i) => {
    const got = found[i] as number
    return !(Object.is(got, value) || got === value || Math.abs(got - value) <= absolute + relative * Math.abs(value))
  })
  if (wrong >= 0) expect.fail(`[${wrong}]: got ${found[wrong]}, wanted ${wanted.data[wrong]} (shape ${wanted.shape})`)
}

/** Half the distance of neighbouring numbers near 1: the largest relative error of one rounding. */
export function roundingUnit(dtype: DType): number {
  return dtype === 'float32' ? 2 ** -24 : 2 ** -53
}

/**
 * Expects an error of exactly this class, that names the operation first and says all of the given, and that nothing
 * stays behind: recording goes on as before, and new tensors are the user's.
 */
export function expectError(
  run: () => unknown,
  kind: new (message: string) => WengertError,
  op: string,
  ...says: readonly (string | RegExp)[]
): void {
  let thrown: unknown
  try {
    run()
  } catch (error) {
    thrown = error
  }
  expect(thrown, 'nothing was thrown').toBeDefined()
  expect(thrown).toBeInstanceOf(kind)
  const { name, message } = thrown as WengertError
  expect(name).toBe(kind.name)
  expect(message).toMatch(new RegExp(`^${op}: `))
  for (const part of says) {
    if (typeof part === 'string') expect(message).toContain(part)
    else expect(message).toMatch(part)
  }
  expect(isRecording(), 'recording after the error').toBe(true)
  expect(tensor(1).storage.escaped, 'no scope is left open by the error').toBe(true)
}
