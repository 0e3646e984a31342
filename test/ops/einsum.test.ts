// einsum against plain loops over every index, for random equations.
import { readFileSync } from 'node:fs'
import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, einsum, ShapeError, type Tensor, tensor, WengertError, zeros } from 'wengert'
import { assertGradcheck } from 'wengert/testing'
import { contractionOrder, parseEquation } from '../../src/ops/equation.js'
import { expectError, expectNear, untyped } from '../support/expectations.js'
import { type Dense, positionsOf, sizeOf } from '../support/reference.js'

/** An equation whose `...` has been replaced by letters: what the loops run over. */
interface Spelled {
  readonly inputs: readonly string[]
  readonly output: string
}

/** Σ over all letters that are not in the output of the product of the operands' elements. */
function reference({ inputs, output }: Spelled, operands: readonly Dense[]): Dense {
  const sizes = new Map<string, number>()
  inputs.forEach((labels, i) => {
    ;[...labels].forEach((label, axis) => {
      const size = operands[i]?.shape[axis] as number
      if (size !== 1 || !sizes.has(label)) sizes.set(label, size)
    })
  })
  const letters = [...sizes.keys()]
  const shape = [...output].map((label) => sizes.get(label) as number)
  const data = new Array<number>(sizeOf(shape)).fill(0)
  for (const position of positionsOf([...sizes.values()])) {
    const at = (labels: string, own: readonly number[]) =>
      [...labels].reduce((offset, label, axis) => {
        const size = own[axis] as number
        return offset * size + (size === 1 ? 0 : (position[letters.indexOf(label)] as number))
      }, 0)
    const product = inputs.reduce((total, labels, i) => {
      const { shape: own, data: values } = operands[i] as Dense
      return total * (values[at(labels, own)] as number)
    }, 1)
    const place = at(output, shape)
    data[place] = (data[place] as number) + product
  }
  return { shape, data }
}

interface Sample {
  readonly equation: string
  readonly spelled: Spelled
  readonly operands: readonly Dense[]
}

/** Letters that stand for the axes under `...`, the last one last. */
const UNDER_ELLIPSIS = 'XYZ'
const LETTERS = 'bcAi'

