// Files: what is written, what is refused, and what is left when a process is killed while it writes.
import { execFile, spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ArgumentError, FormatError, full, type Tensor, tensor } from 'wengert'
import { loadCheckpoint, loadSafetensors, saveCheckpoint, saveSafetensors } from 'wengert/node'
import { parseSafetensors, serializeCheckpoint, serializeSafetensors } from 'wengert/safetensors'
import { bitsOf, fixture } from '../safetensors/files.js'
import { expectError, untyped } from '../support/expectations.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wengert-files-'))
  path = join(folder, 'run.safetensors')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('files', () => {
  test('hold the same bytes as serializeSafetensors and serializeCheckpoint give', () => {
    const tensors = { x: tensor([1, 2, 3]), y: full([3, 2], 2, { dtype: 'float64' }).transpose() }
    saveSafetensors(path, tensors, { format: 'pt' })
    expect(new Uint8Array(readFileSync(path))).toEqual(serializeSafetensors(tensors, { format: 'pt' }))
    saveCheckpoint(path, { tensors, step: 3 })
    expect(new Uint8Array(readFileSync(path))).toEqual(serializeCheckpoint({ tensors, step: 3 }))
    expect(readdirSync(folder)).toEqual(['run.safetensors'])
  })

  test.each(['torch-dtypes', 'torch-model', 'torch-attention', 'wengert-dtypes'])(
    '%s is read as its bytes are',
    (name) => {
      const file = loadSafetensors(new URL(`../fixtures/safetensors/${name}.safetensors`, import.meta.url))
      const bytes = parseSafetensors(fixture(name))
      expect(bitsOf(file.tensors)).toEqual(bitsOf(bytes.tensors))
      expect(file.metadata).toEqual(bytes.metadata)
    },
  )

  test('may be named by file: URLs', () => {
    saveCheckpoint(pathToFileURL(path), { step: 1 })
    expect(loadCheckpoint(pathToFileURL(path))).toEqual({ step: 1 })
  })

  test('that are cut off anywhere are refused', () => {
    saveSafetensors(path, { x: tensor([1, 2, 3]) })
    const whole = readFileSync(path)
    for (let length = 0; length < whole.length; length++) {
      copyFileSync(path, `${path}.cut`)
      truncateSync(`${path}.cut`, length)
      expectError(() => loadSafetensors(`${path}.cut`), FormatError, `loadSafetensors ${path}.cut`)
    }
  })

  test('that are not there, or folders, are errors of the system', () => {
    expect(() => loadSafetensors(path)).toThrow('ENOENT')
    expect(() => loadCheckpoint(folder)).toThrow('EISDIR')
    expect(() => saveCheckpoint(join(folder, 'none', 'x'), {})).toThrow('ENOENT')
    mkdirSync(path)
    expect(() => saveCheckpoint(path, {})).toThrow(/EISDIR|ENOTEMPTY|EPERM/)
    expect(readdirSync(folder)).toEqual(['run.safetensors'])
  })

  test('are not touched by a state that cannot be written', () => {
    saveCheckpoint(path, { step: 1 })
    expectError(() => saveCheckpoint(path, { step: 2, model: () => 1 }), ArgumentError, 'saveCheckpoint', 'model is')
    expect(loadCheckpoint(path)).toEqual({ step: 1 })
  })

  test('behind a link are replaced, and the link stays', () => {
    writeFileSync(join(folder, 'first'), 'something else')
    symlinkSync('first', path)
    saveCheckpoint(path, { step: 1 })
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
    expect(loadCheckpoint(join(folder, 'first'))).toEqual({ step: 1 })
  })

  test('must be named by a path', () => {
    for (const wrong of [undefined, 3, '', new URL('https://example.org/x')]) {
      expectError(() => loadSafetensors(untyped(wrong)), ArgumentError, 'loadSafetensors', 'the path must be')
      expectError(() => saveCheckpoint(untyped(wrong), {}), ArgumentError, 'saveCheckpoint', 'the path must be')
    }
  })
})

// The programs that are run and killed, each bundled into one file that starts at once.
const programs = mkdtempSync(join(tmpdir(), 'wengert-programs-'))
beforeAll(async () => {
  const entryPoints = ['interrupted.ts', 'saving.ts', 'training.ts'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  )
  await build({
    entryPoints,
    bundle: true,
    platform: 'node',
    format: 'esm',
    outdir: programs,
    outExtension: { '.js': '.mjs' },
  })
})
afterAll(() => rmSync(programs, { recursive: true }))

