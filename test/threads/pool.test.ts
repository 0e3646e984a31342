// How the workers come and go, and what happens when one fails.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Tensor } from '../../src/index.js'
import { REMAINING, SEQUENCE } from '../../src/runtime/job.js'

const threads = process.getBuiltinModule('node:worker_threads')

/** Every worker that the library has started in this test. */
let started: Worker[] = []

/** Puts another class in the place of Node's. */
function replaceWorker(replacement: typeof Worker): void {
  Object.assign(threads, { Worker: replacement })
}

/** The library anew, with a pool of its own. */
async function load() {
  vi.resetModules()
  const library = await import('../../src/index.js')
  const pool = await import('../../src/runtime/threads.js')
  const kernels = await import('../../src/runtime/kernels.js')
  const { addressOf } = await import('../../src/memory/arena.js')
  const support = await import('../support/threads.js')
  return { ...library, ...pool, ...kernels, ...support, addressOf }
}

let library: Awaited<ReturnType<typeof load>>

beforeEach(async () => {
  started = []
  replaceWorker(
    class extends Worker {
      constructor(...settings: ConstructorParameters<typeof Worker>) {
        super(...settings)
        started.push(this)
      }
    },
  )
  library = await load()
})

afterEach(async () => {
  library.setThreads(1)
  vi.restoreAllMocks()
  replaceWorker(Worker)
  await Promise.all(started.map((worker) => worker.terminate()))
})

/** A job of many pieces, each a call of `exp` over a part of a large tensor. */
function work(): Float32Array {
  return library.full([1 << 20], 1).exp().data as Float32Array
}

describe('setThreads', () => {
  test('says how many threads share the work', () => {
    expect(library.setThreads(3)).toBe(3)
    expect(library.getThreads()).toBe(3)
    expect(library.setThreads(1)).toBe(1)
    expect(library.getThreads()).toBe(1)
    expect(library.setThreads(1000)).toBe(64)
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null, undefined, Symbol('2')])(
    'refuses %s',
    (n) => {
      const before = library.getThreads()
      expect(() => library.setThreads(n as number)).toThrow(library.ArgumentError)
      expect(() => library.setThreads(n as number)).toThrow(/setThreads: .* whole number/)
      expect(library.getThreads()).toBe(before)
    },
  )
})

test('small work starts no thread, however much there is of it', () => {
  library.setThreads(2)
  library.tuning.start = 0
  const [a, b] = [library.randn([32, 32]), library.randn([32, 32])]
  for (let i = 0; i < 1000; i++) a.matmul(b).tanh().add(b).softmax().sum()
  expect(started).toHaveLength(0)
})

test('threads start when the work they could have shared is worth it, and nobody waits for them', () => {
  library.setThreads(3)
  const x = library.full([1 << 20], 1)
  let jobs = 0
  for (; started.length === 0 && jobs < 1000; jobs++) x.exp()
  expect(jobs).toBeGreaterThan(1)
  expect(started).toHaveLength(2)
  expect(work()[7]).toBe(Math.fround(Math.E))
})

test('one thread again: the workers leave', async () => {
  library.useThreads(3)
  expect(started).toHaveLength(2)
  const gone = Promise.all(started.map((worker) => once(worker, 'exit')))
  library.setThreads(1)
  expect(await gone).toEqual([[0], [0]])
  expect(work()[7]).toBe(Math.fround(Math.E))
})

/** Calls `exp` until two threads have taken part, each piece into scratch memory of the thread that executes it. */
function shareExp(scratch: Tensor, bytes: number): void {
  const family = new library.KernelFamily('exp')
  const x = library.ones([LENGTH])
  const [source, address] = [library.addressOf(x.storage), library.addressOf(scratch.storage)]
  for (let i = 0; i < 1000 && scratch.min({ axis: 1 }).min().item() === 0; i++) {
    library.inPieces(family, 'f32', {
      units: 64,
      nanoseconds: 1e9,
      piece: () => [source, 0, LENGTH],
      scratch: { argument: 1, address, bytes },
    })
  }
}

const LENGTH = 1 << 14

test('workers take part', () => {
  library.useThreads(2)
  const scratch = library.zeros([2, LENGTH])
  shareExp(scratch, 4 * LENGTH)
  expect(scratch.at(0, 0).item()).toBe(Math.fround(Math.E))
  expect(scratch.at(1, 0).item()).toBe(Math.fround(Math.E))
})

