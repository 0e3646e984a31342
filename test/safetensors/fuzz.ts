// Damaged files: each must be read consistently, or be refused with an error of the library's.
import fc, { type Arbitrary } from 'fast-check'
import { isTensor, WengertError } from '../../src/index.js'
import {
  parseCheckpoint,
  parseSafetensors,
  serializeCheckpoint,
  serializeSafetensors,
} from '../../src/safetensors/index.js'
import { anyMetadata, anyTensors, bitsOf, fileOf, takeApart } from './files.js'

/** What became of the damaged files. */
export interface Tally {
  read: number
  /** How many were refused, by what the message said, without names and numbers. */
  readonly refused: Map<string, number>
}

type Damage = (file: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>

/** A place in what has a length, as a share of it, so that it fits any file. */
const share = fc.noBias(fc.nat(2 ** 30 - 1).map((n) => n / 2 ** 30))
const placed = (length: number, at: number) => Math.floor(at * length)

function splice(file: Uint8Array, at: number, removed: number, inserted: ArrayLike<number>): Uint8Array<ArrayBuffer> {
  const rest = file.subarray(Math.min(file.length, at + removed))
  const result = new Uint8Array(at + inserted.length + rest.length)
  result.set(file.subarray(0, at))
  result.set(inserted, at)
  result.set(rest, at + inserted.length)
  return result
}

/** Bytes changed, removed, inserted or repeated anywhere; the length before the header changed. */
const bytewise: Arbitrary<Damage> = fc.oneof(
  fc.tuple(share, fc.nat(255)).map(
    ([at, byte]): Damage =>
      (file) =>
        splice(file, placed(file.length, at), 1, [byte]),
  ),
  fc.tuple(share, fc.nat(7)).map(
    ([at, bit]): Damage =>
      (file) =>
        file.map((byte, i) => (i === placed(file.length, at) ? byte ^ (1 << bit) : byte)),
  ),
  share.map(
    (at): Damage =>
      (file) =>
        file.slice(0, placed(file.length, at)),
  ),
  fc.tuple(share, fc.integer({ min: 1, max: 16 })).map(
    ([at, count]): Damage =>
      (file) =>
        splice(file, placed(file.length, at), count, []),
  ),
  fc.tuple(share, fc.uint8Array({ minLength: 1, maxLength: 16 })).map(
    ([at, bytes]): Damage =>
      (file) =>
        splice(file, placed(file.length, at), 0, bytes),
  ),
  fc.tuple(share, share, fc.integer({ min: 1, max: 64 })).map(
    ([from, at, count]): Damage =>
      (file) => {
        const start = placed(file.length, from)
        return splice(file, placed(file.length, at), 0, file.slice(start, start + count))
      },
  ),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(
    (length): Damage =>
      (file) =>
        splice(file, 0, 8, new Uint8Array(BigUint64Array.of(length).buffer)),
  ),
)

const extremes = [
  ...['-1', '0', '00', '1', '0.5', '1e3', '4294967296', '9007199254740991', '9007199254740992', '1e400'],
  ...[
    `${'9'.repeat(400)}`,
    '-0',
    'null',
    'true',
    '""',
    '"F32"',
    '"F16"',
    '"I64"',
    '"BOOL"',
    '"C64"',
    '{}',
    '[]',
    '[0]',
  ],
  ...[
    '"__proto__"',
    '"__metadata__"',
    '"\\u0000"',
    '"\\ud800"',
    '"shape"',
    '[[[[[[[[[[',
    '{"a":{"a":{"a":',
    ',',
    ':',
    '',
  ],
  ...['{"$tensor":"x"}', '{"$number":"NaN"}', '{\\"$tensor\\":\\"x\\"}', '{\\"$number\\":\\"1\\"}', '\\"$$\\":1'],
]

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+|[{}[\]:,]/g

/** A token of a text replaced, doubled, removed or exchanged with another. */
const tokenwise: Arbitrary<(text: string) => string> = fc
  .tuple(share, share, fc.constantFrom('replace', 'double', 'remove', 'exchange'), fc.constantFrom(...extremes))
  .map(([first, second, kind, extreme]) => (text) => {
    const tokens = [...text.matchAll(TOKEN)]
    const [a, b] = [tokens[placed(tokens.length, first)], tokens[placed(tokens.length, second)]]
    if (a === undefined || b === undefined) return text
    const put = (other: string) => text.slice(0, a.index) + other + text.slice(a.index + a[0].length)
    return { replace: put(extreme), double: put(a[0] + a[0]), remove: put(''), exchange: put(b[0]) }[kind]
  })

/** The header damaged, its length and the data true. */
const inHeader = tokenwise.map((damage): Damage => {
  return (file) => {
    const { header, data } = takeApart(file)
    return fileOf(damage(header), data)
  }
})

/** A tensor's place moved, its length true, and bytes added to the data. */
const moved = fc.tuple(share, fc.integer({ min: -8, max: 8 }), fc.nat(16)).map(([which, by, more]): Damage => {
  return (file) => {
    const { header, data } = takeApart(file)
    const entries = [...header.matchAll(/"data_offsets":\[(\d+),(\d+)\]/g)]
    const entry = entries[placed(entries.length, which)]
    if (entry === undefined) return file
    const [begin, end] = entry.slice(1).map((offset) => Math.max(0, Number(offset) + by))
    const put = `"data_offsets":[${begin},${end}]`
    const changed = header.slice(0, entry.index) + put + header.slice(entry.index + entry[0].length)
    return fileOf(changed, splice(data, data.length, 0, new Uint8Array(more)))
  }
})

/** The plain values of a checkpoint damaged within a valid file. */
const inState = tokenwise.map((damage): Damage => {
  return (file) => {
    const { tensors, metadata } = parseSafetensors(file)
    return serializeSafetensors(tensors, { ...metadata, state: damage(metadata['state'] ?? '') })
  }
})

const damages = fc.oneof(
  { weight: 2, arbitrary: bytewise.map((damage) => [damage]) },
  { weight: 4, arbitrary: inHeader.map((damage) => [damage]) },
  { weight: 1, arbitrary: moved.map((damage) => [damage]) },
  { weight: 2, arbitrary: inState.map((damage) => [damage]) },
  { weight: 1, arbitrary: fc.tuple(inHeader, bytewise) },
)

const safetensorsFiles = fc
  .tuple(anyTensors, anyMetadata)
  .map(([tensors, metadata]) => serializeSafetensors(tensors, metadata))

const { state } = fc.letrec<{ state: unknown; value: unknown }>((tie) => ({
  state: fc.dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.double(),
    fc.string(),
    fc.constant(null),
    fc.boolean(),
    anyTensors.map((tensors) => Object.values(tensors)),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('state'),
  ),
}))

