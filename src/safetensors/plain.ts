/** Whether a value is an object of names and values, not an instance of some class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // The Object of another realm is no stranger.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