test('workers see memory that was added after they started', () => {
  library.useThreads(3)
  const restore = library.shareEverything()
  const held: Tensor[] = []
  try {
    for (let i = 0; i < 40; i++) {
      const x = library.full([1 << 20], i)
      held.push(x, x.clone(), x.reshape([1024, 1024]).transpose().clone(), x.add(1))
    }
  } finally {
    restore()
  }
  held.forEach((x, i) => {
    const value = Math.floor(i / 4) + (i % 4 === 3 ? 1 : 0)
    expect([x.min().item(), x.max().item()]).toEqual([value, value])
  })
})

describe('a thread that fails', () => {
  test('in a kernel: the operation throws, and the next one works', () => {
    library.useThreads(2)
    // For the worker, the scratch memory is beyond the end of memory.
    const scratch = library.zeros([2, LENGTH])
    expect(() => shareExp(scratch, 3e9)).toThrow(library.ThreadError)
    expect(() => shareExp(scratch, 3e9)).toThrow(/exp: a piece of the work failed: RuntimeError: .*out of bounds/)
    expect(library.workersPresent()).toBe(1)
    expect(work()[7]).toBe(Math.fround(Math.E))
  })

  test('by ending between operations: the next one throws, once, and then there are new threads', async () => {
    library.useThreads(3)
    await started[0]?.terminate()
    expect(work).toThrow(library.ThreadError)
    expect(work()[7]).toBe(Math.fround(Math.E))
    library.useThreads(3)
    expect(started).toHaveLength(4)
    expect(work()[7]).toBe(Math.fround(Math.E))
  })

  test('by vanishing with a piece of the work: the operation throws, others go on without it', async () => {
    library.useThreads(2)
    library.tuning.patience = 200
    const thief = new Worker(
      `const { workerData: { memory, address, sequence, remaining } } = require('node:worker_threads')
       const words = new Int32Array(memory.buffer, address, 64)
       const before = Atomics.load(words, sequence)
       while (Atomics.load(words, sequence) === before);
       Atomics.sub(words, remaining, 1)`,
      {
        eval: true,
        workerData: {
          memory: library.memory,
          address: library.blockAddress,
          sequence: SEQUENCE,
          remaining: REMAINING,
        },
      },
    )
    await once(thief, 'online')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(() => {
      library.randn([4096, 1024])
    }).toThrow(library.ThreadError)
    expect(work()[7]).toBe(Math.fround(Math.E))
    await Promise.all([once(thief, 'exit'), started[0]?.terminate()])
    library.useThreads(2)
    expect(work()[7]).toBe(Math.fround(Math.E))
  })
})

describe('where threads cannot be had, one thread works', () => {
  test('because the engine refuses', () => {
    replaceWorker(
      class extends Worker {
        constructor() {
          super('', { eval: true })
          throw new Error('no threads here')
        }
      },
    )
    library.setThreads(2)
    library.tuning.start = 0
    expect(work()[7]).toBe(Math.fround(Math.E))
    expect(library.getThreads()).toBe(1)
    expect(library.setThreads(2)).toBe(1)
  })

  test('because they end at once', async () => {
    replaceWorker(
      class extends Worker {
        constructor() {
          super('process.exit(3)', { eval: true })
          started.push(this)
        }
      },
    )
    library.setThreads(2)
    library.tuning.start = 0
    expect(work()[7]).toBe(Math.fround(Math.E))
    await once(started[0] as Worker, 'exit')
    expect(work()[7]).toBe(Math.fround(Math.E))
    expect(library.getThreads()).toBe(1)
  })

  test('because memory cannot be shared', async () => {
    vi.stubGlobal('SharedArrayBuffer', undefined)
    try {
      library = await load()
      expect(library.getThreads()).toBe(1)
      expect(library.memory.buffer).toBeInstanceOf(ArrayBuffer)
      // The memory grows and leaves its old views behind.
      library.zeros([1 << 23])
      expect(library.setThreads(4)).toBe(1)
      expect(work()[7]).toBe(Math.fround(Math.E))
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('because the engine has no built-in modules, nor web workers', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
    library = await load()
    expect(library.setThreads(4)).toBe(1)
    expect(work()[7]).toBe(Math.fround(Math.E))
  })
})

const run = promisify(execFile)
const script = fileURLToPath(new URL('../support/threads-in-a-process.ts', import.meta.url))

describe.each(['in the main thread', 'in a worker thread'])('a process whose threads have started %s', (where) => {
  test('exits by itself', async () => {
    const { stdout } = await run(process.execPath, ['--import', 'tsx', script, where], { timeout: 60_000 })
    expect(stdout).toBe('2 threads, 1 worker\n')
  })
})
