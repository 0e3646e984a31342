import { ArgumentError, DTypeError, showValue } from '../core/errors.js'
import { Tensor } from '../core/tensor.js'
import { adoptStorage } from '../memory/scope.js'
import { type Entry, headerLength, PREFIX_BYTES, readHeader } from './header.js'
import { showName } from './scanner.js'

/** What a safetensors file holds. */
export interface Safetensors {
  /** The tensors by name, in the header's order. None of them requires a gradient. */
  readonly tensors: Record<string, Tensor>
  /** Texts by name; empty where the file has none. */
  readonly metadata: Record<string, string>
}

/** Where the bytes of a file come from. */
export interface ByteSource {
  /** How many there are. */
  readonly length: number
  /** Those from `begin` up to `end`, which lie within the file, in a buffer of their own. */
  readonly read: (begin: number, end: number) => Uint8Array<ArrayBuffer>
}

/**
 * Reads a file of the safetensors format from its bytes. F32, F64, I32 and BOOL become float32, float64, int32 and
 * bool; F16 and BF16 become float32, exactly; I8, I16, I64, U8, U16, U32 and U64 become int32. The bytes are copied.
 *
 *     const { tensors } = parseSafetensors(await (await fetch('model.safetensors')).arrayBuffer())
 *
 * Source of the format: https://github.com/huggingface/safetensors#format
 *
 * @param bytes an ArrayBuffer, or a view of one (Uint8Array, Node's Buffer)
 * @throws FormatError where the bytes are not what the format prescribes: the message names the tensor and the place.
 *   Checked are the lengths, that every byte of the data belongs to exactly one tensor, names that are there twice,
 *   shapes, dtypes, UTF-8, and booleans other than 0 and 1
 * @throws DTypeError for a dtype that none here can hold (F8, C64 …), and for whole numbers beyond 32 bits
 */
export function parseSafetensors(bytes: ArrayBuffer | ArrayBufferView): Safetensors {
  return readSafetensors('parseSafetensors', bytesOf('parseSafetensors', bytes))
}

/** A byte source of what a user passed as bytes. */
export function bytesOf(op: string, bytes: unknown): ByteSource {
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : bytes instanceof ArrayBuffer
      ? new Uint8Array(bytes)
      : undefined
  if (view === undefined) {
    throw new ArgumentError(`${op}: the bytes must be an ArrayBuffer or a view of one, got ${showValue(bytes)}`)
  }
  return { length: view.length, read: (begin, end) => new Uint8Array(view.subarray(begin, end)) }
}

/** Reads a safetensors file. The numbers stay in the buffers that the source gives, until they are used. */
export function readSafetensors(op: string, source: ByteSource): Safetensors {
  const prefix = source.read(0, Math.min(PREFIX_BYTES, source.length))
  const dataStart = PREFIX_BYTES + headerLength(op, prefix, source.length)
  const { entries, metadata } = readHeader(op, source.read(PREFIX_BYTES, dataStart), source.length - dataStart)
  const tensors = entries.map((entry): [string, Tensor] => {
    const bytes = source.read(dataStart + entry.begin, dataStart + entry.end)
    return [entry.name, decode(op, entry, bytes.buffer)]
  })
  return { tensors: Object.fromEntries(tensors), metadata }
}

function decode(op: string, { name, dtype, shape }: Entry, buffer: ArrayBuffer): Tensor {
  const numbers = dtype.decode(buffer, (index, element) => {
    throw new DTypeError(
      `${op}: the tensor ${showName(name)} has ${element} at place ${index}, which is no ${dtype.dtype}`,
    )
  })
  return new Tensor(adoptStorage(dtype.dtype, numbers), shape, null)
}
