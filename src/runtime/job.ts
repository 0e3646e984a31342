// How threads share work. A job is one kernel called for several pieces of its data. It stands in a block of linear
// memory, the caller writes it, and every thread, the caller too, takes pieces until there are none left. This file is
// the part of the protocol that both sides execute; threads.ts is the caller's, worker.ts the other one.
//
// Pieces are counted down: taking one is an atomic decrement, and a result below zero says that there was none. So the
// caller may write the next job as soon as all pieces of the last one are finished: a thread that comes late finds
// nothing, or, once the new count is stored, a piece of the new job, of which it has not read anything before.

/** The exported functions of a kernel instance in their order. */
export type Exports = readonly ((...numbers: number[]) => number)[]

// The block's 32-bit words. What different threads write lies in different cache lines.

/** Rises with every job; workers sleep on it. */
export const SEQUENCE = 0
/** Rises whenever the workers are dismissed; those of an earlier crew leave. */
export const CREW = 1
/** How many workers sleep. */
export const ASLEEP = 2
/** Pieces that nobody has taken yet. */
export const REMAINING = 16
/** Pieces that are finished; the caller waits on it. */
export const FINISHED = 32
/** The kernel: its place among the exports. */
export const KERNEL = 48
/** Whether it is the build with fused multiply-add. */
export const FUSED = 49
/** How many arguments it takes. */
export const COUNT = 50
/** The argument that is replaced by scratch memory of the thread's own; -1 for none. */
export const SCRATCH = 51
/** Address and size in bytes of the scratch memory of thread 0; those of the others follow. */
export const SCRATCH_ADDRESS = 52
export const SCRATCH_BYTES = 53
/** Length of the message of the piece that failed first, 0 for none, and its UTF-16 units, one a word. */
export const FAILURE = 64
const FAILURE_LIMIT = 250
/** For each worker whether it works: 1 from when it is ready until it leaves. */
export const PRESENT = 320
export const PLACES = 256

/** Where the pieces begin, in bytes; each has its arguments as doubles, and then room for a layout block. */
const PIECES = (PRESENT + PLACES) * 4
export const MOST_PIECES = 64
const MOST_ARGUMENTS = 24
export const LAYOUT = MOST_ARGUMENTS * 8
const PIECE_BYTES = 512
export const LAYOUT_BYTES = PIECE_BYTES - LAYOUT
export const BLOCK_BYTES = PIECES + MOST_PIECES * PIECE_BYTES

/** Views of the block. Those of a shared memory outlive its growth. */
export interface Block {
  readonly words: Int32Array
  readonly doubles: Float64Array
}

export function blockAt(memory: WebAssembly.Memory, address: number): Block {
  return {
    words: new Int32Array(memory.buffer, address, BLOCK_BYTES / 4),
    doubles: new Float64Array(memory.buffer, address, BLOCK_BYTES / 8),
  }
}

/** Where the arguments of a piece are, in doubles. */
export function argumentsAt(piece: number): number {
  return (PIECES + piece * PIECE_BYTES) / 8
}

/** Takes and executes pieces of the present job until there are none left. A piece that fails is finished as well. */
export function takePieces({ words, doubles }: Block, exportsOf: (fused: boolean) => Exports, thread: number): void {
  for (;;) {
    const piece = Atomics.sub(words, REMAINING, 1) - 1
    if (piece < 0) return
    try {
      const kernel = exportsOf(words[FUSED] === 1)[words[KERNEL] as number] as Exports[number]
      const start = argumentsAt(piece)
      const count = words[COUNT] as number
      const numbers: number[] = []
      for (let i = 0; i < count; i++) numbers.push(doubles[start + i] as number)
      const scratch = words[SCRATCH] as number
      if (scratch >= 0) {
        numbers[scratch] = (words[SCRATCH_ADDRESS] as number) + thread * (words[SCRATCH_BYTES] as number)
      }
      kernel(...numbers)
    } catch (error) {
      fail(words, String(error))
    }
    Atomics.add(words, FINISHED, 1)
    Atomics.notify(words, FINISHED)
  }
}

function fail(words: Int32Array, message: string): void {
  const length = Math.max(1, Math.min(message.length, FAILURE_LIMIT))
  if (Atomics.compareExchange(words, FAILURE, 0, length) !== 0) return
  for (let i = 0; i < length; i++) words[FAILURE + 1 + i] = message.charCodeAt(i)
}

/** Waits without sleeping until a word is no longer `value`, or for about so many milliseconds. */
export function spin(words: Int32Array, word: number, value: number, milliseconds: number): boolean {
  const end = performance.now() + milliseconds
  do {
    for (let i = 0; i < 64; i++) if (Atomics.load(words, word) !== value) return true
  } while (performance.now() < end)
  return false
}
