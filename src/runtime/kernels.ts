import { supportsFusedMultiplyAdd } from './binary.js'
import { nanosecondsPerByte } from './costs.js'
import { createMemory, instantiate, type Kernels } from './instance.js'
import { BLOCK_BYTES } from './job.js'
import type { KernelName } from './kernels.generated.js'

/** The linear memory in which every kernel works. */
export const memory = createMemory()

const fastest = instantiate(memory, supportsFusedMultiplyAdd())
let current = fastest

/** Address of the block by which threads share work (see job.ts). */
export const blockAddress = Math.ceil(fastest.heapBase / 64) * 64

/** First byte of the linear memory that is free for tensors. */
export const heapBase = blockAddress + BLOCK_BYTES

/** The kernels in use. */
export function kernels(): Kernels {
  return current.kernels
}

/** A kernel of one family, by the dtype's suffix: `new KernelFamily('add').get('f32')(a, b, …)`. */
export class KernelFamily {
  private resolved: Partial<Record<string, (...numbers: number[]) => number>> = {}

  /** Nanoseconds that one thread takes for each byte of the largest operand, roughly. */
  readonly nanosecondsPerByte: number

  constructor(readonly name: string) {
    this.nanosecondsPerByte = nanosecondsPerByte(name)
    families.push(this)
  }

  /** The kernel for a suffix; every family has those of the dtypes that its operation takes. */
  get(suffix: string): (...numbers: number[]) => number {
    const known = this.resolved[suffix]
    if (known !== undefined) return known
    const kernel = current.kernels[`${this.name}_${suffix}` as KernelName]
    this.resolved[suffix] = kernel
    return kernel
  }

  forget(): void {
    this.resolved = {}
  }
}

const families: KernelFamily[] = []

/** Whether products and sums in kernels are rounded once (fused multiply-add) on this engine at present. */
export function getFusedMultiplyAdd(): boolean {
  return current.fused
}

/**
 * Turns fused multiply-add off or on again. With it off, the same program gives the same bits on engines with and
 * without relaxed SIMD; with it on (the default where the engine has it), products are faster and rounded once.
 *
 * @returns whether it is in use now: false where the engine does not have it
 */
export function setFusedMultiplyAdd(enabled: boolean): boolean {
  const fused = enabled && supportsFusedMultiplyAdd()
  if (fused !== current.fused) {
    current = fused === fastest.fused ? fastest : instantiate(memory, fused)
    for (const family of families) family.forget()
  }
  return fused
}
