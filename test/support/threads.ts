import { matmul, ones, setThreads } from '../../src/index.js'
import { tuning, workersPresent } from '../../src/runtime/threads.js'

const work = ones([256, 256])

/** Sets the number of threads and waits until all are ready. */
export function useThreads(threads: number): void {
  if (setThreads(threads) !== threads) throw new Error(`there are no ${threads} threads here`)
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  const deadline = performance.now() + 20_000
  while (workersPresent() < threads - 1) {
    if (performance.now() > deadline) throw new Error('the workers do not start')
    matmul(work, work)
    Atomics.wait(nothing, 0, 0, 5)
  }
}

/** Shares all work, however small, and starts workers at once. Returns what restores the usual. */
export function shareEverything(): () => void {
  const before = { ...tuning }
  Object.assign(tuning, { threshold: 0, wake: Number.MIN_VALUE, grain: Number.MIN_VALUE, start: 0 })
  return () => Object.assign(tuning, before)
}
