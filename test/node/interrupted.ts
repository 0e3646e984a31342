// Run in a process of its own: saves a checkpoint of step 2 and, at the given call of the file system (from 1), kills
// itself or has the call fail. A call that writes is cut short first. Prints what happened.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { argv } from 'node:process'

const [, , path, kind, at] = argv
let calls = 0

function interrupt(name: string): void {
  if (++calls !== Number(at)) return
  if (kind === 'kill') process.kill(process.pid, 'SIGKILL')
  throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC' })
}

const { writeSync } = fs
const replaced = {
  writeSync: (file: number, bytes: Uint8Array, offset: number, length: number) => {
    if (calls + 1 === Number(at)) writeSync(file, bytes, offset, Math.floor(length / 2))
    interrupt('writeSync')
    // Systems may write less than they are asked to.
    return writeSync(file, bytes, offset, Math.min(length, 5000))
  },
}
for (const name of ['openSync', 'fsyncSync', 'closeSync', 'renameSync', 'readdirSync'] as const) {
  const original = fs[name] as (...parameters: unknown[]) => unknown
  Object.assign(replaced, {
    [name]: (...parameters: unknown[]) => {
      interrupt(name)
      return original(...parameters)
    },
  })
}
const { saveCheckpoint } = await import('../../src/node/index.js')
const { full } = await import('../../src/index.js')
const state = { step: 2, weight: full([4000], 2) }
Object.assign(fs, replaced)
syncBuiltinESMExports()
try {
  saveCheckpoint(path ?? '', state)
  process.stdout.write('saved')
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message : String(error))
}
