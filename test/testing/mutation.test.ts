import { describe, expect, it } from 'vitest'
import { catalogue } from '../../bench/mutation/catalogue.js'
import { allMutants, type Mutant } from '../../bench/mutation/mutants.js'
import { runCorrect, runMutants } from '../../bench/mutation/run.js'
import type { Tensor } from '../../src/index.js'
import { tensors } from '../../src/testing/fast-check.js'
import { operation } from './harness.js'

const mutants = allMutants()
const doubled: Mutant = {
  subject: 'tanh',
  operation: 'tanh',
  kind: 'a factor of 2 too much',
  rule: ({ right }) => right().scale(2),
  cases: tensors({ requiresGrad: true, shape: [3] }).map((x) => ({ fn: (y) => (y as Tensor).tanh(), inputs: [x] })),
}

// In full: npm run mutation.
describe('the mutation test of gradcheck', () => {
  it('has wrong derivatives of many operations', () => {
    expect(new Set(mutants.map(({ operation }) => operation)).size).toBeGreaterThanOrEqual(50)
    const names = mutants.map(({ subject, operation, kind }) => `${subject}, ${operation}: ${kind}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('catches every seventh of them', () => {
    const tried = mutants.filter((_, i) => i % 7 === 0)
    const survivors = [...runMutants(1, tried)].filter(({ survived }) => survived !== null)
    expect(survivors.map(({ mutant, survived }) => `${mutant.subject}: ${mutant.kind}: ${survived}`)).toEqual([])
  })

  it('flags none of the right ones', () => {
    expect([...runCorrect(300, 2)].flat()).toEqual([])
    expect(Object.keys(catalogue).length).toBeGreaterThan(60)
  })

  it('tells when a mutant survives', () => {
    // Wrong for one cotangent alone, which no check can know of.
    const hidden: Mutant = { ...doubled, rule: ({ g, right }) => right().scale(g.data[0] === 0.5 ? 2 : 1) }
    const [caught, survivor] = [...runMutants(1, [doubled, hidden])]
    expect(caught).toMatchObject({ caught: 3, points: 3, survived: null })
    expect(survivor).toMatchObject({ caught: 0, points: 3 })
    expect(survivor?.survived).toContain('gradcheck passed')
  })

  it('refuses a mutant that changes nothing', () => {
    const none: Mutant = { ...doubled, rule: ({ right }) => right() }
    expect(() => [...runMutants(1, [none])]).toThrow('makes no difference')
    const elsewhere: Mutant = { ...doubled, operation: 'exp' }
    expect(() => [...runMutants(1, [elsewhere])]).toThrow('makes no difference')
  })

  it('tells false alarms, with the point', () => {
    const wrong = operation('wrong', (x) => x.square(), [{ saves: [0], rule: (g, call) => g.mul(call.input(0)) }])
    const functions = { wrong: tensors({ requiresGrad: true }).map((x) => ({ fn: wrong, inputs: [x] })) }
    const alarms = [...runCorrect(5, 1, functions)].flat()
    expect(alarms).toHaveLength(5)
    for (const { subject, inputs, report } of alarms) {
      expect([subject, inputs.slice(0, 8)]).toEqual(['wrong', '[tensor('])
      expect(report).toContain('gradcheck failed')
    }
  })
})
