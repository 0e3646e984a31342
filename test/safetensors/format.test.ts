// The safetensors format: round trips, files of the reference implementation, and files that must be refused.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, arange, DTypeError, FormatError, MemoryError, ones, type Shape, tensor } from 'wengert'
import { parseSafetensors, serializeSafetensors } from 'wengert/safetensors'
import { readHeader } from '../../src/safetensors/header.js'
import { expectError, untyped } from '../support/expectations.js'
import { anyMetadata, anyTensors, bitsOf, fileOf, fixture, takeApart } from './files.js'
import { checkpoint, everyDtype } from './ours.js'

describe('round trips', () => {
  test('tensors and metadata come back with the same bits', () => {
    const law = fc.property(anyTensors, anyMetadata, (tensors, metadata) => {
      const bytes = serializeSafetensors(tensors, metadata)
      const back = parseSafetensors(bytes)
      expect(bitsOf(back.tensors)).toEqual(bitsOf(tensors))
      expect(back.metadata).toEqual(metadata)
      expect(serializeSafetensors(back.tensors, back.metadata)).toEqual(bytes)
    })
    fc.assert(law)
  })

  test('data begin at a multiple of 8 bytes, each tensor at a multiple of its element size', () => {
    const law = fc.property(anyTensors, (tensors) => {
      const bytes = serializeSafetensors(tensors)
      const { header, data } = takeApart(bytes)
      expect((bytes.length - data.length) % 8).toBe(0)
      const sizes: Record<string, number> = { F64: 8, F32: 4, I32: 4, BOOL: 1 }
      const entries = Object.values(JSON.parse(header) as Record<string, { dtype: string; data_offsets: number[] }>)
      for (const { dtype, data_offsets } of entries) {
        expect((data_offsets[0] as number) % (sizes[dtype] as number)).toBe(0)
      }
    })
    fc.assert(law)
  })

  test('bytes may be an ArrayBuffer, a part of one at an odd place, or a Buffer', () => {
    const bytes = serializeSafetensors({ x: tensor([1, 2], { dtype: 'float64' }) })
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    for (const same of [
      bytes.buffer,
      shifted.subarray(3),
      Buffer.from(shifted).subarray(3),
      new DataView(shifted.buffer, 3),
    ]) {
      expect(parseSafetensors(same).tensors['x']?.toArray()).toEqual([1, 2])
    }
  })

  test('what was read is independent of the bytes, of other results and of the tensors written', () => {
    const x = tensor([1, 2])
    const bytes = serializeSafetensors({ x })
    const [first, second] = [parseSafetensors(bytes).tensors, parseSafetensors(bytes).tensors]
    bytes.fill(0xff, bytes.length - 8)
    first['x']?.copy_(tensor([3, 4]))
    x.copy_(tensor([5, 6]))
    expect([first['x']?.toArray(), second['x']?.toArray()]).toEqual([
      [3, 4],
      [1, 2],
    ])
  })

  test('a tensor that was read computes, takes gradients and is changed like any other', () => {
    const x = parseSafetensors(serializeSafetensors({ x: tensor([1, 2, 3]) })).tensors['x']?.requiresGrad_()
    x?.square().sum().backward()
    expect(x?.grad?.toArray()).toEqual([2, 4, 6])
    expect(
      x
        ?.detach()
        .copy_(ones([3]))
        .add(1)
        .toArray(),
    ).toEqual([2, 2, 2])
    expect(x?.toArray()).toEqual([1, 1, 1])
  })

  test('names of Object.prototype are names like others', () => {
    const { tensors } = parseSafetensors(serializeSafetensors({ constructor: tensor(1), toString: tensor(2) }))
    expect(Object.keys(tensors).sort()).toEqual(['constructor', 'toString'])
  })
})

interface Described {
  readonly shape: Shape
  readonly data: readonly (number | boolean | 'nan' | 'inf' | '-inf')[]
}

