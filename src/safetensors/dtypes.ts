// The dtypes of the format, and how their bytes become numbers of ours. The format is little-endian, as the engines
// that run WebAssembly are, and elements are read through typed arrays.
import type { DType, TypedArray } from '../core/dtype.js'
import { DTypeError, FormatError } from '../core/errors.js'
import { showName } from './scanner.js'

/** Throws: the element at this index is no number of the dtype that it is read into. */
type Refuse = (index: number, element: string) => never

/** A dtype of the format that can be read. */
export interface FileDType {
  /** Size of an element in the file. */
  readonly bytes: number
  /** The dtype of the tensor. */
  readonly dtype: DType
  /** The numbers of a buffer that holds the elements and nothing else, and that may become part of the result. */
  readonly decode: (buffer: ArrayBuffer, refuse: Refuse) => TypedArray
}

const readable: Readonly<Record<string, FileDType>> = {
  F64: { bytes: 8, dtype: 'float64', decode: (buffer) => new Float64Array(buffer) },
  F32: { bytes: 4, dtype: 'float32', decode: (buffer) => new Float32Array(buffer) },
  F16: { bytes: 2, dtype: 'float32', decode: fromFloat16 },
  BF16: { bytes: 2, dtype: 'float32', decode: fromBrainFloat16 },
  I64: { bytes: 8, dtype: 'int32', decode: fromInt64 },
  U64: { bytes: 8, dtype: 'int32', decode: fromUint64 },
  I32: { bytes: 4, dtype: 'int32', decode: (buffer) => new Int32Array(buffer) },
  U32: { bytes: 4, dtype: 'int32', decode: fromUint32 },
  I16: { bytes: 2, dtype: 'int32', decode: (buffer) => Int32Array.from(new Int16Array(buffer)) },
  U16: { bytes: 2, dtype: 'int32', decode: (buffer) => Int32Array.from(new Uint16Array(buffer)) },
  I8: { bytes: 1, dtype: 'int32', decode: (buffer) => Int32Array.from(new Int8Array(buffer)) },
  U8: { bytes: 1, dtype: 'int32', decode: (buffer) => Int32Array.from(new Uint8Array(buffer)) },
  BOOL: { bytes: 1, dtype: 'bool', decode: fromBool },
}

/** The rest of the format's dtypes. */
const UNREADABLE = ['C64', 'F8_E5M2', 'F8_E4M3', 'F8_E8M0', 'F8_E4M3FNUZ', 'F8_E5M2FNUZ', 'F6_E2M3', 'F6_E3M2', 'F4']

/** How each dtype of ours is called in the format. */
export const fileNames: Readonly<Record<DType, string>> = {
  float64: 'F64',
  float32: 'F32',
  int32: 'I32',
  bool: 'BOOL',
}

/** The dtype of the format with this name. */
export function fileDType(op: string, tensor: string, name: string): FileDType {
  if (Object.hasOwn(readable, name)) return readable[name] as FileDType
  const known = `${Object.keys(readable).join(', ')} can be read`
  if (UNREADABLE.includes(name)) {
    throw new DTypeError(`${op}: the tensor ${showName(tensor)} is ${name}, which no dtype here can hold; ${known}`)
  }
  throw new FormatError(`${op}: the tensor ${showName(tensor)} has the unknown dtype ${showName(name)}; ${known}`)
}

/**
 * IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction. binary32 has the bias 127 and 23 bits of
 * fraction, so every value is exact.
 */
function fromFloat16(buffer: ArrayBuffer): TypedArray {
  const halves = new Uint16Array(buffer)
  const result = new Float32Array(halves.length)
  const bits = new Uint32Array(result.buffer)
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i] as number
    const sign = (half & 0x8000) << 16
    const exponent = (half >> 10) & 0x1f
    const fraction = half & 0x3ff
    if (exponent === 0) result[i] = (sign === 0 ? fraction : -fraction) * 2 ** -24
    else bits[i] = sign | ((exponent === 0x1f ? 0xff : exponent + 112) << 23) | (fraction << 13)
  }
  return result
}

/** bfloat16: the upper half of a binary32. */
function fromBrainFloat16(buffer: ArrayBuffer): TypedArray {
  const halves = new Uint16Array(buffer)
  const result = new Float32Array(halves.length)
  const bits = new Uint32Array(result.buffer)
  for (let i = 0; i < halves.length; i++) bits[i] = (halves[i] as number) << 16
  return result
}

function fromInt64(buffer: ArrayBuffer, refuse: Refuse): TypedArray {
  const show = (index: number) => String(new BigInt64Array(buffer)[index])
  return fromPairs(
    buffer,
    (low, high) => high === low >> 31,
    (index) => refuse(index, show(index)),
  )
}

function fromUint64(buffer: ArrayBuffer, refuse: Refuse): TypedArray {
  const show = (index: number) => String(new BigUint64Array(buffer)[index])
  return fromPairs(
    buffer,
    (low, high) => high === 0 && low >= 0,
    (index) => refuse(index, show(index)),
  )
}

/** The lower 32 bits of 64-bit whole numbers, where `fits` holds for both halves. */
function fromPairs(
  buffer: ArrayBuffer,
  fits: (low: number, high: number) => boolean,
  refuse: (index: number) => never,
): TypedArray {
  const halves = new Int32Array(buffer)
  const result = new Int32Array(halves.length / 2)
  for (let i = 0; i < result.length; i++) {
    const low = halves[2 * i] as number
    if (!fits(low, halves[2 * i + 1] as number)) refuse(i)
    result[i] = low
  }
  return result
}

function fromUint32(buffer: ArrayBuffer, refuse: Refuse): TypedArray {
  const result = new Int32Array(buffer)
  const wrong = result.findIndex((value) => value < 0)
  if (wrong >= 0) refuse(wrong, String((result[wrong] as number) >>> 0))
  return result
}

function fromBool(buffer: ArrayBuffer, refuse: Refuse): TypedArray {
  const result = new Uint8Array(buffer)
  const wrong = result.findIndex((value) => value > 1)
  if (wrong >= 0) refuse(wrong, String(result[wrong]))
  return result
}
