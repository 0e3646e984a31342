import { describe, expect, it } from 'vitest'
import {
  abs,
  exp,
  linear,
  mean,
  mul,
  scaledDotProductAttention,
  square,
  sub,
  sum,
  type Tensor,
  tanh,
  tensor,
} from '../../src/index.js'
import { checkGrads, gradcheck, gradcheckPlain, gradgradcheck } from '../../src/testing/index.js'
import { at, fixed, leaf, operation } from './harness.js'

/** Multiplies by 3; the derivative is wrong by `error` at the given entries. */
function wrongAt(size: number, entries: readonly number[], error: number): (x: Tensor) => Tensor {
  const factors = new Float64Array(size).fill(3)
  for (const entry of entries) factors[entry] = 3 + error
  return operation('wrong', (x) => mul(x, 3), [{ saves: [], rule: (g) => mul(g, tensor(factors)) }])
}

describe('sampled mode', () => {
  it('of a function without outputs has nothing to compare', () => {
    const none = (x: Tensor) => x.slice([0], [0])
    const x = leaf([3])
    for (const mode of ['full', 'sampled'] as const) {
      expect(gradcheck(none, [x], { mode })).toMatchObject({ ok: true, entries: 0, directions: 0, worst: null })
      expect(checkGrads(none, [x], { mode, order: 2 }).ok).toBe(true)
    }
    expect(
      gradcheckPlain(
        () => [],
        () => [0, 0],
        [1, 2],
        { mode: 'sampled' },
      ).ok,
    ).toBe(true)
  })

  it('compares as many entries and directions as asked for', () => {
    const report = gradcheck((x, y) => mul(x, y), [leaf([50]), leaf([50], 1)], { samples: 7, directions: 3 })
    expect(report).toMatchObject({ ok: true, mode: 'sampled', entries: 14, directions: 3 })
    expect(report.inputs.map(({ entries }) => entries)).toEqual([7, 7])
    expect(String(report)).toMatch(/14 sampled derivatives and 3 directions agree/)
    expect(String(report)).toContain('input 0 (50,): 7 of 50 entries')
  })

  it('takes every entry of a small input', () => {
    const report = gradcheck((x, y) => mul(x, y), [leaf([3]), leaf([1], 1)], { mode: 'sampled', directions: 0 })
    expect(report).toMatchObject({ ok: true, entries: 4, directions: 0 })
  })

  it('is chosen by size', () => {
    expect(gradcheck((x) => sum(square(x)), [leaf([4095])]).mode).toBe('full')
    expect(gradcheck((x) => sum(square(x)), [leaf([4096])]).mode).toBe('sampled')
    expect(gradcheck((x) => square(x), [leaf([2049])]).mode).toBe('sampled')
    expect(gradcheck((x) => sum(square(x)), [leaf([4096])], { mode: 'full' })).toMatchObject({
      entries: 4096,
      directions: 0,
    })
  })

  it('names the output of a scalar function, and none where a random combination was taken', () => {
    expect(gradcheck((x) => sum(square(x)), [leaf([3])], { samples: 3 }).worst).toMatchObject({
      output: 0,
      outputIndex: [],
    })
    expect(gradcheck((x) => square(x), [leaf([3])], { samples: 3 }).worst).toMatchObject({
      output: null,
      outputIndex: null,
    })
  })

  it('gives the derivatives of a scalar function themselves', () => {
    const report = gradcheck((x) => sum(mul(x, 3)), [leaf([5])], { samples: 1, directions: 0 })
    expect(report.worst?.analytic).toBe(3)
  })

  it('draws by the seed', () => {
    const wrong = wrongAt(1000, [500], 1)
    const failures = (seed: number) =>
      gradcheck((x) => wrong(x), [leaf([1000])], { samples: 400, directions: 0, seed }).failed
    const found = [0, 1, 2, 3, 4, 5, 6, 7].map(failures)
    expect(found).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map(failures))
    expect(new Set(found)).toEqual(new Set([0, 1]))
  })

  it('catches by directions what the sampled entries miss', () => {
    const wrong = wrongAt(5000, [1234], 50)
    const report = gradcheck((x) => wrong(x), [leaf([5000])], { samples: 1 })
    expect(report).toMatchObject({ ok: false, failed: 8, worst: { input: null, index: null } })
    expect(report.inputs[0]?.failed).toBe(0)
    expect(String(report)).toContain('worst: ⟨w, outputs⟩ along a random direction')
  })

  it('catches by sampled entries what is wrong everywhere, and where', () => {
    const wrong = operation('wrong', (x) => mul(x, 3), [{ saves: [], rule: (g) => mul(g, 3.1) }])
    const report = gradcheck((x, y) => sum(mul(wrong(x), y)), [leaf([5000]), leaf([5000], 1)])
    expect(report).toMatchObject({ ok: false, worst: { input: 0 } })
    expect(report.inputs.map(({ failed }) => failed)).toEqual([64, 0])
  })

  it('catches a rule that is not linear in the cotangent', () => {
    const wrong = operation('wrong', (x) => mul(x, 3), [{ saves: [], rule: (g) => mul(square(g), 3) }])
    expect(gradcheck((x) => wrong(x), [leaf([5000])]).ok).toBe(false)
  })

  it('reports kinks among the sampled entries', () => {
    const report = gradcheck((x) => sum(abs(x)), [at(0, 1, 2)], { samples: 3, directions: 0 })
    expect(report).toMatchObject({
      ok: true,
      nonDifferentiable: [{ index: [0], left: expect.closeTo(-1, 6), right: expect.closeTo(1, 6), accepted: true }],
    })
  })

  it('reports a kink met in a random direction', () => {
    const report = gradcheck((x) => sum(abs(x)), [at(0, 1, 2)], { samples: 3, directions: 2 })
    expect(report).toMatchObject({ ok: true, directions: 2 })
    expect(report.nonDifferentiable.map(({ input }) => input)).toEqual([0, null, null])
  })

  it('reports a function that is not deterministic', () => {
    let calls = 0
    const report = gradcheck((x) => mul(x, ++calls), [leaf([5000])])
    expect(report).toMatchObject({ ok: false, deterministic: false, mode: 'sampled', entries: 0 })
  })

  it('gives hints where the tape is cut', () => {
    const report = gradcheck((x) => mul(x, x.detach()), [leaf([5000])])
    expect(report.ok).toBe(false)
    const cut = gradcheck((x, y) => [x, exp(y.detach())], [leaf([3000]), leaf([3000], 1)])
    expect(cut.ok).toBe(false)
    expect(cut.notes).toEqual([
      expect.stringMatching(/^Output 1 needs no gradient; if it changes with the inputs, it was computed with detach/),
    ])
  })

  it('knows inputs without entries', () => {
    expect(gradcheck((x) => mul(x, 2), [leaf([0])], { mode: 'sampled' })).toMatchObject({
      ok: true,
      entries: 0,
      directions: 0,
    })
  })
})

