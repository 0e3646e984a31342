import { ArgumentError, DTypeError } from './errors.js'

/** The kinds of numbers a tensor holds. `bool` values are 0 or 1. */
export type DType = 'float32' | 'float64' | 'int32' | 'bool'

/** The typed arrays that carry a tensor's numbers to and from JavaScript; `bool` travels as `Uint8Array`. */
export type TypedArray =
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>

interface DTypeFacts {
  readonly bytes: number
  /** The kernels' suffix for this dtype. */
  readonly suffix: 'f32' | 'f64' | 'i32' | 'u8'
  /** Place in the order of promotion. */
  readonly rank: number
  readonly array: {
    new (length: number): TypedArray
    new (numbers: ArrayLike<number>): TypedArray
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray
  }
}

const facts: Readonly<Record<DType, DTypeFacts>> = {
  bool: { bytes: 1, suffix: 'u8', rank: 0, array: Uint8Array as DTypeFacts['array'] },
  int32: { bytes: 4, suffix: 'i32', rank: 1, array: Int32Array as DTypeFacts['array'] },
  float32: { bytes: 4, suffix: 'f32', rank: 2, array: Float32Array as DTypeFacts['array'] },
  float64: { bytes: 8, suffix: 'f64', rank: 3, array: Float64Array as DTypeFacts['array'] },
}

/** A switch, because looking a property up by a name that varies is slow. */
function factsOf(dtype: DType): DTypeFacts {
  switch (dtype) {
    case 'float32':
      return facts.float32
    case 'float64':
      return facts.float64
    case 'int32':
      return facts.int32
    case 'bool':
      return facts.bool
  }
}

export function bytesOf(dtype: DType): number {
  return factsOf(dtype).bytes
}

export function suffixOf(dtype: DType): DTypeFacts['suffix'] {
  return factsOf(dtype).suffix
}

export function arrayOf(dtype: DType): DTypeFacts['array'] {
  return factsOf(dtype).array
}

export function isFloating(dtype: DType): boolean {
  return dtype === 'float32' || dtype === 'float64'
}

/** The dtype that holds both: bool < int32 < float32 < float64. */
export function promoteTypes(a: DType, b: DType): DType {
  return a === b || factsOf(a).rank >= factsOf(b).rank ? a : b
}

/** Throws unless `dtype` names one. */
export function checkDType(op: string, dtype: unknown): asserts dtype is DType {
  if (typeof dtype !== 'string' || !Object.hasOwn(facts, dtype)) {
    throw new ArgumentError(`${op}: ${String(dtype)} is no dtype; use 'float32', 'float64', 'int32' or 'bool'`)
  }
}

/** Throws unless `dtype` is a floating one. */
export function checkFloating(op: string, dtype: DType): void {
  if (!isFloating(dtype)) {
    throw new DTypeError(`${op}: needs float32 or float64, got ${dtype}; convert first, for example x.to('float32')`)
  }
}
