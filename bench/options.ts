// What options and arguments of the measurements share.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { InvalidArgumentError } from 'commander'

/** A count of threads, rounds or steps. */
export function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It must be a whole number of at least 1.')
  }
  return value
}

/** The path of a file to write, in a folder that is there: looked at before anything is measured. */
export function outputPath(text: string): string {
  if (!existsSync(dirname(text))) throw new InvalidArgumentError(`There is no folder ${dirname(text)}.`)
  return text
}
