// The arena: a part of linear memory in which the numbers in use live. Whatever is provably private is freed at once
// (see scope.ts) and its block is used again. Everything else stays until the arena is full; then what has not been
// used lately is written back to the JavaScript heap, where garbage collection takes care of it, and what is left is
// moved together. So nobody has to free anything, and no working set is too large.
import type { DType, TypedArray } from '../core/dtype.js'
import { MemoryError } from '../core/errors.js'
import { LARGEST_COUNT } from '../core/shape.js'
import { heapBase, kernels } from '../runtime/kernels.js'
import { CLASSES, capacityOf, classOf } from './blocks.js'
import { growTo, viewOf } from './heap.js'
import { Storage } from './storage.js'

const MEBIBYTE = 1 << 20
/** The end of what 32-bit addresses reach, less one page so that no end of a block is 2³². */
const ADDRESS_LIMIT = 65535 * 65536
const LAYOUT_BYTES = 4096

/** Address of the block in which the outer dimensions of a strided operation are described. */
export const layoutAddress = Math.ceil(heapBase / 64) * 64
/** Address of the scratch memory in which products pack their operands. */
export const workspaceAddress = layoutAddress + LAYOUT_BYTES

/** Its size. */
export const workspaceBytes = kernels().matmulWorkspace_f64()

const arenaStart = workspaceAddress + workspaceBytes

const RESIDENTS = 32768

interface Region {
  readonly start: number
  readonly end: number
}

const state = {
  /** How far the arena reaches before it is reclaimed. */
  budget: 16 * MEBIBYTE,
  /** To where the budget may grow by itself when the working set does not fit. */
  maximumBudget: 1024 * MEBIBYTE,
  /** End of the arena. */
  end: arenaStart,
  /** Untouched memory: the region in use begins at `top`. */
  top: arenaStart,
  regionEnd: arenaStart,
  regions: [] as Region[],
  /** Counts operations; a storage used by the one under way must neither move nor leave. */
  clock: 1,
  clockAtReclaim: 1,
  /** Bytes brought back into linear memory since the last reclaim: the sign of a working set that does not fit. */
  restoredBytes: 0,
  /** How many storages may be there before a reclaim: the smallest ones cost more on the heap than in the arena. */
  residentLimit: RESIDENTS,
  reclaims: 0,
}
extendTo(arenaStart + state.budget)

const residents: Storage[] = []
const freeBlocks: number[][] = Array.from({ length: CLASSES }, () => [])

/** Starts a new operation: what earlier ones used may be moved or written back from now on. Returns its tick. */
export function tick(): number {
  return ++state.clock
}

/** The tick of the latest operation. */
export function now(): number {
  return state.clock
}

/** A storage for `length` numbers in linear memory; their values are undefined until written. */
export function allocate(dtype: DType, length: number): Storage {
  const storage = new Storage(dtype, length)
  place(storage)
  return storage
}

/** The numbers' address, bringing them into linear memory where necessary; valid until the next `tick`. */
export function addressOf(storage: Storage): number {
  storage.lastUse = state.clock
  if (storage.address === 0) restore(storage)
  return storage.address
}

/** Gives the numbers up. Nothing may refer to them any more. */
export function free(storage: Storage): void {
  storage.home = null
  if (storage.address === 0) return
  const list = freeBlocks[storage.blockClass] as number[]
  list.push(storage.address)
  forget(storage)
}

/** Notes that the numbers have been changed in place. */
export function markChanged(storage: Storage): void {
  storage.home = null
  storage.changedAt = tick()
}

/** A copy of the numbers on the JavaScript heap. */
export function read(storage: Storage): TypedArray {
  const numbers = storage.emptyArray()
  if (storage.address === 0) numbers.set(homeOf(storage))
  else {
    const view = viewOf(storage.dtype)
    const start = storage.address / view.BYTES_PER_ELEMENT
    numbers.set(view.subarray(start, start + storage.length))
  }
  return numbers
}

/** One number, without copying the others. */
export function readOne(storage: Storage, index: number): number {
  if (storage.address === 0) return homeOf(storage)[index] as number
  const view = viewOf(storage.dtype)
  return view[storage.address / view.BYTES_PER_ELEMENT + index] as number
}

/** What the arena holds at present, in bytes and counts, for tests and measurements. */
export function arenaStatistics(): {
  budget: number
  extent: number
  residents: number
  residentBytes: number
  reclaims: number
} {
  let residentBytes = 0
  for (const storage of residents) residentBytes += capacityOf(storage.blockClass)
  return {
    budget: state.budget,
    extent: state.end - arenaStart,
    residents: residents.length,
    residentBytes,
    reclaims: state.reclaims,
  }
}

/** Sets how many bytes the arena fills before it is reclaimed, and to where that may grow by itself. */
export function setArenaBudget(budget: number, maximumBudget = Math.max(budget, state.maximumBudget)): void {
  state.budget = budget
  state.maximumBudget = maximumBudget
  state.end = arenaStart
  tick()
  reclaim(true)
}