describe('150,000 weights', () => {
  const tokens = fixed([16, 192])
  const target = fixed([16, 192], 7)
  const weights = [0, 1, 2, 3].map((seed) => leaf([192, 192], seed))
  /** Weights near 1/√192, so that attention is soft. */
  const project = (x: Tensor, weight: Tensor) => linear(x, mul(weight, 0.05))
  const attention = (q: Tensor, k: Tensor, v: Tensor, o: Tensor) =>
    project(scaledDotProductAttention(project(tokens, q), project(tokens, k), project(tokens, v)), o)
  const loss = (...w: [Tensor, Tensor, Tensor, Tensor]) => mean(square(sub(tanh(attention(...w)), target)))

  it('of an attention layer pass', () => {
    const report = gradcheck((q, k, v, o) => attention(q, k, v, o), weights)
    expect(String(report)).toContain('gradcheck passed')
    expect(report).toMatchObject({ ok: true, mode: 'sampled', entries: 256, directions: 8, notes: [] })
  })

  it('of a loss over it pass', () => {
    const report = gradcheck((q, k, v, o) => loss(q, k, v, o), weights, { atol: 1e-8, samples: 20 })
    expect(String(report)).toContain('gradcheck passed')
    expect(report).toMatchObject({ ok: true, entries: 80, directions: 8, notes: [] })
  })

  it('of a layer with a wrong rule fail', () => {
    const wrong = operation('wrong', (x) => mul(x, 1), [{ saves: [], rule: (g) => mul(g, 1.01) }])
    const report = gradcheck((q, k, v, o) => attention(q, wrong(k), v, o), weights)
    expect(report).toMatchObject({ ok: false, worst: { input: 1 } })
    expect(report.inputs.map(({ failed }) => failed > 0)).toEqual([false, true, false, false])
  })

  it('have their second derivatives checked too', () => {
    const report = gradgradcheck((q, k, v, o) => attention(q, k, v, o), weights, { samples: 4, directions: 2 })
    expect(String(report)).toContain('gradgradcheck passed')
  })
})