const child = (name: string, ...args: string[]) => [join(programs, `${name}.mjs`), ...args]

async function run(name: string, ...args: string[]): Promise<{ output: string; killed: boolean }> {
  try {
    return { output: (await promisify(execFile)(process.execPath, child(name, ...args))).stdout, killed: false }
  } catch (error) {
    if (error instanceof Error && 'signal' in error && error.signal === 'SIGKILL') return { output: '', killed: true }
    throw error
  }
}

const partials = () => readdirSync(folder).filter((name) => name.endsWith('.partial'))

describe('a process that is interrupted while it saves', () => {
  /** The step in the checkpoint, all of which must be of that step. */
  function stepIn(file: string): number {
    const { step, weight } = loadCheckpoint<{ step: number; weight: Tensor }>(file)
    expect(weight.sub(step).abs().max().item()).toBe(0)
    return step
  }

  test.each(['kill', 'fail'])('leaves one whole checkpoint (%s at every call of the file system)', async (kind) => {
    const seen: number[] = []
    for (let at = 1; ; at++) {
      saveCheckpoint(path, { step: 1, weight: full([4000], 1) })
      expect(partials()).toEqual([])
      const { output, killed } = await run('interrupted', path, kind, String(at))
      seen.push(stepIn(path))
      if (output === 'saved') break
      expect(killed || output.startsWith('ENOSPC')).toBe(true)
      if (kind === 'fail') expect(partials()).toEqual([])
    }
    // Open, writes in pieces of 5,000 bytes, flush, close, rename; then the folder's open, flush and close.
    expect(seen.length).toBeGreaterThan(10)
    expect(seen).toEqual([...seen].sort())
    expect([seen[0], seen.at(-1)]).toEqual([1, 2])
  })

  test('leaves one whole checkpoint, killed at any time', async () => {
    let next = 1
    for (let round = 0; round < 20; round++) {
      const saving = spawn(process.execPath, child('saving', path, String(next)), {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let printed = ''
      saving.stdout.on('data', (data) => {
        printed += String(data)
      })
      const ended = new Promise((resolve) => saving.on('close', resolve))
      await new Promise((resolve) => saving.stdout.once('data', resolve))
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
      saving.kill('SIGKILL')
      await ended
      const { step, weights } = loadCheckpoint<{ step: number; weights: Tensor[] }>(path)
      for (const weight of weights) expect(weight.sub(step).abs().max().item()).toBe(0)
      const last = Number(printed.trim().split('\n').at(-1))
      expect([last, last + 1]).toContain(step)
      expect(partials().length).toBeLessThanOrEqual(1)
      next = step + 1
    }
    saveCheckpoint(path, { step: 0 })
    expect(readdirSync(folder)).toEqual(['run.safetensors'])
  })

  test('leaves nothing that other files or running processes own to the next one', () => {
    const others = [`run.safetensors.${process.ppid}-0.partial`, 'run.safetensors.bak', 'other.safetensors.1-0.partial']
    const leftover = 'run.safetensors.4194999-3.partial'
    for (const name of [...others, leftover]) writeFileSync(join(folder, name), 'x')
    saveCheckpoint(path, { step: 1 })
    expect(readdirSync(folder).sort()).toEqual([...others, 'run.safetensors'].sort())
    expect(existsSync(join(folder, leftover))).toBe(false)
  })
})

test('training goes on from a checkpoint in a new process as if it had not stopped, to the bit', async () => {
  const [straight, half, resumed] = ['straight', 'half', 'resumed'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await run('training', '', straight, '30')
  await run('training', '', half, '11')
  await run('training', half, resumed, '30')
  const { step, bestLoss } = loadCheckpoint<{ step: number; bestLoss: number }>(resumed)
  expect([step, Number.isFinite(bestLoss)]).toEqual([30, true])
  // Parameters, the optimiser's moments and steps, the schedule, the data's order, the generator and the best loss are all in it.
  expect(readFileSync(resumed).equals(readFileSync(straight))).toBe(true)
  expect(readFileSync(resumed).equals(readFileSync(half))).toBe(false)
})
