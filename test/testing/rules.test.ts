// Deliberately wrong derivative rules: each must be caught, at the right place.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OUTPUT } from '../../src/core/node.js'
import {
  add,
  div,
  matmul,
  mul,
  neg,
  permute,
  square,
  sum,
  type Tensor,
  tensor,
  to,
  transpose,
  zeros,
} from '../../src/index.js'
import { type DifferentiableFunction, type GradcheckReport, gradcheck } from '../../src/testing/index.js'
import { at, fixed, leaf, operation } from './harness.js'

function float64(numbers: readonly number[]): Tensor {
  return tensor(Float64Array.from(numbers))
}

describe('a wrong rule is caught', () => {
  it('the sign', () => {
    const wrong = operation('wrong', (x) => neg(x), [{ saves: [], rule: (g) => g }])
    const report = gradcheck((x, y) => add(wrong(x), y), [leaf([3]), leaf([3], 1)])
    expect(report).toMatchObject({ ok: false, failed: 3, worst: { input: 0, analytic: 1 } })
    expect(report.worst?.numeric).toBeCloseTo(-1, 6)
    expect(report.inputs.map(({ failed }) => failed)).toEqual([3, 0])
  })

  it('a factor, worst where the derivative is largest', () => {
    const wrong = operation('wrong', (x) => square(x), [{ saves: [0], rule: (g, call) => mul(g, call.input(0)) }])
    const report = gradcheck((x) => wrong(x), [at(0.5, -3, 2)])
    expect(report).toMatchObject({ ok: false, failed: 3, worst: { input: 0, index: [1], output: 0, outputIndex: [1] } })
    expect(report.worst?.analytic).toBe(-3)
    expect(report.worst?.numeric).toBeCloseTo(-6, 5)
  })

  it('a term forgotten', () => {
    const wrong = operation('wrong', (x) => div(1, x), [
      { saves: [OUTPUT], rule: (g, call) => neg(mul(g, call.output)) },
    ])
    expect(gradcheck((x) => wrong(x), [at(2, 1)])).toMatchObject({ ok: false, failed: 1, worst: { index: [0] } })
  })

  it('a transposed matrix', () => {
    const rule = (swap: boolean) =>
      operation('wrong', (a, b) => matmul(a, b), [
        { saves: [1], rule: (g, call) => matmul(g, swap ? call.input(1) : transpose(call.input(1))) },
        { saves: [0], rule: (g, call) => matmul(transpose(call.input(0)), g) },
      ])
    const inputs = [leaf([2, 3]), leaf([3, 3], 1)]
    expect(gradcheck(rule(false), inputs).ok).toBe(true)
    const report = gradcheck(rule(true), inputs)
    expect(report).toMatchObject({ ok: false, worst: { input: 0 } })
    expect(report.inputs[1]?.failed).toBe(0)
  })

  it('permuted entries', () => {
    const wrong = operation('wrong', (x) => permute(x, [1, 2, 0]), [{ saves: [], rule: (g) => permute(g, [1, 2, 0]) }])
    const report = gradcheck((x) => wrong(x), [leaf([2, 2, 2])])
    expect(report).toMatchObject({ ok: false, worst: { input: 0, absoluteError: expect.closeTo(1, 6) } })
  })

  it('a broadcast axis that is not summed over', () => {
    const wrong = operation('wrong', (a, b) => mul(a, b), [
      { saves: [1], rule: (g, call) => mul(g, call.input(1)) },
      { saves: [0], rule: (g, call) => mul(g, call.input(0)) },
    ])
    expect(() => gradcheck(wrong, [leaf([2, 3]), leaf([3], 1)])).toThrow(
      /the rule of "wrong" gave input 1 of shape \(3,\) a cotangent of shape \(2, 3\)/,
    )
  })

  it('a reduction that does not spread its cotangent evenly', () => {
    const spread = [1, 1, 0.5, 1]
    const wrong = operation('wrong', (x) => sum(x), [{ saves: [], rule: (g) => mul(float64(spread), g) }])
    expect(gradcheck((x) => wrong(x), [leaf([4])])).toMatchObject({
      ok: false,
      failed: 1,
      worst: { index: [2], outputIndex: [] },
    })
  })

  it('a gradient of another dtype', () => {
    const wrong = operation('wrong', (x) => mul(x, 2), [{ saves: [], rule: (g) => to(mul(g, 2), 'float32') }])
    const report = gradcheck((x) => wrong(x), [leaf([2])])
    expect(report.ok).toBe(false)
    expect(report.notes).toEqual([
      expect.stringMatching(/^The gradient of input 0 is float32 where input 0 is float64/),
    ])
  })

  it('no derivative at all', () => {
    const wrong = operation('wrong', (a, b) => mul(a, b), [
      { saves: [1], rule: (g, call) => mul(g, call.input(1)) },
      { saves: [], rule: (_, call) => zeros(call.inputShape(1), { dtype: 'float64' }) },
    ])
    expect(gradcheck(wrong, [leaf([2]), leaf([2], 1)])).toMatchObject({
      ok: false,
      failed: 2,
      worst: { input: 1, analytic: 0 },
    })
  })

  it('one that is not linear in the cotangent, though right for cotangents of ones and zeros', () => {
    const wrong = operation('wrong', (x) => mul(x, 3), [{ saves: [], rule: (g) => mul(square(g), 3) }])
    const report = gradcheck((x) => wrong(x), [leaf([3])])
    expect(report).toMatchObject({ ok: false, failed: 0 })
    expect(report.notes).toEqual([
      expect.stringMatching(/^The sweep is not linear in the cotangent: for a random one input 0 \[0\]/),
    ])
  })

  it('one that only fails for a cotangent of several outputs', () => {
    const inner = operation('wrong', (x) => mul(x, 3), [{ saves: [], rule: (g) => mul(square(g), 3) }])
    expect(gradcheck((x) => sum(inner(x)), [leaf([3])]).ok).toBe(false)
  })
})

