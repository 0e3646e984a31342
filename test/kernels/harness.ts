import { supportsFusedMultiplyAdd } from '../../src/runtime/binary.js'
import { createMemory, instantiate, type Kernels } from '../../src/runtime/instance.js'

/** A kernel instance with a memory of its own, so that kernels are tested without the engine above them. */
export class Bench {
  readonly kernels: Kernels
  private readonly memory = createMemory()
  private next: number

  constructor(readonly fused: boolean) {
    const { kernels, heapBase } = instantiate(this.memory, fused)
    this.kernels = kernels
    this.next = heapBase
  }

  /** Reserves `bytes` bytes, 64-byte aligned, and returns their address. */
  reserve(bytes: number): number {
    const address = Math.ceil(this.next / 64) * 64
    this.next = address + bytes
    const missing = this.next - this.memory.buffer.byteLength
    if (missing > 0) this.memory.grow(Math.ceil(missing / 65536))
    return address
  }

  /** Copies values in and returns their address. */
  put(values: Float32Array | Float64Array | Int32Array | Uint8Array): number {
    const address = this.reserve(values.byteLength)
    this.write(address, values)
    return address
  }

  /** Copies values to an address. */
  write(address: number, values: Float32Array | Float64Array | Int32Array | Uint8Array): void {
    new Uint8Array(this.memory.buffer, address, values.byteLength).set(
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
    )
  }

  float32(address: number, length: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, length).slice()
  }

  float64(address: number, length: number): Float64Array {
    return new Float64Array(this.memory.buffer, address, length).slice()
  }

  int32(address: number, length: number): Int32Array {
    return new Int32Array(this.memory.buffer, address, length).slice()
  }

  bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, length).slice()
  }

  /** Forgets everything that was put since the given mark (an address from `reserve`). */
  reset(mark: number): void {
    this.next = mark
  }
}

/** One bench for each build that this engine can run. */
export const benches: readonly Bench[] = supportsFusedMultiplyAdd()
  ? [new Bench(false), new Bench(true)]
  : [new Bench(false)]

/** The block of words in which kernels read the outer dimensions of up to three operands. */
export function layoutBlock(sizes: readonly number[], strides: readonly (readonly number[])[]): Int32Array {
  const steps = sizes.reduce((product, size) => product * size, 1)
  const axes = sizes.flatMap((size, axis) => [0, size, ...[0, 1, 2].map((operand) => strides[operand]?.[axis] ?? 0)])
  return Int32Array.of(sizes.length, steps, 0, 0, 0, ...axes)
}
