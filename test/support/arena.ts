// Small budgets for the arena, so that a few kilobytes are as much as there is.
import { afterEach } from 'vitest'
import { allocate, arenaStatistics, free, setArenaBudget } from '../../src/memory/arena.js'
import { heap } from '../../src/memory/heap.js'

const usual = arenaStatistics().budget
const USUAL_MAXIMUM = 2 ** 30

/** Gives the arena its usual budget back after each test of the file. */
export function restoreArenaBudget(): void {
  afterEach(() => setArenaBudget(usual, USUAL_MAXIMUM))
}

/** Writes every number back to the JavaScript heap and makes what they left in linear memory useless. */
export function evictEverything(budget: number): void {
  const { extent } = arenaStatistics()
  setArenaBudget(budget, budget)
  if (arenaStatistics().residents !== 0) throw new Error('something stayed in linear memory')
  const probe = allocate('bool', 1)
  heap.uint8.fill(0xff, probe.address, probe.address + extent)
  free(probe)
}
