import type { Bench } from './harness.js'

const GUARD = 64
const PATTERN = 0xa5

/** Memory of a kernel between guard bytes, which no kernel may touch. */
export interface Guarded {
  readonly address: number
  /** Whether all guard bytes are as they were. */
  intact(): boolean
}

/** Reserves memory between guards: for contents, or as many bytes of a pattern. */
export function guarded(
  bench: Bench,
  contents: number | Float32Array | Float64Array | Int32Array | Uint8Array,
): Guarded {
  const bytes = typeof contents === 'number' ? contents : contents.byteLength
  const image = new Uint8Array(bytes + 2 * GUARD).fill(PATTERN)
  if (typeof contents !== 'number') {
    image.set(new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength), GUARD)
  }
  const start = bench.put(image)
  const clean = (from: number) => bench.bytes(from, GUARD).every((byte) => byte === PATTERN)
  const address = start + GUARD
  return { address, intact: () => clean(start) && clean(address + bytes) }
}
