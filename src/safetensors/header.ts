// The header of a safetensors file: which tensors there are, and where their bytes lie.
// Source of the format: https://github.com/huggingface/safetensors#format
import { FormatError, MemoryError } from '../core/errors.js'
import { LARGEST_COUNT, MAXIMUM_RANK, showShape } from '../core/shape.js'
import { type FileDType, fileDType } from './dtypes.js'
import { Scanner, showName } from './scanner.js'

/** The length of the header stands before it, as a 64-bit whole number. */
export const PREFIX_BYTES = 8
/** The reference implementation's limit. */
export const LARGEST_HEADER = 100_000_000
/** The name that is no tensor's. */
export const METADATA = '__metadata__'

/** A tensor in a file. */
export interface Entry {
  readonly name: string
  readonly dtype: FileDType
  readonly shape: readonly number[]
  /** Where its bytes begin and end, counted from the end of the header. */
  readonly begin: number
  readonly end: number
}

export interface Header {
  readonly entries: readonly Entry[]
  readonly metadata: Record<string, string>
}

/** How long the header is, by the first 8 of the file's bytes; `fileBytes` is how long the file is. */
export function headerLength(op: string, prefix: Uint8Array, fileBytes: number): number {
  if (fileBytes < PREFIX_BYTES) {
    throw new FormatError(
      `${op}: ${fileBytes} bytes are too few for a safetensors file, which begins with 8 of a length`,
    )
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset, PREFIX_BYTES).getBigUint64(0, true)
  if (length > LARGEST_HEADER) {
    throw new FormatError(
      `${op}: the header would be ${length} bytes long, and at most ${LARGEST_HEADER} are allowed; is this a safetensors file?`,
    )
  }
  if (PREFIX_BYTES + Number(length) > fileBytes) {
    throw new FormatError(
      `${op}: the header would be ${length} bytes long in a file of ${fileBytes}; is the file cut off?`,
    )
  }
  return Number(length)
}

/** Reads a header and checks all that it says; `dataBytes` is how many bytes there are behind it. */
export function readHeader(op: string, bytes: Uint8Array, dataBytes: number): Header {
  const scanner = new Scanner(op, decodeText(op, bytes))
  const entries: Entry[] = []
  let metadata: Record<string, string> = {}
  scanner.object('the header', (name) => {
    if (name === METADATA) metadata = readMetadata(scanner)
    else entries.push(readEntry(scanner, name))
  })
  if (!scanner.atEnd) throw scanner.error('only spaces may follow the closing }')
  checkCover(op, entries, dataBytes)
  return { entries, metadata }
}

function decodeText(op: string, bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (text.startsWith('{')) return text
  } catch {
    throw new FormatError(`${op}: the header is no valid UTF-8`)
  }
  throw new FormatError(`${op}: the header must begin with {; is this a safetensors file?`)
}

function readMetadata(scanner: Scanner): Record<string, string> {
  const found: [string, string][] = []
  scanner.object(METADATA, (name) => {
    found.push([name, scanner.string(`the value of ${showName(name)} in ${METADATA}`)])
  })
  return Object.fromEntries(found)
}

function readEntry(scanner: Scanner, name: string): Entry {
  const what = `the tensor ${showName(name)}`
  let dtype: string | undefined
  let shape: number[] | undefined
  let offsets: number[] | undefined
  scanner.object(what, (key) => {
    if (key === 'dtype') dtype = scanner.string(`the dtype of ${what}`)
    else if (key === 'shape') shape = scanner.wholeNumbers(`the shape of ${what}`, MAXIMUM_RANK)
    else if (key === 'data_offsets') offsets = scanner.wholeNumbers(`the data_offsets of ${what}`, 2)
    else throw scanner.error(`${what} has ${showName(key)} besides dtype, shape and data_offsets`)
  })
  if (dtype === undefined || shape === undefined || offsets === undefined) {
    throw scanner.error(`${what} needs dtype, shape and data_offsets`)
  }
  const [begin, end] = offsets
  if (begin === undefined || end === undefined || begin > end) {
    throw scanner.error(`the data_offsets of ${what} must be [begin, end], got [${offsets.join(', ')}]`)
  }
  const entry = { name, dtype: fileDType(scanner.op, name, dtype), shape, begin, end }
  checkSize(scanner, what, entry)
  return entry
}

function checkSize(scanner: Scanner, what: string, { dtype, shape, begin, end }: Entry): void {
  let count = 1
  for (const size of shape) {
    count *= size
    if (!Number.isSafeInteger(count)) throw scanner.error(`${what} of shape ${showShape(shape)} is too large to count`)
  }
  if (end - begin !== count * dtype.bytes) {
    const needed = `${what} of shape ${showShape(shape)} needs ${count * dtype.bytes} bytes`
    throw scanner.error(`${needed}, but its data_offsets [${begin}, ${end}] span ${end - begin}`)
  }
  if (count > LARGEST_COUNT) {
    throw new MemoryError(`${scanner.op}: ${what} has ${count} numbers; one tensor holds at most ${LARGEST_COUNT}`)
  }
}

/** Every byte belongs to one tensor. */
function checkCover(op: string, entries: readonly Entry[], dataBytes: number): void {
  let covered = 0
  let before = ''
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    const what = `${op}: the tensor ${showName(name)} at bytes ${begin} to ${end} of the data`
    if (begin < covered) throw new FormatError(`${what} overlaps ${showName(before)}, which ends at ${covered}`)
    if (begin > covered) throw new FormatError(`${what} leaves a hole: bytes ${covered} to ${begin} are no tensor's`)
    if (end > dataBytes) {
      throw new FormatError(`${what} reaches beyond the end: there are ${dataBytes} bytes; is the file cut off?`)
    }
    covered = end
    before = name
  }
  if (covered < dataBytes) {
    throw new FormatError(`${op}: the last ${dataBytes - covered} of ${dataBytes} bytes of data are no tensor's`)
  }
}
