// Checkpoints as bytes: what comes back, what is refused.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, arange, FormatError, ones, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention, Parameter, type StateDict } from 'wengert/nn'
import { parseCheckpoint, parseSafetensors, serializeCheckpoint, serializeSafetensors } from 'wengert/safetensors'
import { expectError, untyped } from '../support/expectations.js'
import { bitsOf } from './files.js'
import { anyState } from './fuzz.js'

/** The same value with tensors as their bits. */
function seen(value: unknown): unknown {
  return value !== null && typeof value === 'object' && 'storage' in value
    ? bitsOf({ tensor: value as Tensor })
    : Array.isArray(value)
      ? value.map(seen)
      : value !== null && typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, seen(item)]))
        : value
}

describe('a state comes back', () => {
  test('whatever it is made of, to the bit', () => {
    const law = fc.property(anyState, (state) => {
      expect(seen(parseCheckpoint(serializeCheckpoint(state)))).toEqual(seen(state))
    })
    fc.assert(law)
  })

  test('with the numbers that JSON has not', () => {
    const state = {
      numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 5e-324, 2 ** 53 + 2],
    }
    expect(parseCheckpoint(serializeCheckpoint(state))).toEqual(state)
  })

  test('with names that the encoding uses, and such as meet in one name of a tensor', () => {
    const state = {
      $tensor: 'a',
      $number: 'NaN',
      $$number: { $tensor: tensor(1) },
      'a.b': tensor(2),
      a: { b: tensor(3), 'b.': tensor(4) },
      __metadata__: tensor(5),
      constructor: 1,
      '': { '': tensor(6) },
      '\ud800': tensor(7),
      '\ufffd': { '\ud800': '\udc00' },
      '\udc00': tensor(8),
    }
    expect(seen(parseCheckpoint(serializeCheckpoint(state)))).toEqual(seen(state))
  })

  test('without fields that are undefined', () => {
    expect(parseCheckpoint(serializeCheckpoint({ a: undefined, b: { c: undefined } }))).toEqual({ b: {} })
  })

  test('with a tensor in two places as one, and a parameter as a plain tensor', () => {
    const shared = new Parameter(tensor([1, 2]))
    const bytes = serializeCheckpoint({ first: shared, second: [shared] })
    const { first, second } = parseCheckpoint<{ first: Tensor; second: [Tensor] }>(bytes)
    expect(first).toBe(second[0])
    expect([first instanceof Parameter, first.requiresGrad, first.toArray()]).toEqual([false, false, [1, 2]])
    expect(Object.keys(parseSafetensors(bytes).tensors)).toEqual(['first'])
  })

  test('into a module', () => {
    const [layer, other] = [1, 2].map(() => new MultiHeadAttention({ embedDim: 4, numHeads: 2, bias: true }))
    const saved = parseCheckpoint<{ model: StateDict }>(serializeCheckpoint({ model: layer?.stateDict() }))
    other?.loadStateDict(saved.model)
    expect(bitsOf(other?.stateDict() ?? {})).toEqual(bitsOf(layer?.stateDict() ?? {}))
  })

  test('under names that tell other programs the place of each tensor', () => {
    const bytes = serializeCheckpoint({
      model: { weight: ones([2]) },
      optimizer: { state: [arange(3), { m: ones([]) }] },
    })
    const names = ['model.weight', 'optimizer.state.0', 'optimizer.state.1.m']
    expect(Object.keys(parseSafetensors(bytes).tensors).sort()).toEqual(names)
  })
})

describe('refused in a state', () => {
  const circular: Record<string, unknown> = {}
  circular['again'] = [circular]
  const cases: readonly [string, unknown, string][] = [
    ['a function', { a: [1, () => 1] }, 'a.1 is'],
    [
      'a class instance',
      { model: new MultiHeadAttention({ embedDim: 2, numHeads: 1 }) },
      'for example its stateDict()',
    ],
    ['a date', { a: { b: new Date() } }, 'a.b is [object Date]'],
    ['a Map', { a: new Map() }, 'a is [object Map]'],
    [
      'a typed array',
      { losses: new Float32Array(2) },
      'losses is [object Float32Array], which a checkpoint cannot hold; make a tensor',
    ],
    ['a bigint', { a: 1n }, 'a is 1'],
    ['a symbol', { a: Symbol('s') }, 'a is Symbol(s)'],
    ['undefined in an array', { a: [undefined] }, 'a.0 is undefined'],
    ['itself', circular, 'contains itself'],
    ['the name __proto__', { a: JSON.parse('{"__proto__":1}') }, 'the name __proto__ in a'],
    ['no object', 3, 'plain object'],
    ['an array', [], 'plain object'],
    ['a tensor', tensor(1), 'plain object'],
    ['null', null, 'plain object'],
  ]
  test.each(cases)('%s', (_, state, says) => {
    expectError(() => serializeCheckpoint(untyped(state)), ArgumentError, 'serializeCheckpoint', says)
  })
})

describe('refused in a file', () => {
  const file = (state: unknown, tensors: Record<string, Tensor> = {}, more: Record<string, string> = {}) =>
    serializeSafetensors(tensors, {
      format: 'wengert-checkpoint',
      version: '1',
      state: typeof state === 'string' ? state : JSON.stringify(state),
      ...more,
    })
  const cases: readonly [string, Uint8Array, string][] = [
    [
      'no checkpoint',
      serializeSafetensors({ x: tensor(1) }),
      'is no checkpoint; read its tensors with parseSafetensors',
    ],
    ['a later version', file({}, {}, { version: '2' }), 'has version "2"; 1 can be read'],
    ['no JSON', file('{'), 'no valid JSON'],
    ['a number', file(1), 'is no object'],
    ['a list', file([]), 'is no object'],
    ['a tensor alone', file({ $tensor: 'x' }, { x: tensor(1) }), 'is no object'],
    ['a tensor that is not there', file({ a: { $tensor: 'x' } }), 'refers to the tensor "x", which is not there'],
    ['a tensor of Object.prototype', file({ a: { $tensor: 'toString' } }), 'which is not there'],
    ['a tensor without a place', file({}, { x: tensor(1) }), 'the tensor "x" has no place'],
    ['a tensor name that is a number', file({ a: { $tensor: 1 } }), 'which is not there'],
    ['an unknown mark', file({ a: { $other: 1 } }), '"$other"'],
    ['a mark among others', file({ a: { $number: 'NaN', b: 1 } }), '"$number"'],
    ['an ordinary number as a special one', file({ a: { $number: '1' } }), '"1" where ∞, NaN or −0'],
    ['a word as a special number', file({ a: { $number: 'many' } }), '"many" where'],
    ['the name __proto__', file('{"a":{"__proto__":{}}}'), '__proto__'],
    ['a deep nest', file(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), 'nested deeper than 200'],
  ]
  test.each(cases)('%s', (_, bytes, says) => {
    expectError(() => parseCheckpoint(bytes), FormatError, 'parseCheckpoint', says)
  })
})
