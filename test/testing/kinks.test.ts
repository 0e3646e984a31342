// Points where there is no derivative, or no number.
import { describe, expect, it } from 'vitest'
import {
  abs,
  add,
  exp,
  log,
  maskedFill,
  max,
  maximum,
  mul,
  relu,
  sqrt,
  square,
  sub,
  sum,
  tensor,
  where,
} from '../../src/index.js'
import { gradcheck } from '../../src/testing/index.js'
import { at, operation } from './harness.js'

describe('a kink is reported with its place and slopes', () => {
  it('|x| at 0: the gradient 0 lies between −1 and 1', () => {
    const report = gradcheck((x) => abs(x), [at(1, 0, -2)])
    expect(report).toMatchObject({ ok: true, failed: 0, entries: 9 })
    expect(report.nonDifferentiable).toEqual([
      {
        kind: 'kink',
        input: 0,
        index: [1],
        output: 0,
        outputIndex: [1],
        left: -1,
        right: 1,
        analytic: 0,
        numeric: 0,
        numericError: null,
        absoluteError: 0,
        relativeError: 0,
        verdict: 'right',
        accepted: true,
      },
    ])
    expect(String(report)).toMatch(
      /not differentiable \(kink\): ∂ output 0 \[1\] \/ ∂ input 0 \[1\]: slopes -1 on the left and 1 on the right, analytic 0: accepted\n {2}Move the point off such places/,
    )
  })

  it('relu at 0, whose gradient 0 is not the central difference ½', () => {
    const report = gradcheck((x) => relu(x), [at(0)])
    expect(report).toMatchObject({
      ok: true,
      nonDifferentiable: [{ kind: 'kink', analytic: 0, numeric: 0.5, accepted: true }],
    })
    // What is not to be confirmed does not count as an error.
    expect(report.maxAbsoluteError).toBe(0)
  })

  it('ties of max and maximum', () => {
    expect(gradcheck((x) => max(x), [at(2, 2, 1)])).toMatchObject({
      ok: true,
      nonDifferentiable: [
        { index: [0], left: 0, analytic: 0.5, accepted: true },
        { index: [1], left: 0, analytic: 0.5, accepted: true },
      ],
    })
    const { nonDifferentiable } = gradcheck((a, b) => maximum(a, b), [at(1, 3), at(2, 3)])
    expect(nonDifferentiable.map(({ input, index, outputIndex }) => [input, index, outputIndex])).toEqual([
      [0, [1], [1]],
      [1, [1], [1]],
    ])
  })

  it('within a larger smooth function', () => {
    const report = gradcheck((x) => sum(exp(abs(mul(x, 3)))), [at(0, 0.5)])
    expect(report).toMatchObject({ ok: true, nonDifferentiable: [{ index: [0], outputIndex: [], accepted: true }] })
    expect(report.nonDifferentiable[0]?.right).toBeCloseTo(3, 4)
  })

  it('closer than eps to the point', () => {
    for (const part of Array.from({ length: 49 }, (_, i) => (i + 1) / 50)) {
      const distance = part * 1e-6
      const report = gradcheck((x) => abs(x), [at(distance, -distance)], { eps: 1e-6 })
      expect(report).toMatchObject({
        ok: true,
        nonDifferentiable: [
          { index: [0], analytic: 1, accepted: true },
          { index: [1], analytic: -1, accepted: true },
        ],
      })
    }
  })

  it('closer to the point than any step that shows something', () => {
    // The numbers themselves are 1e-14 apart at best: every step that changes them passes the kink.
    const distance = 2 ** -50
    const report = gradcheck((x, y) => abs(sub(x, y)), [at(1, 2), at(1 - distance, 2 + distance)])
    expect(report).toMatchObject({ ok: true, failed: 0 })
    expect(report.nonDifferentiable.map(({ kind, input, index, accepted }) => [kind, input, index, accepted])).toEqual(
      [0, 1].flatMap((input) => [0, 1].map((entry) => ['kink', input, [entry], true])),
    )
  })

  it('and not where it is further away', () => {
    const points = [at(1.1e-6, -1.1e-6)]
    expect(gradcheck((x) => abs(x), points, { eps: 1e-6 })).toMatchObject({ ok: true, nonDifferentiable: [] })
    for (const distance of [1e-8, 1e-6, 1e-3, 1]) {
      expect(gradcheck((x) => abs(x), [at(distance, -distance)])).toMatchObject({ ok: true, nonDifferentiable: [] })
    }
    for (const distance of [1e-11, 1e-10, 1e-6, 1e-4, 1e-2]) {
      const beside = [at(1, 2), at(1 - distance, 2 + distance)]
      expect(gradcheck((x, y) => abs(sub(x, y)), beside)).toMatchObject({ ok: true, nonDifferentiable: [] })
    }
  })

  it('and not where a smooth function bends sharply', () => {
    const steep = [at(0.01, 0, -0.003)]
    expect(gradcheck((x) => mul(square(x), 1e5), steep)).toMatchObject({ ok: true, nonDifferentiable: [] })
    expect(gradcheck((x) => exp(mul(x, 300)), steep)).toMatchObject({ ok: true, nonDifferentiable: [] })
  })

  it('and fails where the gradient lies outside of the slopes', () => {
    const wrong = operation('wrong', (x) => abs(x), [{ saves: [], rule: (g) => mul(g, 1.5) }])
    const report = gradcheck((x) => wrong(x), [at(0)])
    expect(report).toMatchObject({
      ok: false,
      failed: 1,
      nonDifferentiable: [{ kind: 'kink', analytic: 1.5, accepted: false }],
    })
    expect(report.worst).toMatchObject({ index: [0], analytic: 1.5, numeric: 0 })
    expect(String(report)).toContain('analytic 1.5: wrong')
  })

  it('and fails beside a kink where the gradient is that of the other side', () => {
    const wrong = operation('wrong', (x) => relu(x), [{ saves: [], rule: (g) => mul(g, 0) }])
    expect(gradcheck((x) => wrong(x), [at(5e-7)], { eps: 1e-6 })).toMatchObject({
      ok: false,
      nonDifferentiable: [{ accepted: false }],
    })
    expect(gradcheck((x) => wrong(x), [at(5e-7)])).toMatchObject({ verdict: 'wrong', nonDifferentiable: [] })
  })

  it('only the first three of many in the text', () => {
    const report = gradcheck((x) => abs(x), [at(0, 0, 0, 0, 0)])
    expect(report.nonDifferentiable).toHaveLength(5)
    expect(String(report).match(/not differentiable/g)).toHaveLength(3)
    expect(String(report)).toContain('… and 2 more such places')
  })
})