describe('the worst entry', () => {
  const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 })

  it('is the entry whose derivative is wrong, in any shape and input', () => {
    fc.assert(
      fc.property(
        shapes,
        shapes,
        fc.boolean(),
        fc.nat(),
        fc.double({ min: 0.01, max: 2, noNaN: true }),
        (a, b, first, pick, error) => {
          const shape = first ? a : b
          const size = shape.reduce((product, axis) => product * axis, 1)
          const chosen = pick % size
          const factors = new Float64Array(size).fill(3)
          factors[chosen] = 3 + error
          const wrong = operation('wrong', (x) => mul(x, 3), [
            { saves: [], rule: (g) => mul(g, tensor(factors, { shape })) },
          ])
          const right = (x: Tensor) => mul(x, 3)
          const fn: DifferentiableFunction = (x, y) => [(first ? wrong : right)(x), (first ? right : wrong)(y)]
          const report = gradcheck(fn, [leaf(a), leaf(b, 1)])
          const index = indexIn(shape, chosen)
          const position = first ? 0 : 1
          expect(report).toMatchObject({
            ok: false,
            failed: 1,
            worst: { input: position, index, output: position, outputIndex: index },
          })
          expect(report.worst?.absoluteError).toBeCloseTo(error, 6)
        },
      ),
      { numRuns: 50 },
    )
  })

  it('is the one furthest outside of its tolerance, not the largest error', () => {
    const wrong = operation('wrong', (x) => mul(x, float64([1000, 1])), [
      { saves: [], rule: (g) => mul(g, float64([1002, 1.5])) },
    ])
    const report: GradcheckReport = gradcheck((x) => wrong(x), [at(1, 1)])
    expect(report).toMatchObject({ failed: 2, worst: { index: [1] } })
    expect(report.maxAbsoluteError).toBeCloseTo(2, 4)
  })

  it('of a right gradient is the one nearest to leaving its tolerance', () => {
    const wrong = operation('nearly', (x) => mul(x, 2), [{ saves: [], rule: (g) => mul(g, float64([2, 2.001])) }])
    const check = (rtol: number) => gradcheck((x) => add(wrong(x), fixed([2])), [at(1, 1)], { rtol })
    expect(check(1e-3)).toMatchObject({ ok: true, worst: { index: [1] } })
    expect(check(1e-4)).toMatchObject({ ok: false, worst: { index: [1] } })
  })
})

function indexIn(shape: readonly number[], place: number): number[] {
  let rest = place
  return shape
    .map((_, axis) => shape.slice(axis + 1).reduce((product, size) => product * size, 1))
    .map((stride) => {
      const position = Math.floor(rest / stride)
      rest -= position * stride
      return position
    })
}
