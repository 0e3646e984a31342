// The folder of a report.
import { access, constants, mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError, reason } from './errors.js'

/** Finds out before the work whether the report can be written after it. */
export async function prepareFolder(out: string): Promise<void> {
  try {
    const path = resolve(out)
    await makeFolder(path)
    // With the slash, a file in the folder's place is an error.
    await access(`${path}/`, constants.W_OK)
  } catch (thrown) {
    throw new InputError(`cannot write to the folder '${out}': ${reason(thrown)}`)
  }
}

/** Like mkdir's own `recursive`, which never returns where the file system refuses new folders with ENOENT (/proc). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT') throw thrown
    await makeFolder(dirname(path))
    await mkdir(path)
  }
}

/**
 * Writes report.html, the page, and report.json, its numbers.
 *
 * @returns the path of the page
 */
export async function writeReport(out: string, page: string, numbers: object): Promise<string> {
  const path = resolve(out, 'report.html')
  try {
    await writeFile(path, page)
    await writeFile(resolve(out, 'report.json'), `${JSON.stringify(numbers, null, 2)}\n`)
  } catch (thrown) {
    throw new InputError(`cannot write the report: ${reason(thrown)}`)
  }
  return path
}