describe('a jump fails', () => {
  it.each([
    ['to the right of the point', (a: number) => a > 0],
    ['to its left', (a: number) => a >= 0],
  ])('%s', (_, above) => {
    const step = operation(
      'step',
      (x) =>
        tensor(
          x.data.map((a) => Number(above(a))),
          { shape: x.shape },
        ),
      [{ saves: [], rule: (g) => mul(g, 0) }],
    )
    const report = gradcheck((x) => add(step(x), x), [at(0, 1)])
    expect(report).toMatchObject({
      ok: false,
      failed: 1,
      nonDifferentiable: [{ kind: 'jump', index: [0], accepted: false }],
    })
    expect(String(report)).toContain('jump or vertical slope')
  })

  it('on both sides, where the slopes are equal', () => {
    const sign = operation('sign', (x) => tensor(x.data.map(Math.sign), { shape: x.shape }), [
      { saves: [], rule: (g) => mul(g, 0) },
    ])
    expect(gradcheck((x) => sign(x), [at(0)])).toMatchObject({ ok: false, nonDifferentiable: [{ kind: 'jump' }] })
  })

  it('a vertical tangent', () => {
    expect(gradcheck((x) => sqrt(abs(x)), [at(0)])).toMatchObject({ ok: false, nonDifferentiable: [{ kind: 'jump' }] })
  })
})

describe('outputs that are not finite', () => {
  it('NaN at the point fails and is named', () => {
    const report = gradcheck((x) => log(x), [at(1, -1)])
    expect(report).toMatchObject({ ok: false, worst: { outputIndex: [1], numeric: Number.NaN } })
    expect(report.notes).toEqual(['output 0 [1] is NaN: nothing can be said about its derivative.'])
    expect(report.maxAbsoluteError).toBeNaN()
    expect(String(report)).toContain('numeric NaN')
  })

  it('several of them are counted', () => {
    expect(gradcheck((x) => log(x), [at(-2, -1, 3)]).notes).toEqual([
      'output 0 [0] is NaN (2 output entries are NaN or infinite): nothing can be said about its derivative.',
    ])
  })

  it('an edge of the domain fails and says so', () => {
    const report = gradcheck((x) => sqrt(x), [at(1, 0)])
    expect(report.ok).toBe(false)
    expect(report.notes).toEqual([
      expect.stringMatching(
        /^output 0 \[1\] becomes NaN when input 0 \[1\] is moved a little: .*choose one further inside/,
      ),
    ])
  })

  it('an overflow close to the point fails and says so', () => {
    const report = gradcheck((x) => exp(x), [at(709.782712893)])
    expect(report).toMatchObject({ ok: false, failed: 1, worst: { numeric: Number.POSITIVE_INFINITY } })
    expect(report.notes).toEqual([
      expect.stringMatching(/^output 0 \[0\] becomes Infinity when input 0 \[0\] is moved/),
    ])
  })

  it('a constant infinity has derivative 0', () => {
    const mask = tensor([true, false])
    const report = gradcheck((x) => maskedFill(x, mask, Number.NEGATIVE_INFINITY), [at(1, 2)])
    expect(report.ok).toBe(true)
    expect(report.notes).toEqual(['output 0 [0] is -Infinity: while it stays so, its derivative is taken as 0.'])
  })

  it('an infinite gradient of a finite function fails', () => {
    const wrong = operation('wrong', (x) => mul(x, 2), [{ saves: [], rule: (g) => mul(g, Number.POSITIVE_INFINITY) }])
    const report = gradcheck((x) => wrong(x), [at(1)])
    expect(report).toMatchObject({ ok: false, failed: 1, maxAbsoluteError: Number.POSITIVE_INFINITY })
  })

  it('a gradient that would be NaN behind a where passes, as it is 0', () => {
    const safe = gradcheck((x) => where(x.gt(0), sqrt(x), 0), [at(4, -1)])
    expect(safe).toMatchObject({ ok: true, notes: [] })
  })
})
