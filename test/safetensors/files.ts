// Files made by hand, and state dicts of all kinds.
import { readFileSync } from 'node:fs'
import fc, { type Arbitrary } from 'fast-check'
import { type DType, type Tensor, tensor } from '../../src/index.js'

/** A fixture's bytes. */
export function fixture(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(new URL(`../fixtures/safetensors/${name}.safetensors`, import.meta.url)))
}

/** A file of a header as it stands, and data of so many zero bytes or these. */
export function fileOf(header: string | Uint8Array, data: number | Uint8Array = 0): Uint8Array<ArrayBuffer> {
  const text = typeof header === 'string' ? new TextEncoder().encode(header) : header
  const content = typeof data === 'number' ? new Uint8Array(data) : data
  const file = new Uint8Array(8 + text.length + content.length)
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true)
  file.set(text, 8)
  file.set(content, 8 + text.length)
  return file
}

/** The header's text and the data of a valid file. */
export function takeApart(file: Uint8Array): { header: string; data: Uint8Array<ArrayBuffer> } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const end = 8 + Number(view.getBigUint64(0, true))
  return { header: new TextDecoder().decode(file.subarray(8, end)), data: new Uint8Array(file.subarray(end)) }
}

const names = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('model.0.weight', '', '"', '\\', '0', 'constructor', 'toString', 'a.b', '\u0000', '\n'),
)

const values: Readonly<Record<DType, Arbitrary<number>>> = {
  float32: fc.float(),
  float64: fc.double(),
  int32: fc.integer(),
  bool: fc.nat(1),
}

const anyTensor = fc
  .tuple(
    fc.constantFrom<DType>('float32', 'float64', 'int32', 'bool'),
    fc.array(fc.nat(3), { maxLength: 3 }),
    fc.nat(2),
  )
  .chain(([dtype, shape, turned]) => {
    const length = shape.reduce((product, size) => product * size, 1)
    return fc.array(values[dtype], { minLength: length, maxLength: length }).map((numbers) => {
      const made = tensor(numbers, { dtype, shape })
      return turned === 1 && shape.length > 1 ? made.transpose() : made
    })
  })

/** Tensors of every dtype by names of all kinds, some of them views. */
export const anyTensors: Arbitrary<Record<string, Tensor>> = fc.dictionary(
  names.filter((name) => name !== '__metadata__' && name !== '__proto__'),
  anyTensor,
  { maxKeys: 5 },
)

/** Texts by name. */
export const anyMetadata: Arbitrary<Record<string, string>> = fc.dictionary(
  names.filter((name) => name !== '__proto__'),
  fc.string({ unit: 'grapheme' }),
  { maxKeys: 3 },
)

/** What equal tensors have in common: dtype, shape and every bit. */
export function bitsOf(tensors: Readonly<Record<string, Tensor>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => [
      name,
      { dtype, shape, bytes: [...new Uint8Array(data.buffer)] },
    ]),
  )
}
