import { ArgumentError, showValue } from './errors.js'

/**
 * Throws unless `options` is undefined or an object with none but the known names: a misspelt or positional option
 * must not be ignored silently.
 */
export function checkOptions(op: string, options: unknown, known: readonly string[]): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const shown = options === null ? 'null' : Array.isArray(options) ? 'an array' : String(options)
    throw new ArgumentError(
      `${op}: options are an object, for example { ${known[0]}: ${shown} }, with any of ${known.join(', ')}; got ${shown}`,
    )
  }
  for (const name in options) {
    if (!known.includes(name)) {
      throw new ArgumentError(`${op}: there is no option ${name}; there are ${known.join(', ')}`)
    }
  }
}

/** Throws where options that cannot be left out are. */
export function requireOptions(op: string, options: unknown, example: string): void {
  if (options === undefined) throw new ArgumentError(`${op}: options are required, for example { ${example} }`)
}

/** Throws unless an option is true or false. */
export function checkFlag(op: string, name: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw new ArgumentError(`${op}: ${name} must be true or false, got ${showValue(value)}`)
}
