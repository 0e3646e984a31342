// The line of the user's code that called the library, read from a stack trace.

const DEPTH = 100
const LOCATION = /(?:[a-z][a-z+.-]*:\/\/|\/|[A-Za-z]:[\\/])[^\s()]*:\d+:\d+/

/** The directory that holds the library's files: the sources', or the one of the bundles. */
const home = directoryOf(locationsOf(new Error())[0])

function directoryOf(location: string | undefined): string | null {
  if (location === undefined) return null
  return location.replace(/autograd[\\/][^\\/]*$/, '').replace(/[^\\/]*$/, '')
}

function locationsOf({ stack = '' }: Error): string[] {
  return stack.split('\n').flatMap((line) => LOCATION.exec(line)?.[0] ?? [])
}

/** `file:line:column` of the innermost call from outside of the library; null where the engine does not tell. */
export function callerLine(): string | null {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = DEPTH
  const locations = locationsOf(new Error())
  Error.stackTraceLimit = stackTraceLimit
  return locations.find((location) => home === null || !location.startsWith(home)) ?? null
}