function place(storage: Storage): void {
  if (storage.bytes > ADDRESS_LIMIT || storage.length > LARGEST_COUNT) {
    throw new MemoryError(
      `${storage.length} numbers, ${storage.bytes} bytes, do not fit: one tensor holds at most ${LARGEST_COUNT} numbers in ${ADDRESS_LIMIT} bytes`,
    )
  }
  if (residents.length >= state.residentLimit) reclaim(false)
  const blockClass = classOf(storage.bytes)
  storage.blockClass = blockClass
  storage.address = (freeBlocks[blockClass] as number[]).pop() ?? takeBlock(capacityOf(blockClass))
  storage.lastUse = state.clock
  storage.slot = residents.length
  residents.push(storage)
}

function forget(storage: Storage): void {
  const last = residents.pop() as Storage
  if (last !== storage) {
    residents[storage.slot] = last
    last.slot = storage.slot
  }
  storage.address = 0
  storage.slot = -1
}

function homeOf(storage: Storage): TypedArray | readonly number[] {
  if (storage.home === null) throw new MemoryError('internal: numbers were used after they were given up')
  return storage.home
}

function restore(storage: Storage): void {
  const home = homeOf(storage)
  place(storage)
  state.restoredBytes += storage.bytes
  const view = viewOf(storage.dtype)
  view.set(home, storage.address / view.BYTES_PER_ELEMENT)
}

/** Up to this many numbers, an ordinary array costs a fraction of a typed one. */
const SMALL = 8

function copyOut(storage: Storage): TypedArray | readonly number[] {
  const { length, address } = storage
  const view = viewOf(storage.dtype)
  const start = address / view.BYTES_PER_ELEMENT
  if (length > SMALL) return view.slice(start, start + length)
  const array = new Array<number>(length)
  for (let i = 0; i < length; i++) array[i] = view[start + i] as number
  return array
}

function takeBlock(capacity: number): number {
  let address = takeFromRegions(capacity)
  if (address !== 0) return address
  reclaim(false)
  address = takeFromRegions(capacity)
  if (address !== 0) return address
  if (!extendTo(state.end + capacity)) {
    reclaim(true)
    address = takeFromRegions(capacity)
    if (address !== 0) return address
    if (!extendTo(state.end + capacity)) {
      throw new MemoryError(
        `${capacity} bytes more do not fit: the operation under way and its operands must lie together within ${ADDRESS_LIMIT} bytes, or within what this engine grants`,
      )
    }
  }
  return takeFromRegions(capacity)
}

function takeFromRegions(capacity: number): number {
  while (state.top + capacity > state.regionEnd) {
    const next = state.regions.shift()
    if (next === undefined) return 0
    state.top = next.start
    state.regionEnd = next.end
  }
  const address = state.top
  state.top += capacity
  return address
}

function extendTo(end: number): boolean {
  if (end > ADDRESS_LIMIT || !growTo(end)) return false
  if (end <= state.end) return true
  if (state.regions.length === 0 && state.regionEnd === state.end) state.regionEnd = end
  else state.regions.push({ start: state.end, end })
  state.end = end
  return true
}

/**
 * Writes back what was not used lately (or, with `everything`, all that the operation under way does not use), moves
 * the rest together, and lets the budget grow where the working set turned out not to fit.
 */
function reclaim(everything: boolean): void {
  state.reclaims++
  if (state.restoredBytes > state.budget / 8) state.budget = Math.min(2 * state.budget, state.maximumBudget)
  state.restoredBytes = 0
  const recent = everything ? state.clock : state.clockAtReclaim + (state.clock - state.clockAtReclaim) / 2
  state.clockAtReclaim = state.clock
  let kept = writeBack(recent)
  if (!everything && kept > (state.budget * 3) / 4) {
    state.budget = Math.min(2 * state.budget, state.maximumBudget)
    if (kept > (state.budget * 3) / 4) kept = writeBack(state.clock)
  }
  state.residentLimit = Math.max(RESIDENTS, 2 * residents.length)
  moveTogether()
  extendTo(Math.min(arenaStart + state.budget, ADDRESS_LIMIT))
}

/** Writes back every storage last used before the given tick; returns the bytes that stay. */
function writeBack(before: number): number {
  let kept = 0
  let count = 0
  for (const storage of residents) {
    if (storage.lastUse < before) {
      storage.home ??= copyOut(storage)
      storage.address = 0
      storage.slot = -1
    } else {
      kept += capacityOf(storage.blockClass)
      storage.slot = count
      residents[count++] = storage
    }
  }
  residents.length = count
  return kept
}

function moveTogether(): void {
  for (const list of freeBlocks) list.length = 0
  const ordered = [...residents].sort((a, b) => a.address - b.address)
  const regions: Region[] = []
  let top = arenaStart
  for (const storage of ordered) {
    const capacity = capacityOf(storage.blockClass)
    if (storage.lastUse === state.clock) {
      // Its address is in use: it stays, and the gap before it serves smaller blocks.
      if (storage.address > top) regions.push({ start: top, end: storage.address })
      top = storage.address + capacity
    } else {
      if (storage.address !== top) kernels().move(storage.address, top, storage.bytes)
      storage.address = top
      top += capacity
    }
  }
  state.end = Math.max(state.end, top)
  regions.push({ start: top, end: state.end })
  const first = regions.shift() as Region
  state.top = first.start
  state.regionEnd = first.end
  state.regions = regions
}
