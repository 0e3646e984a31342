// The project of examples/gradient-tests, in a folder of its own that has wengert among its packages.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gradient-tests-'))
  const source = join(root, 'examples/gradient-tests')
  await cp(source, folder, { recursive: true, filter: (path) => !path.includes('node_modules', source.length) })
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/wengert'))
  for (const name of ['vitest', 'fast-check', 'typescript']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
})
afterAll(() => rm(folder, { recursive: true }))

test('its tests pass', async () => {
  const { stdout } = await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run'], { cwd: folder })
  expect(stdout).toMatch(/Tests\s+.*7 passed/)
  expect(stdout).toContain('snake.test.ts')
})

test('its types are right', async () => {
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], { cwd: folder })
})
