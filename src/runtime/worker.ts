// A worker's life. Compiled into one string by src/kernels/build.js, so that starting a worker needs no file.
import { builtin } from './builtin.js'
import { ASLEEP, type Block, blockAt, CREW, type Exports, PRESENT, SEQUENCE, spin, takePieces } from './job.js'

/** What a worker is given. */
export interface Post {
  readonly memory: WebAssembly.Memory
  /** Where the block of the jobs is. */
  readonly address: number
  /** The kernels without and with fused multiply-add; null where the engine has not got it. */
  readonly modules: readonly [plain: WebAssembly.Module, fused: WebAssembly.Module | null]
  /** The crew that this worker belongs to, its number there, and its place among all workers. */
  readonly crew: number
  readonly thread: number
  readonly place: number
  /** How long to look out for the next job before sleeping, in milliseconds. */
  readonly lookout: number
}

function serve({ memory, address, modules, crew, thread, place, lookout }: Post): void {
  const block: Block = blockAt(memory, address)
  const { words } = block
  const [plain, fused] = modules.map((module) => {
    if (module === null) return []
    return Object.values(new WebAssembly.Instance(module, { env: { memory } }).exports) as unknown as Exports
  }) as [Exports, Exports]
  let seen = Atomics.load(words, SEQUENCE)
  Atomics.store(words, PRESENT + place, 1)
  while (Atomics.load(words, CREW) === crew) {
    takePieces(block, (isFused) => (isFused ? fused : plain), thread)
    if (!spin(words, SEQUENCE, seen, lookout)) {
      Atomics.add(words, ASLEEP, 1)
      Atomics.wait(words, SEQUENCE, seen)
      Atomics.sub(words, ASLEEP, 1)
    }
    seen = Atomics.load(words, SEQUENCE)
  }
  Atomics.store(words, PRESENT + place, 0)
}

const threads = builtin('node:worker_threads')
if (threads !== null) serve(threads.workerData)
else {
  addEventListener('message', (event: MessageEvent<Post>) => {
    serve(event.data)
    close()
  })
}
