// Dividing large operations among threads. The caller takes part and returns when all is done, so that nobody outside
// sees threads. Workers are started late, when the work that they could have shared amounts to what starting them
// costs. Nobody waits for one to start: until it has reported itself ready, the others do everything.
import { ArgumentError, showValue, ThreadError } from '../core/errors.js'
import { supportsFusedMultiplyAdd } from './binary.js'
import { availableParallelism, canStart, maySleep, startWorker, type Worker } from './host.js'
import { compile, isShared as isSharedMemory } from './instance.js'
import * as job from './job.js'
import { blockAddress, getFusedMultiplyAdd, type KernelFamily, kernels, memory } from './kernels.js'

/** When work is shared. Only tests change it. */
export const tuning = {
  /** Nanoseconds of work, as operations estimate it, from which on threads save time that look out for it. */
  threshold: 25_000,
  /** Nanoseconds of work for each thread that is woken. */
  wake: 100_000,
  /** Nanoseconds of work that a piece has at least. */
  grain: 12_000,
  /** Nanoseconds of work that could have been shared before workers are started. */
  start: 20_000_000,
  /** Milliseconds without progress after which a thread is given up, beside 20 times what the caller itself took. */
  patience: 10_000,
}

/** Pieces for each thread: where one is held up, the others take more of them. */
const PIECES_PER_THREAD = 4
/** Milliseconds for which a worker looks out for the next job, and the caller for the last piece, before it sleeps. */
const LOOKOUT = 0.1
/** Milliseconds of sleep after which the caller looks whether a thread is missing. */
const NAP = 100

/** Threads by default, where there are as many processors. */
const DEFAULT_LIMIT = 8
const MOST_THREADS = 64

/** Workers that were started together. */
interface Crew {
  readonly number: number
  readonly workers: readonly Worker[]
  /** Where each shows that it is present. */
  readonly places: readonly number[]
  /** Whether all were seen present. */
  complete: boolean
}

const state = {
  /** Whether threads can be had, as far as is known. */
  available: isSharedMemory(memory) && canStart(),
  threads: 1,
  crew: null as Crew | null,
  nextPlace: 0,
  /** Nanoseconds of work that a crew could have shared since there was one. */
  missed: 0,
  /** What ended a worker of the present crew. */
  failure: null as string | null,
}
useThreads(Math.min(availableParallelism(), DEFAULT_LIMIT))

const block = job.blockAt(memory, blockAddress)
const { words, doubles } = block
const canSleep = state.available && maySleep()

function useThreads(threads: number): void {
  state.threads = state.available ? Math.min(threads, MOST_THREADS) : 1
}

/** How many threads share large operations at present, the calling one included; see `setThreads`. */
export function getThreads(): number {
  return state.threads
}

/**
 * Sets how many threads share large operations: products of matrices, elementwise functions, softmax and its like,
 * reductions, copies and random numbers, from about 25 µs of work on. The default is one for each processor that the
 * program may use, but at most 8.
 *
 * Nothing else changes: operations return when they are done, results have the same bits for any number of threads, and
 * the process ends as if there were only one. Workers start when the work they could have shared amounts to 20 ms, and
 * sleep after 0.1 ms without work. `setThreads(1)` dismisses them. An operation throws `ThreadError` where a thread that
 * it needs has failed or ended.
 *
 * On two processors, two threads took 0.5 to 0.6 of the time of one for products of 512 × 512 and larger, and for the
 * gradients of attention layers of 64 × 128 and 196 × 768; four threads, more than there were processors, up to 1.4 times
 * what two took. So the default counts processors, and stops where memory tends to be the limit.
 *
 * One thread works, whatever is asked for, where others cannot be had: in browsers unless the page is
 * `crossOriginIsolated`, in Node before 20.16, and where the engine refuses to start a worker.
 *
 * @param threads at most 64; the calling thread is one of them
 * @returns how many are in use now
 * @throws ArgumentError unless it is a whole number of at least 1
 */
export function setThreads(threads: number): number {
  if (!Number.isInteger(threads) || threads < 1) {
    throw new ArgumentError(
      `setThreads: the number of threads must be a whole number of at least 1, got ${showValue(threads)}`,
    )
  }
  if (threads !== state.threads) {
    dismiss()
    useThreads(threads)
  }
  return state.threads
}

