// The arena: a part of linear memory in which the numbers in use live. Whatever is provably private is freed at once
// (see scope.ts) and its block is used again. Everything else stays until there is much of it; then what has not been
// used lately is written back to the JavaScript heap, where garbage collection takes care of it, and its block is used
// again too. So nobody has to free anything, and no working set is too large.
import { arrayOf, type DType, type TypedArray } from '../core/dtype.js'
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

/** End of the memory in which the outer loops of a strided operation are described. */
export const layoutEnd = Math.ceil(heapBase / 64) * 64 + LAYOUT_BYTES
/** Address of a place for one number that a kernel takes as an operand. */
export const numberAddress = layoutEnd
/** Address of the scratch memory in which products pack their operands. */
export const workspaceAddress = numberAddress + 64

/** Its size. */
export const workspaceBytes = kernels().matmulWorkspace_f64()

const arenaStart = workspaceAddress + workspaceBytes

/** How many storages may be there before the idle ones are written back: few enough to die young as objects. */
const YOUNG = 64
/** How many may be there in all, at first and at most: tapes that nobody will sweep must become garbage in time. */
const CROWD = 128
const LARGEST_CROWD = 65536
/** The largest that is written back early: small enough that bringing it in again costs no more than an operation. */
const IDLE_CLASS = classOf(4096)

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
  /** How many storages may be there before the idle ones are written back. */
  residentLimit: YOUNG,
  clockAtRelief: 1,
  /** How many storages may be there before all are written back that were not used lately. */
  crowd: CROWD,
  /** How many of those were brought in again since the last reclaim, for a sweep: the sign of a tape that is in use. */
  restoredSaved: 0,
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
  // Unlike `slice`, this does not clear the new array before it is written.
  return new (arrayOf(storage.dtype))(storage.address === 0 ? homeOf(storage) : numbersOf(storage))
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
  return {
    budget: state.budget,
    extent: state.end - arenaStart,
    residents: residents.length,
    residentBytes: occupied(),
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
  moveTogether()
}

function place(storage: Storage): void {
  if (storage.bytes > ADDRESS_LIMIT || storage.length > LARGEST_COUNT) {
    throw new MemoryError(
      `${storage.length} numbers, ${storage.bytes} bytes, do not fit: one tensor holds at most ${LARGEST_COUNT} numbers in ${ADDRESS_LIMIT} bytes`,
    )
  }
  if (residents.length >= state.residentLimit) relieve()
  storage.address = takeFree(storage.blockClass) || takeBlock(storage.blockClass)
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

/** The numbers where they are in linear memory. */
function numbersOf(storage: Storage): TypedArray {
  const view = viewOf(storage.dtype)
  const start = storage.address / view.BYTES_PER_ELEMENT
  return view.subarray(start, start + storage.length)
}

function homeOf(storage: Storage): TypedArray | readonly number[] {
  if (storage.home === null) throw new MemoryError('internal: numbers were used after they were given up')
  return storage.home
}

function restore(storage: Storage): void {
  const home = homeOf(storage)
  place(storage)
  if (storage.owners > 0) state.restoredSaved++
  if (storage.blockClass > IDLE_CLASS) state.restoredBytes += storage.bytes
  const view = viewOf(storage.dtype)
  view.set(home, storage.address / view.BYTES_PER_ELEMENT)
}

/** Up to this many numbers, an ordinary array costs a fraction of a typed one, whose memory lies outside of the heap. */
const SMALL = 128

function copyOut(storage: Storage): TypedArray | readonly number[] {
  const { length, address } = storage
  if (length > SMALL) return read(storage)
  const view = viewOf(storage.dtype)
  const start = address / view.BYTES_PER_ELEMENT
  const array = new Array<number>(length)
  for (let i = 0; i < length; i++) array[i] = view[start + i] as number
  return array
}

function takeBlock(blockClass: number): number {
  const capacity = capacityOf(blockClass)
  let address = takeFromRegions(capacity)
  if (address !== 0) return address
  // Where half of it is free, it only has to be put together.
  if (2 * (occupied() + capacity) > state.end - arenaStart) {
    reclaim(false)
    address = takeFree(blockClass) || takeFromRegions(capacity)
    if (address !== 0) return address
  }
  moveTogether()
  address = takeFromRegions(capacity)
  if (address !== 0) return address
  if (!extendTo(state.end + capacity)) {
    reclaim(true)
    moveTogether()
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

/** A block that was freed; 0 where there is none of this class. */
function takeFree(blockClass: number): number {
  return (freeBlocks[blockClass] as number[]).pop() ?? 0
}

/** Bytes of the blocks in use. */
function occupied(): number {
  let bytes = 0
  for (let i = 0; i < residents.length; i++) bytes += capacityOf((residents[i] as Storage).blockClass)
  return bytes
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
 * Keeps the number of storages low: writes back the small ones that nothing but the user can hold, where they were not
 * used lately. They are likely to be garbage, and as few survive in the meantime, the JavaScript heap stays small too.
 */
function relieve(): void {
  const recent = halfway(state.clockAtRelief)
  state.clockAtRelief = state.clock
  writeBack(recent, isIdle)
  if (residents.length >= state.crowd) reclaim(false)
  state.residentLimit = Math.max(YOUNG, 2 * residents.length)
}

function isIdle({ escaped, owners, changedAt, blockClass }: Storage): boolean {
  // What was changed in place is a parameter, or the like: it will be used again.
  return escaped && owners === 0 && changedAt === 0 && blockClass <= IDLE_CLASS
}

/**
 * Writes back what was not used lately (or, with `everything`, all that the operation under way does not use), and lets
 * the budget grow where the working set turned out not to fit.
 */
function reclaim(everything: boolean): void {
  state.reclaims++
  if (state.restoredBytes > state.budget / 8) state.budget = Math.min(2 * state.budget, state.maximumBudget)
  state.restoredBytes = 0
  if (state.restoredSaved > state.crowd / 8) state.crowd = Math.min(2 * state.crowd, LARGEST_CROWD)
  state.restoredSaved = 0
  const recent = everything ? state.clock : halfway(state.clockAtReclaim)
  state.clockAtReclaim = state.clock
  writeBack(recent, () => true)
  if (!everything && occupied() > (state.budget * 3) / 4) {
    state.budget = Math.min(2 * state.budget, state.maximumBudget)
    if (occupied() > (state.budget * 3) / 4) writeBack(state.clock, () => true)
  }
  state.residentLimit = Math.max(YOUNG, 2 * residents.length)
  extendTo(Math.min(arenaStart + state.budget, ADDRESS_LIMIT))
}

/** The tick halfway between a past one and the present. */
function halfway(past: number): number {
  return past + (state.clock - past) / 2
}

/** Writes back every storage that was last used before the given tick and may go. */
function writeBack(before: number, mayGo: (storage: Storage) => boolean): void {
  let count = 0
  for (let i = 0; i < residents.length; i++) {
    const storage = residents[i] as Storage
    if (storage.lastUse < before && mayGo(storage)) {
      storage.home ??= copyOut(storage)
      ;(freeBlocks[storage.blockClass] as number[]).push(storage.address)
      storage.address = 0
      storage.slot = -1
    } else {
      storage.slot = count
      residents[count++] = storage
    }
  }
  while (residents.length > count) residents.pop()
}

/** Moves what is there together, so that all free memory is one. */
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
