// Run in a process of its own: saves checkpoints of step 1, 2, … until it is killed, and prints each that is saved.
import { writeSync } from 'node:fs'
import { argv } from 'node:process'
import { full } from '../../src/index.js'
import { saveCheckpoint } from '../../src/node/index.js'

const [, , path, first] = argv
for (let step = Number(first); ; step++) {
  saveCheckpoint(path ?? '', { step, weights: Array.from({ length: 4 }, () => full([100_000], step)) })
  writeSync(1, `${step}\n`)
}