/** How many workers have been started and are ready. */
export function workersPresent(): number {
  return state.crew === null ? 0 : state.crew.places.filter(isPresent).length
}

function isPresent(place: number): boolean {
  return Atomics.load(words, job.PRESENT + place) === 1
}

/** Starts workers, unless some of an earlier crew have not left yet. */
function start(): void {
  for (let place = 0; place < job.PLACES; place++) if (isPresent(place)) return
  const number = Atomics.load(words, job.CREW)
  const workers: Worker[] = []
  const places: number[] = []
  const crew: Crew = { number, workers, places, complete: false }
  state.crew = crew
  state.missed = 0
  Atomics.store(words, job.ASLEEP, 0)
  const modules = [compile(false, true), supportsFusedMultiplyAdd() ? compile(true, true) : null] as const
  try {
    for (let thread = 1; thread < state.threads; thread++) {
      const place = state.nextPlace++ % job.PLACES
      const post = { memory, address: blockAddress, modules, crew: number, thread, place, lookout: LOOKOUT }
      places.push(place)
      workers.push(startWorker(post, (reason) => ended(crew, place, reason)))
    }
  } catch {
    giveUp()
  }
}

/** Lets all workers leave, where there are any. */
function dismiss(): void {
  if (state.crew === null) return
  state.crew = null
  state.failure = null
  Atomics.add(words, job.CREW, 1)
  Atomics.add(words, job.SEQUENCE, 1)
  Atomics.notify(words, job.SEQUENCE)
}

/** One thread works: others cannot be had here. */
function giveUp(): void {
  dismiss()
  state.available = false
  useThreads(1)
}

/** A worker is gone. */
function ended(crew: Crew, place: number, reason: string): void {
  const wasPresent = Atomics.exchange(words, job.PRESENT + place, 0) === 1
  if (crew !== state.crew || state.failure !== null) return
  if (wasPresent) state.failure = reason
  else giveUp()
}

/**
 * Whether work of so many nanoseconds, roughly estimated, is to be shared (by `inPieces`): where it is large enough and
 * workers are there. Costs a comparison where it is not large.
 *
 * @throws ThreadError where a worker has ended since
 */
export function isShared(nanoseconds: number): boolean {
  return nanoseconds >= tuning.threshold && state.threads > 1 && areReady(nanoseconds)
}

function areReady(nanoseconds: number): boolean {
  const { crew, failure } = state
  if (failure !== null) {
    dismiss()
    throw new ThreadError(
      `a thread that shares the work of operations is gone: ${failure}. This operation did not take place; the next one will, with new threads`,
    )
  }
  if (crew === null) {
    state.missed += nanoseconds
    if (state.missed >= tuning.start) start()
    return false
  }
  if (nanoseconds < tuning.wake && Atomics.load(words, job.ASLEEP) >= crew.places.length) return false
  if (crew.complete) return true
  const present = workersPresent()
  crew.complete = present === crew.places.length
  return present > 0
}

/** Pieces of rows of elements are multiples of this, so that no two write to the same cache line. */
export const ELEMENTS = 64

/** Scratch memory for each thread in an argument of the kernel. */
export interface Scratch {
  /** The argument that is its address. */
  readonly argument: number
  /** Where that of the first thread is; those of the others follow, as many as `getThreads` counts. */
  readonly address: number
  /** Its size for one thread. */
  readonly bytes: number
}

/** Work that can be divided. */
export interface Divisible {
  /** Rows, matrices, elements: what a piece has at least one of. */
  readonly units: number
  /** Every piece but the last has a multiple of so many units; the last has at least as many. 1 by default. */
  readonly multiple?: number
  /** Nanoseconds of work, roughly. */
  readonly nanoseconds: number
  /**
   * The kernel's arguments, at most 24, for the units from … to − 1; pieces must not write to the same memory. `layout` is
   * the address of `LAYOUT_BYTES` bytes for a layout block, or whatever else the kernel reads, of the piece's own.
   */
  readonly piece: (from: number, to: number, layout: number) => readonly number[]
  readonly scratch?: Scratch
}

