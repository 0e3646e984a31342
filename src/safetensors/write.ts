import { bytesOf, type DType } from '../core/dtype.js'
import { ArgumentError, showValue } from '../core/errors.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { fileNames } from './dtypes.js'
import { LARGEST_HEADER, METADATA, PREFIX_BYTES } from './header.js'
import { isPlainObject } from './plain.js'
import { showName } from './scanner.js'

/**
 * Writes tensors as the bytes of a file of the safetensors format: float32, float64, int32 and bool as F32, F64, I32
 * and BOOL. Other programs read them by the same names (`safetensors.torch.load_file` in Python). Gradients are not
 * written. The same tensors give the same bytes, in the order of the reference implementation: large dtypes first,
 * then by name.
 *
 * Source of the format: https://github.com/huggingface/safetensors#format
 *
 * @param tensors by name, such as a module's `stateDict()`
 * @param metadata texts by name
 * @throws ArgumentError where a value is no tensor, a text no string, or a name one that the format does not allow
 *   (`__metadata__`, `__proto__`, half a surrogate pair)
 */
export function serializeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  return join(writeSafetensors('serializeSafetensors', tensors, metadata))
}

/** The bytes of a file, piece by piece. */
export interface Pieces {
  /** How many bytes there are in all. */
  readonly length: number
  readonly pieces: Iterable<Uint8Array<ArrayBuffer>>
}

/** All pieces in one array. */
export function join({ length, pieces }: Pieces): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let place = 0
  for (const piece of pieces) {
    bytes.set(piece, place)
    place += piece.length
  }
  return bytes
}

/** A safetensors file as pieces: the header, then one tensor after the other, copied when its turn comes. */
export function writeSafetensors(
  op: string,
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>>,
): Pieces {
  const named = entriesOf(op, 'the tensors', tensors)
  for (const [name, value] of named) {
    if (name === METADATA)
      throw new ArgumentError(`${op}: a tensor cannot be called ${METADATA}, pass texts as metadata`)
    checkTensor(op, value, `the tensor ${showName(name)}`)
  }
  named.sort(([a, x], [b, y]) => order(y.dtype) - order(x.dtype) || (a < b ? -1 : 1))
  const texts = entriesOf(op, 'the metadata', metadata)
  for (const [name, text] of texts) {
    if (typeof text !== 'string') {
      throw new ArgumentError(`${op}: metadata are strings, but ${showName(name)} is ${showValue(text)}`)
    }
    checkText(op, `the metadata ${showName(name)}`, text)
  }
  const header = encodeHeader(op, named, texts)
  const length = named.reduce((sum, [, tensor]) => sum + byteLength(tensor), header.length)
  return { length, pieces: piecesOf(header, named) }
}

function* piecesOf(
  header: Uint8Array<ArrayBuffer>,
  named: readonly [string, Tensor][],
): Generator<Uint8Array<ArrayBuffer>> {
  yield header
  for (const [, tensor] of named) yield new Uint8Array(tensor.data.buffer)
}

/** The reference implementation's order of dtypes. */
function order(dtype: DType): number {
  return ['bool', 'int32', 'float32', 'float64'].indexOf(dtype)
}

function byteLength(tensor: Tensor): number {
  return tensor.size * bytesOf(tensor.dtype)
}

function entriesOf<Value>(op: string, what: string, record: Readonly<Record<string, Value>>): [string, Value][] {
  if (!isPlainObject(record)) {
    throw new ArgumentError(`${op}: ${what} must be a plain object of names and values, got ${showValue(record)}`)
  }
  const entries = Object.entries(record)
  for (const [name] of entries) {
    if (name === '__proto__') throw new ArgumentError(`${op}: the name __proto__ in ${what} is not allowed`)
    checkText(op, `the name ${showName(name)} in ${what}`, name)
  }
  return entries
}

function checkText(op: string, what: string, text: string): void {
  if (/\p{Surrogate}/u.test(text)) {
    throw new ArgumentError(`${op}: ${what} has half a surrogate pair, which UTF-8 cannot hold`)
  }
}

function encodeHeader(
  op: string,
  named: readonly [string, Tensor][],
  texts: readonly [string, string][],
): Uint8Array<ArrayBuffer> {
  let place = 0
  const parts = named.map(([name, tensor]) => {
    const begin = place
    place += byteLength(tensor)
    const entry = { dtype: fileNames[tensor.dtype], shape: tensor.shape, data_offsets: [begin, place] }
    return `${JSON.stringify(name)}:${JSON.stringify(entry)}`
  })
  if (texts.length > 0) parts.unshift(`"${METADATA}":${JSON.stringify(Object.fromEntries(texts))}`)
  const text = new TextEncoder().encode(`{${parts.join(',')}}`)
  // Spaces bring the data to a multiple of 8 bytes, where every element may lie.
  const length = Math.ceil(text.length / 8) * 8
  if (length > LARGEST_HEADER) {
    throw new ArgumentError(
      `${op}: names, shapes and metadata take ${length} bytes, and the format allows ${LARGEST_HEADER}; keep long lists of numbers in tensors`,
    )
  }
  const bytes = new Uint8Array(PREFIX_BYTES + length).fill(0x20)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true)
  bytes.set(text, PREFIX_BYTES)
  return bytes
}