/** States that a checkpoint can hold. */
export const anyState = (state as Arbitrary<Record<string, unknown>>).filter(
  (value) => !JSON.stringify(value).includes('__proto__'),
)

/** Reads a damaged file twice, and what was read once more through another file. */
function tryRead(file: Uint8Array, read: (file: Uint8Array) => unknown, again: (value: unknown) => unknown, to: Tally) {
  let value: unknown
  try {
    value = read(file)
  } catch (error) {
    if (!(error instanceof WengertError)) throw error
    const kind = error.message.replace(/"(?:[^"\\]|\\.)*"/g, '…').replace(/\([\d, ]*\)|\[[\d, ]*\]|-?\d+/g, '#')
    to.refused.set(kind, (to.refused.get(kind) ?? 0) + 1)
    return
  }
  to.read++
  const seen = comparable(value)
  if (seen !== comparable(read(file)) || seen !== comparable(again(value))) {
    throw new Error('a damaged file was read, but not the same each time')
  }
}

/** A text that is the same for the same values, to the bit, in whatever order their names are. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === 'number') return Object.is(item, -0) ? '-0' : String(item)
    if (isTensor(item)) return Object.entries(bitsOf({ tensor: item }))
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/**
 * Damages that many valid files, safetensors and checkpoints in turn, and reads them.
 *
 * @throws where one is read inconsistently, or refused with an error that is not the library's; with the seed
 */
export function fuzz(count: number, seed: number): Tally {
  const tally: Tally = { read: 0, refused: new Map() }
  const asWritten = (value: unknown) => {
    const { tensors, metadata } = value as ReturnType<typeof parseSafetensors>
    return parseSafetensors(serializeSafetensors(tensors, metadata))
  }
  const asState = (value: unknown) => parseCheckpoint(serializeCheckpoint(value as object))
  const property = (
    files: Arbitrary<Uint8Array<ArrayBuffer>>,
    read: (file: Uint8Array) => unknown,
    again: (value: unknown) => unknown,
  ) =>
    fc.property(files, damages, (file, steps) => {
      tryRead(
        steps.reduce((damaged, damage) => damage(damaged), file),
        read,
        again,
        tally,
      )
    })
  const half = Math.ceil(count / 2)
  fc.assert(property(safetensorsFiles, parseSafetensors, asWritten), { numRuns: half, seed })
  fc.assert(property(anyState.map(serializeCheckpoint), parseCheckpoint, asState), { numRuns: count - half, seed })
  return tally
}