describe('files of the reference implementation', () => {
  const values = JSON.parse(
    readFileSync(new URL('../fixtures/safetensors/values.json', import.meta.url), 'utf8'),
  ) as Record<string, Record<string, Described>>
  const special = { nan: Number.NaN, inf: Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY }
  const ours: Record<string, string> = { F64: 'float64', BOOL: 'bool', F32: 'float32', F16: 'float32', BF16: 'float32' }
  const cases = Object.entries(values).flatMap(([file, tensors]) =>
    Object.entries(tensors).map(([name, described]) => [file, name, described] as const),
  )

  test.each(cases)('%s: %s', (file, name, { shape, data }) => {
    const found = parseSafetensors(fixture(file)).tensors[name]
    expect(found?.shape).toEqual(shape)
    expect(found?.dtype).toBe(ours[name] ?? (/^[IU]/.test(name) ? 'int32' : 'float32'))
    expect([...(found?.data ?? [])]).toEqual(data.map((x) => (typeof x === 'string' ? special[x] : Number(x))))
  })

  test('have these tensors and metadata, and no others', () => {
    for (const [file, tensors] of Object.entries(values)) {
      expect(Object.keys(parseSafetensors(fixture(file)).tensors).sort()).toEqual(Object.keys(tensors).sort())
    }
    expect(parseSafetensors(fixture('torch-dtypes')).metadata).toEqual({ format: 'pt' })
    expect(parseSafetensors(fixture('numpy-unsigned')).metadata).toEqual({})
  })

  test('are written here byte for byte', () => {
    for (const file of ['torch-model', 'torch-attention']) {
      const { tensors, metadata } = parseSafetensors(fixture(file))
      expect(serializeSafetensors(tensors, metadata)).toEqual(fixture(file))
    }
  })

  // check.py beside the fixtures shows that numpy, PyTorch and the reference implementation read these.
  test('read here and there: the files that Python was shown are the files that are written', () => {
    expect(everyDtype()).toEqual(fixture('wengert-dtypes'))
    expect(checkpoint()).toEqual(fixture('wengert-checkpoint'))
  })
})

test('all 65,536 values of both 16-bit formats are read exactly', () => {
  const all = new Uint8Array(Uint16Array.from({ length: 65536 }, (_, i) => i).buffer)
  const header = (dtype: string) => `{"x":{"dtype":"${dtype}","shape":[65536],"data_offsets":[0,131072]}}`
  const half = parseSafetensors(fileOf(header('F16'), all)).tensors['x']?.data
  const brain = parseSafetensors(fileOf(header('BF16'), all)).tensors['x']?.data
  const value = (code: number, exponentBits: number, fractionBits: number) => {
    const sign = code >> 15 === 0 ? 1 : -1
    const exponent = (code >> fractionBits) & (2 ** exponentBits - 1)
    const fraction = (code & (2 ** fractionBits - 1)) / 2 ** fractionBits
    const bias = 2 ** (exponentBits - 1) - 1
    if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
    return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias)
  }
  const codes = [...Array(65536).keys()]
  expect(codes.filter((code) => !Object.is(half?.[code], value(code, 5, 10)))).toEqual([])
  expect(codes.filter((code) => !Object.is(brain?.[code], value(code, 8, 7)))).toEqual([])
})