/**
 * Calls a kernel for all of the work, in pieces that threads share, where `isShared` holds. Results must not depend on
 * where pieces end, for that depends on the number of threads. Returns when all are done.
 *
 * @throws ThreadError where a thread that took part failed or vanished
 */
export function inPieces(family: KernelFamily, suffix: string, work: Divisible): void {
  const { units, multiple = 1, nanoseconds, piece, scratch } = work
  const blocks = Math.max(1, Math.floor(units / multiple))
  const wanted = Math.min(state.threads * PIECES_PER_THREAD, job.MOST_PIECES, blocks, nanoseconds / tuning.grain)
  // As many for each thread, where there are enough.
  const pieces = Math.max(1, Math.floor(wanted < state.threads ? wanted : wanted - (wanted % state.threads)))
  const { indices, exports } = exportsInUse()
  let count = 0
  let from = 0
  for (let i = 0; i < pieces; i++) {
    const to = i === pieces - 1 ? units : multiple * Math.floor(((i + 1) * blocks) / pieces)
    const numbers = piece(from, to, layoutOf(i))
    doubles.set(numbers, job.argumentsAt(i))
    count = numbers.length
    from = to
  }
  words[job.KERNEL] = indices.get(`${family.name}_${suffix}`) as number
  words[job.FUSED] = Number(getFusedMultiplyAdd())
  words[job.COUNT] = count
  words[job.SCRATCH] = scratch?.argument ?? -1
  words[job.SCRATCH_ADDRESS] = scratch?.address ?? 0
  words[job.SCRATCH_BYTES] = scratch?.bytes ?? 0
  words[job.FAILURE] = 0
  Atomics.store(words, job.FINISHED, 0)
  Atomics.store(words, job.REMAINING, pieces)
  Atomics.add(words, job.SEQUENCE, 1)
  Atomics.notify(words, job.SEQUENCE, Math.min(pieces - 1, Math.floor(nanoseconds / tuning.wake)))
  const started = performance.now()
  job.takePieces(block, () => exports, 0)
  awaitPieces(family.name, pieces, performance.now() - started)
  const message = failureOf()
  if (message !== null) throw new ThreadError(`${family.name}: a piece of the work failed: ${message}`)
}

function layoutOf(piece: number): number {
  return blockAddress + 8 * job.argumentsAt(piece) + job.LAYOUT
}

/** Waits for the pieces that others have taken; `own` is how long the caller was busy with its own, in milliseconds. */
function awaitPieces(name: string, pieces: number, own: number): void {
  const patience = tuning.patience + 20 * own
  // In naps, so that a machine that was suspended does not look as if a thread had vanished.
  let naps = 0
  for (let done = Atomics.load(words, job.FINISHED); done < pieces; ) {
    if (!job.spin(words, job.FINISHED, done, LOOKOUT)) {
      if (!canSleep) job.spin(words, job.FINISHED, done, NAP)
      else Atomics.wait(words, job.FINISHED, done, NAP)
      naps++
    }
    const now = Atomics.load(words, job.FINISHED)
    if (now > done) naps = 0
    else if (naps * NAP > patience) {
      const { crew } = state
      dismiss()
      for (const worker of crew?.workers ?? []) worker.terminate()
      throw new ThreadError(
        `${name}: a thread that had a piece of the work did not finish it within ${(patience / 1000).toFixed(0)} s, it must have ended; the result is lost, and the threads are dismissed`,
      )
    }
    done = now
  }
}

function failureOf(): string | null {
  const length = words[job.FAILURE] as number
  return length === 0 ? null : String.fromCharCode(...words.subarray(job.FAILURE + 1, job.FAILURE + 1 + length))
}

interface ExportList {
  readonly exports: job.Exports
  readonly indices: ReadonlyMap<string, number>
}

const lists = new Map<object, ExportList>()

/** The exports of the kernels in use in their order, and their places by name. */
function exportsInUse(): ExportList {
  const present = kernels()
  let list = lists.get(present)
  if (list === undefined) {
    list = {
      exports: Object.values(present),
      indices: new Map(Object.keys(present).map((name, index) => [name, index])),
    }
    lists.set(present, list)
  }
  return list
}
