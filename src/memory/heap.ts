import type { DType, TypedArray } from '../core/dtype.js'
import { memory } from '../runtime/kernels.js'

/** Views of the linear memory. A growth replaces them all: read them from here each time. */
export const heap = {
  uint8: new Uint8Array(memory.buffer),
  int32: new Int32Array(memory.buffer),
  float32: new Float32Array(memory.buffer),
  float64: new Float64Array(memory.buffer),
}

/** The view whose elements are of this dtype. */
export function viewOf(dtype: DType): TypedArray {
  switch (dtype) {
    case 'float32':
      return heap.float32
    case 'float64':
      return heap.float64
    case 'int32':
      return heap.int32
    case 'bool':
      return heap.uint8
  }
}

const PAGE = 65536
const MINIMUM_GROWTH = 1 << 20

/** Makes the linear memory at least `bytes` long; false where the engine refuses. */
export function growTo(bytes: number): boolean {
  const present = memory.buffer.byteLength
  if (bytes <= present) return true
  const wanted = Math.max(bytes, present + Math.max(MINIMUM_GROWTH, present / 4))
  try {
    memory.grow(Math.ceil((wanted - present) / PAGE))
  } catch {
    try {
      memory.grow(Math.ceil((bytes - present) / PAGE))
    } catch {
      return false
    }
  }
  heap.uint8 = new Uint8Array(memory.buffer)
  heap.int32 = new Int32Array(memory.buffer)
  heap.float32 = new Float32Array(memory.buffer)
  heap.float64 = new Float64Array(memory.buffer)
  return true
}
