// Runs an example in a process of its own, as its npm script does.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** What came of it. */
export interface Run<Numbers> {
  readonly stdout: string
  readonly stderr: string
  /** report.html and the numbers of report.json. */
  readonly page: string
  readonly numbers: Numbers
}

/** Runs `examples/<name>/main.ts` with arguments that follow it. */
export function runMain(name: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ['--import', 'tsx', join('examples', name, 'main.ts'), ...args]
  return new Promise((done) => {
    execFile(process.execPath, command, { cwd: root, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

/** Runs it, and reads its report from `out`. Throws unless it ended well. */
export async function runExample<Numbers>(name: string, out: string, ...args: string[]): Promise<Run<Numbers>> {
  const { code, stdout, stderr } = await runMain(name, '--out', out, ...args)
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr}`)
  const page = await readFile(join(out, 'report.html'), 'utf8')
  return { stdout, stderr, page, numbers: JSON.parse(await readFile(join(out, 'report.json'), 'utf8')) }
}
