// What the JavaScript engine has for threads: how many there may be, and how one is started.
import { builtin } from './builtin.js'
import { workerSource } from './worker.generated.js'
import type { Post } from './worker.js'

/** A thread that was started. */
export interface Worker {
  /** Ends it, whatever it is doing. */
  terminate(): void
}

/** How many threads can run at once, as far as the engine tells. */
export function availableParallelism(): number {
  return builtin('node:os')?.availableParallelism() ?? globalThis.navigator?.hardwareConcurrency ?? 1
}

/** Whether threads can be started here, as far as can be seen before one is. */
export function canStart(): boolean {
  return builtin('node:worker_threads') !== null || typeof globalThis.Worker === 'function'
}

/** Whether this thread may sleep while others work: the main thread of a browser may not. */
export function maySleep(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1)
    return true
  } catch {
    return false
  }
}

let sourceUrl: string | undefined

/**
 * Starts a thread that does not keep the process alive.
 *
 * @param ended called when it is gone, with the reason
 * @throws whatever the engine throws where threads are not allowed
 */
export function startWorker(post: Post, ended: (reason: string) => void): Worker {
  const threads = builtin('node:worker_threads')
  if (threads !== null) {
    const worker = new threads.Worker(workerSource, {
      eval: true,
      workerData: post,
      // Nothing of the program's own: no loaders, no hooks.
      execArgv: [],
      env: {},
    })
    worker.unref()
    worker.on('error', (error) => ended(String(error)))
    worker.on('exit', (code) => ended(`it ended with exit code ${code}`))
    return worker
  }
  sourceUrl ??= URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }))
  const worker = new globalThis.Worker(sourceUrl)
  worker.onerror = (event) => ended(event.message)
  worker.postMessage(post)
  return worker
}
