// Run in a process of its own: starts the pool, in the main thread or in a worker, and ends.
import { isMainThread, Worker } from 'node:worker_threads'
import { getThreads } from '../../src/index.js'
import { workersPresent } from '../../src/runtime/threads.js'
import { useThreads } from './threads.js'

if (isMainThread && process.argv[2] === 'in a worker thread') {
  const { href } = new URL(import.meta.url)
  new Worker(`import('tsx/esm/api').then(({ register }) => register()).then(() => import('${href}'))`, { eval: true })
} else {
  useThreads(2)
  console.log(`${getThreads()} threads, ${workersPresent()} worker`)
}