describe('refused', () => {
  const x = '"dtype":"F32","shape":[2],"data_offsets":[0,8]'
  const entry = (changes: object) =>
    JSON.stringify({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...changes } })
  const two = (a: readonly number[], b: readonly number[]) =>
    JSON.stringify({
      a: { dtype: 'F32', shape: [2], data_offsets: a },
      b: { dtype: 'F32', shape: [2], data_offsets: b },
    })
  const prefix = (length: bigint, rest = 8) => {
    const file = new Uint8Array(8 + rest)
    new DataView(file.buffer).setBigUint64(0, length, true)
    return file
  }

  test('the file from which the refused ones are made is read', () => {
    expect(parseSafetensors(fileOf(entry({}), 8)).tensors['x']?.shape).toEqual([2])
    expect(Object.keys(parseSafetensors(fileOf(two([0, 8], [8, 16]), 16)).tensors)).toEqual(['a', 'b'])
    expect(Object.keys(parseSafetensors(fileOf(two([8, 16], [0, 8]), 16)).tensors)).toEqual(['a', 'b'])
    expect(parseSafetensors(fileOf('{}')).tensors).toEqual({})
    expect(parseSafetensors(fileOf(`{ "x"\t:\n{${x}}\r}   `, 8)).tensors['x']?.shape).toEqual([2])
  })

  const cases: readonly [string, Uint8Array, string | RegExp][] = [
    ['no bytes', new Uint8Array(0), '0 bytes are too few'],
    ['seven bytes', new Uint8Array(7), '7 bytes are too few'],
    ['a header longer than the file', prefix(9n), '9 bytes long in a file of 16'],
    ['a header beyond the limit', prefix(100_000_001n), 'at most 100000000'],
    ['a header of 2⁶⁴ − 1 bytes', prefix(2n ** 64n - 1n), '18446744073709551615 bytes long'],
    ['an empty header', fileOf(''), 'must begin with {'],
    ['a header that begins with a space', fileOf(' {}'), 'must begin with {'],
    ['a header that begins with a byte order mark', fileOf('\ufeff{}'), 'must begin with {'],
    ['a header that is a list', fileOf('[]'), 'must begin with {'],
    ['invalid UTF-8', fileOf(Uint8Array.of(0x7b, 0xff, 0x7d)), 'no valid UTF-8'],
    ['overlong UTF-8', fileOf(Uint8Array.of(0x7b, 0xc0, 0x80, 0x7d)), 'no valid UTF-8'],
    ['a header without end', fileOf('{'), 'got the end'],
    ['something after the header', fileOf('{}x'), 'only spaces'],
    ['a line feed as padding', fileOf('{}\n'), 'only spaces'],
    ['a second header', fileOf('{}{}'), 'only spaces'],
    ['a comma at the end', fileOf(`{"x":{${x}},}`, 8), 'expected a string'],
    ['a name without quotes', fileOf(`{x:{${x}}}`, 8), 'expected a string'],
    ['a string without end', fileOf('{"x'), 'does not end'],
    ['a string that ends in a backslash', fileOf('{"x\\'), 'does not end'],
    ['an unknown escape', fileOf(`{"\\q":{${x}}}`, 8), 'an escape'],
    ['a control character in a name', fileOf(`{"\u0001":{${x}}}`, 8), 'control character'],
    ['half a surrogate pair', fileOf(`{"\\ud800":{${x}}}`, 8), 'half a surrogate pair'],
    ['a tensor twice', fileOf(`{"x":{${x}},"x":{${x}}}`, 8), 'the name "x" is there twice in the header'],
    ['a tensor twice, once escaped', fileOf(`{"x":{${x}},"\\u0078":{${x}}}`, 8), 'the name "x" is there twice'],
    ['a field twice', fileOf(`{"x":{${x},"dtype":"F32"}}`, 8), '"dtype" is there twice in the tensor "x"'],
    ['metadata twice', fileOf('{"__metadata__":{},"__metadata__":{}}'), '"__metadata__" is there twice'],
    ['a text twice', fileOf('{"__metadata__":{"a":"","a":""}}'), '"a" is there twice in __metadata__'],
    ['a tensor called __proto__', fileOf(`{"__proto__":{${x}}}`, 8), '"__proto__" is not allowed'],
    ['a field called __proto__', fileOf(`{"x":{"__proto__":{},${x}}}`, 8), '"__proto__" is not allowed'],
    ['a text called __proto__', fileOf('{"__metadata__":{"__proto__":""}}'), '"__proto__" is not allowed'],
    ['metadata that are a number', fileOf('{"__metadata__":{"a":1}}'), 'the value of "a" in __metadata__'],
    ['metadata that are null', fileOf('{"__metadata__":null}'), 'expected { for __metadata__'],
    ['metadata that are nested', fileOf('{"__metadata__":{"a":{}}}'), 'the value of "a" in __metadata__'],
    ['a tensor that is a list', fileOf('{"x":[]}'), 'expected { for the tensor "x"'],
    ['a tensor that is null', fileOf('{"x":null}'), 'expected { for the tensor "x"'],
    ['an unknown field', fileOf(`{"x":{${x},"more":1}}`, 8), 'has "more" besides'],
    ['no dtype', fileOf(entry({ dtype: undefined }), 8), 'needs dtype, shape and data_offsets'],
    ['no shape', fileOf(entry({ shape: undefined }), 8), 'needs dtype, shape and data_offsets'],
    ['no data_offsets', fileOf(entry({ data_offsets: undefined }), 8), 'needs dtype, shape and data_offsets'],
    ['an unknown dtype', fileOf(entry({ dtype: 'F33' }), 8), 'unknown dtype "F33"'],
    ['a dtype in small letters', fileOf(entry({ dtype: 'f32' }), 8), 'unknown dtype "f32"'],
    ['a dtype of Object.prototype', fileOf(entry({ dtype: 'constructor' }), 8), 'unknown dtype "constructor"'],
    ['a dtype that is a number', fileOf(entry({ dtype: 32 }), 8), 'the dtype of the tensor "x"'],
    ['a negative size', fileOf(entry({ shape: [-2] }), 8), /whole number of at least 0 .* got "-"/],
    ['a size that is no whole number', fileOf(entry({ shape: [0.5] }), 8), 'got "."'],
    [
      'a size with a leading zero',
      fileOf(`{"x":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}}`, 8),
      'whole number',
    ],
    ['a size with an exponent', fileOf(`{"x":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}}`, 8), 'got "e"'],
    ['a size that is a string', fileOf(entry({ shape: ['2'] }), 8), 'whole number'],
    ['a size of 2⁵³', fileOf(entry({ shape: [2 ** 53] }), 8), 'too large a number'],
    [
      'a size of a thousand digits',
      fileOf(`{"x":{"dtype":"F32","shape":[${'9'.repeat(1000)}]}}`),
      'too large a number',
    ],
    ['sizes whose product overflows', fileOf(entry({ shape: [2 ** 30, 2 ** 30, 2 ** 30] }), 8), 'too large to count'],
    ['sizes whose product would wrap to 2', fileOf(entry({ shape: [2 ** 32, 2 ** 32, 2] }), 8), 'too large to count'],
    ['a shape that is a number', fileOf(entry({ shape: 2 }), 8), 'expected [ for the shape'],
    ['201 axes', fileOf(entry({ shape: Array(201).fill(1) }), 8), 'more than 200 numbers'],
    ['nested lists', fileOf(entry({ shape: [[2]] }), 8), 'whole number'],
    ['very deep lists', fileOf(`{"x":${'['.repeat(1_000_000)}`), 'expected {'],
    ['very deep objects', fileOf('{"x":'.repeat(200_000)), 'besides'],
    ['one offset', fileOf(entry({ data_offsets: [8] }), 8), 'must be [begin, end], got [8]'],
    ['three offsets', fileOf(entry({ data_offsets: [0, 8, 8] }), 8), 'more than 2 numbers'],
    ['offsets in the wrong order', fileOf(entry({ data_offsets: [8, 0] }), 8), 'must be [begin, end], got [8, 0]'],
    ['a range too short for the shape', fileOf(entry({ data_offsets: [0, 4] }), 4), 'needs 8 bytes'],
    ['a range too long for the shape', fileOf(entry({ data_offsets: [0, 12] }), 12), 'needs 8 bytes'],
    ['a range beyond the end', fileOf(entry({}), 7), 'there are 7 bytes'],
    ['bytes that are no tensor’s at the end', fileOf(entry({}), 9), 'the last 1 of 9 bytes'],
    ['bytes but no tensor', fileOf('{}', 3), 'the last 3 of 3 bytes'],
    ['a hole at the beginning', fileOf(entry({ data_offsets: [4, 12] }), 12), "bytes 0 to 4 are no tensor's"],
    ['a hole between', fileOf(two([0, 8], [12, 20]), 20), "bytes 8 to 12 are no tensor's"],
    ['overlapping ranges', fileOf(two([0, 8], [4, 12]), 12), 'overlaps "a", which ends at 8'],
    ['the same range twice', fileOf(two([0, 8], [0, 8]), 8), 'overlaps "a"'],
    [
      'an empty tensor inside another',
      fileOf(`{"x":{${x}},"e":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, 8),
      'overlaps "x"',
    ],
  ]

  test.each(cases)('%s', (_, bytes, says) => {
    expectError(() => parseSafetensors(bytes), FormatError, 'parseSafetensors', says)
  })

  test('numbers that no dtype here can hold', () => {
    const one = (dtype: string, bytes: readonly number[]) =>
      fileOf(`{"x":{"dtype":"${dtype}","shape":[1],"data_offsets":[0,${bytes.length}]}}`, Uint8Array.from(bytes))
    const refused: readonly [string, readonly number[], string][] = [
      ['BOOL', [2], 'has 2 at place 0, which is no bool'],
      ['I64', [0, 0, 0, 128, 0, 0, 0, 0], 'has 2147483648 at place 0, which is no int32'],
      ['I64', [255, 255, 255, 127, 255, 255, 255, 255], 'has -2147483649 at place 0'],
      ['U64', [0, 0, 0, 128, 0, 0, 0, 0], 'has 2147483648 at place 0'],
      ['U64', Array(8).fill(255), 'has 18446744073709551615 at place 0'],
      ['U32', [0, 0, 0, 128], 'has 2147483648 at place 0'],
      ['F8_E4M3', [0], 'is F8_E4M3, which no dtype here can hold'],
      ['C64', Array(8).fill(0), 'is C64, which no dtype here can hold'],
      ['F4', [0], 'is F4, which no dtype here can hold'],
    ]
    for (const [dtype, bytes, says] of refused) {
      expectError(() => parseSafetensors(one(dtype, bytes)), DTypeError, 'parseSafetensors', says)
    }
  })

  test('a tensor with more numbers than can be counted', () => {
    const count = 2 ** 31
    const header = `{"x":{"dtype":"U8","shape":[${count}],"data_offsets":[0,${count}]}}`
    expectError(
      () => readHeader('op', new TextEncoder().encode(header), count),
      MemoryError,
      'op',
      '2147483648 numbers',
    )
  })

  test('a name of a million letters is not repeated in the message', () => {
    try {
      parseSafetensors(fileOf(`{"${'x'.repeat(1_000_000)}":1}`))
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError)
      expect((error as FormatError).message.length).toBeLessThan(300)
    }
  })

  test('what is not bytes', () => {
    for (const wrong of [undefined, null, 'text', [1, 2], {}]) {
      expectError(() => parseSafetensors(untyped(wrong)), ArgumentError, 'parseSafetensors', 'ArrayBuffer')
    }
  })

  test('what cannot be written', () => {
    const wrong: readonly [unknown, unknown, string][] = [
      [null, {}, 'the tensors must be a plain object'],
      [[tensor(1)], {}, 'the tensors must be a plain object'],
      [new Map([['x', tensor(1)]]), {}, 'the tensors must be a plain object'],
      [{ x: 1 }, {}, 'the tensor "x" must be a tensor'],
      [{ __metadata__: tensor(1) }, {}, 'cannot be called __metadata__'],
      [JSON.parse('{"__proto__":1}'), {}, '__proto__'],
      [{ '\ud800': tensor(1) }, {}, 'half a surrogate pair'],
      [{}, { a: 1 }, '"a" is 1'],
      [{}, { a: '\udc00' }, 'half a surrogate pair'],
      [{}, null, 'the metadata must be a plain object'],
      [{}, { a: 'x'.repeat(100_000_001) }, 'the format allows 100000000'],
    ]
    for (const [tensors, metadata, says] of wrong) {
      expectError(
        () => serializeSafetensors(untyped(tensors), untyped(metadata)),
        ArgumentError,
        'serializeSafetensors',
        says,
      )
    }
  })
})

test('large tensors keep their numbers through the arena', () => {
  const x = arange(3_000_000).to('float32')
  const back = parseSafetensors(serializeSafetensors({ x })).tensors['x']
  expect(back?.sub(x).abs().max().item()).toBe(0)
})