const sample: Arbitrary<Sample> = fc
  .record({
    terms: fc.array(
      fc.record({
        letters: fc.array(fc.constantFrom(...LETTERS), { maxLength: 3 }),
        ellipsis: fc.option(fc.record({ place: fc.nat(3), covered: fc.nat(2) }), { nil: undefined }),
        ones: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    sizes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 7, maxLength: 7 }),
    explicit: fc.boolean(),
    chosen: fc.shuffledSubarray([...LETTERS]),
    spaces: fc.boolean(),
    seed: fc.nat(),
  })
  .map(({ terms, sizes, explicit, chosen, spaces, seed }) => {
    const sizeFor = (label: string) => sizes[(LETTERS + UNDER_ELLIPSIS).indexOf(label)] as number
    const covered = Math.max(0, ...terms.map(({ ellipsis }) => ellipsis?.covered ?? 0))
    const hasEllipsis = terms.some(({ ellipsis }) => ellipsis !== undefined)
    const under = (count: number) => UNDER_ELLIPSIS.slice(UNDER_ELLIPSIS.length - count)
    const written: string[] = []
    const inputs = terms.map(({ letters, ellipsis }) => {
      const place = Math.min(ellipsis?.place ?? 0, letters.length)
      const parts = [letters.slice(0, place).join(''), letters.slice(place).join('')]
      written.push(parts.join(ellipsis === undefined ? '' : '...'))
      return parts.join(ellipsis === undefined ? '' : under(ellipsis.covered))
    })
    const operands = inputs.map((labels, i) => {
      // Axes of size 1 broadcast; a repeated letter has one size.
      const isOne = (label: string) => terms[i]?.ones[labels.indexOf(label)] === true && (seed + i) % 3 === 0
      const shape = [...labels].map((label) => (isOne(label) ? 1 : sizeFor(label)))
      const data = Array.from({ length: sizeOf(shape) }, (_, k) => (((seed % 97) + 31 * i + 17 * k) % 13) / 4 - 1.5)
      return { shape, data }
    })
    const used = new Set(inputs.join(''))
    const once = [...LETTERS].filter((letter) => inputs.join('').split(letter).length === 2).sort()
    const kept = explicit ? chosen.filter((letter) => used.has(letter)) : once
    const output = (hasEllipsis ? under(covered) : '') + kept.join('')
    const arrow = explicit ? `->${hasEllipsis ? '...' : ''}${kept.join('')}` : ''
    const equation = written.join(spaces ? ' , ' : ',') + arrow
    return { equation, spelled: { inputs, output }, operands }
  })

const tensorsOf = (operands: readonly Dense[], dtype: 'float64' | 'float32' | 'int32', requiresGrad = false) =>
  operands.map(({ shape, data }) =>
    tensor(dtype === 'int32' ? data.map(Math.trunc) : [...data], { shape, dtype, requiresGrad }),
  )

describe('einsum', () => {
  test('is the sum of products over all indices', () => {
    fc.assert(
      fc.property(sample, ({ equation, spelled, operands }) => {
        const wanted = reference(spelled, operands)
        expectNear(einsum(equation, ...tensorsOf(operands, 'float64')), wanted, { relative: 1e-12, absolute: 1e-10 })
        const single = einsum(equation, ...tensorsOf(operands, 'float32'))
        expect(single.dtype).toBe('float32')
        expectNear(single, wanted, { relative: 1e-4, absolute: 1e-2 })
        const whole = operands.map(({ shape, data }) => ({ shape, data: data.map(Math.trunc) }))
        const counted = einsum(equation, ...tensorsOf(operands, 'int32'))
        expect(counted.dtype).toBe('int32')
        expectNear(counted, reference(spelled, whole), {})
      }),
      { numRuns: 300 },
    )
  })

  test('has the right gradients', () => {
    fc.assert(
      fc.property(
        sample.filter(({ operands }) => operands.every(({ data }) => data.length > 0)),
        ({ equation, operands }) => {
          const fn = (...inputs: Tensor[]) => einsum(equation, ...inputs)
          assertGradcheck(fn, tensorsOf(operands, 'float64', true), { mode: 'sampled', samples: 4, directions: 2 })
        },
      ),
      { numRuns: 60 },
    )
  })

  test('of familiar equations', () => {
    const a = tensor([
      [1, 2],
      [3, 4],
    ])
    const b = tensor([
      [5, 6],
      [7, 8],
    ])
    expect(einsum('ij,jk', a, b).toArray()).toEqual(a.matmul(b).toArray())
    expect(einsum('ij,jk->ki', a, b).toArray()).toEqual(a.matmul(b).transpose().toArray())
    expect(einsum('ii', a).item()).toBe(5)
    expect(einsum('ii->i', a).toArray()).toEqual([1, 4])
    expect(einsum('ba', a).toArray()).toEqual(a.transpose().toArray())
    expect(einsum('ij->', a).item()).toBe(10)
    expect(einsum('i,j', tensor([1, 2]), tensor([3, 4])).toArray()).toEqual([
      [3, 4],
      [6, 8],
    ])
    expect(einsum('...ij->...ji', a).toArray()).toEqual(a.transpose().toArray())
    expect(einsum('', tensor(3)).item()).toBe(3)
    expect(einsum(',i->i', tensor(3), tensor([1, 2])).toArray()).toEqual([3, 6])
    expect(einsum('i->', tensor([true, false, true])).item()).toBe(2)
  })

  test('contracts in a good order', () => {
    const order = (equation: string, ...shapes: number[][]) => contractionOrder(parseEquation(equation, shapes))
    // (A B) C would take 100 · 100 · 100 more.
    expect(order('ij,jk,kl->il', [100, 100], [100, 100], [100, 1])[0]).toEqual([1, 2])
    expect(order('ij,jk,kl->il', [1, 100], [100, 100], [100, 100])[0]).toEqual([0, 1])
    // Six matrices in a row, the last a column: from the end.
    const sizes = Array.from({ length: 5 }, () => [50, 50])
    expect(order('ab,bc,cd,de,ef,fg->ag', ...sizes, [50, 1])[0]).toEqual([4, 5])
  })

  test('says what is wrong', () => {
    const [m, v] = [tensor([[1, 2]]), tensor([1, 2, 3])]
    expectError(() => einsum('ij,j', m), ArgumentError, 'einsum', 'names 2 operands, 1 were given')
    expectError(() => einsum('ijk', m), ShapeError, 'einsum', "'ijk'", '(1, 2)')
    expectError(() => einsum('i', m), ShapeError, 'einsum', 'names 1 axes', 'has 2')
    expectError(() => einsum('ij,j', m, v), ShapeError, 'einsum', "axis 'j'", '2 and 3', '(1, 2), (3,)')
    expectError(() => einsum('ij->ik', m), ArgumentError, 'einsum', "'k'", 'in no operand')
    expectError(() => einsum('ij->ii', m), ArgumentError, 'einsum', 'twice')
    expectError(() => einsum('i->j->k', v), ArgumentError, 'einsum', "more than one '->'")
    expectError(() => einsum('i...j...', m), ArgumentError, 'einsum', "more than one '...'")
    expectError(() => einsum('i1', m), ArgumentError, 'einsum', "'1'")
    expectError(() => einsum('.ij', m), ArgumentError, 'einsum', "'.'")
    expectError(() => einsum('...,...', m, v), ShapeError, 'einsum', "an axis of '...'", '2 and 3')
    expectError(() => einsum(untyped(m), m), ArgumentError, 'einsum', 'the equation comes first')
    expectError(() => einsum('i', untyped([1])), ArgumentError, 'einsum', 'operand 0', 'an array')
  })
})

describe('NumPy', () => {
  interface Case {
    readonly equation: string
    readonly operands?: readonly Dense[]
    readonly result?: Dense
    readonly shapes?: readonly (readonly number[])[]
  }
  const file = new URL('../fixtures/einsum.json', import.meta.url)
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Case[] }

  test.each(['float64', 'int32'] as const)('gives the same for hundreds of equations, in %s', (dtype) => {
    const taken = cases.filter(({ result }) => result !== undefined)
    expect(taken.length).toBeGreaterThan(300)
    for (const { equation, operands = [], result } of taken) {
      const inputs = operands.map(({ shape, data }) => tensor([...data], { shape, dtype }))
      const found = einsum(equation, ...inputs)
      expect({ equation, shape: found.shape, data: [...found.add(0).data] }).toEqual({ equation, ...result })
    }
  })

  test('refuses the same', () => {
    const refused = cases.filter(({ result }) => result === undefined)
    expect(refused.length).toBeGreaterThan(8)
    for (const { equation, shapes = [] } of refused) {
      expect(() => einsum(equation, ...shapes.map((shape) => zeros(shape))), equation).toThrow(WengertError)
    }
  })
})
