import { kernelBinary } from './binary.js'
import type { KernelName } from './kernels.generated.js'

/** The compiled kernels by name. Every argument is a number: byte addresses, counts, strides in elements, scalars. */
export type Kernels = Readonly<Record<KernelName, (...numbers: number[]) => number>>

/** One instantiation of the kernels over a linear memory. */
export interface KernelInstance {
  readonly kernels: Kernels
  /** Whether multiply and add are rounded once. */
  readonly fused: boolean
  /** First byte that the kernels' own static data does not use. */
  readonly heapBase: number
}

const PAGES = { initial: 16, maximum: 65535 }

/**
 * A fresh linear memory, large enough for the kernels' static data; it grows on demand. Threads can share it where the
 * engine lets them.
 */
export function createMemory(): WebAssembly.Memory {
  if (typeof SharedArrayBuffer === 'function') {
    try {
      return new WebAssembly.Memory({ ...PAGES, shared: true })
    } catch {
      // Some engines set the whole maximum aside for a shared memory, and this one has not got so much.
    }
  }
  return new WebAssembly.Memory(PAGES)
}

/** Whether other threads can work in a memory. */
export function isShared(memory: WebAssembly.Memory): boolean {
  return typeof SharedArrayBuffer === 'function' && (memory.buffer as ArrayBufferLike) instanceof SharedArrayBuffer
}

// The import of the memory in the binary: module, name, kind, then the flags, of which bit 1 says that it is shared.
const MEMORY_IMPORT = [3, ...letters('env'), 6, ...letters('memory'), 2]
const BOUNDED = 1

function letters(text: string): number[] {
  return Array.from(text, (letter) => letter.charCodeAt(0))
}

const modules = new Map<string, WebAssembly.Module>()

/** The kernels with fused multiply-add or without, for shared memories or for others; compiled once. */
export function compile(fused: boolean, shared: boolean): WebAssembly.Module {
  const key = `${fused} ${shared}`
  let module = modules.get(key)
  if (module === undefined) {
    const bytes = kernelBinary(fused)
    if (!shared) {
      const start = bytes.findIndex((_, at) => MEMORY_IMPORT.every((byte, i) => bytes[at + i] === byte))
      bytes[start + MEMORY_IMPORT.length] = BOUNDED
    }
    module = new WebAssembly.Module(bytes)
    modules.set(key, module)
  }
  return module
}

/**
 * Instantiates the kernels synchronously over `memory`.
 *
 * @param fused use the build with fused multiply-add; the engine must support it
 */
export function instantiate(memory: WebAssembly.Memory, fused: boolean): KernelInstance {
  const instance = new WebAssembly.Instance(compile(fused, isShared(memory)), { env: { memory } })
  const kernels = instance.exports as unknown as Kernels
  return { kernels, fused, heapBase: kernels.heapBase() }
}
