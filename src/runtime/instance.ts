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

/** A fresh linear memory, large enough for the kernels' static data; it grows on demand. */
export function createMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 16, maximum: 65535 })
}

/**
 * Compiles and instantiates the kernels synchronously over `memory`.
 *
 * @param fused use the build with fused multiply-add; the engine must support it
 */
export function instantiate(memory: WebAssembly.Memory, fused: boolean): KernelInstance {
  const module = new WebAssembly.Module(kernelBinary(fused))
  const instance = new WebAssembly.Instance(module, { env: { memory } })
  const kernels = instance.exports as unknown as Kernels
  return { kernels, fused, heapBase: kernels.heapBase() }
}
