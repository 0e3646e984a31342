import { describe, expect, it } from 'vitest'
import {
  backward,
  div,
  exp,
  gelu,
  logSoftmax,
  matmul,
  mul,
  pow,
  rand,
  relu,
  scale,
  scaledDotProductAttention,
  softmax,
  square,
  sum,
  type Tensor,
  tanh,
  tensor,
  variance,
} from '../../src/index.js'
import {
  assertGradgradcheck,
  type DifferentiableFunction,
  GradcheckError,
  gradcheck,
  gradgradcheck,
} from '../../src/testing/index.js'
import { at, errorOf, fixed, leaf, operation } from './harness.js'

const right: [name: string, fn: DifferentiableFunction, inputs: Tensor[]][] = [
  ['mul, broadcast', (a, b) => mul(a, b), [leaf([2, 3]), leaf([3], 1)]],
  ['div', (a, b) => div(a, b), [leaf([2]), leaf([2], 1)]],
  ['pow', (a, b) => pow(square(a), b), [leaf([2]), leaf([2], 1)]],
  ['tanh, gelu', (x) => gelu(tanh(x)), [leaf([4])]],
  ['matmul', (a, b) => matmul(a, b), [leaf([2, 3]), leaf([3, 2], 1)]],
  ['softmax', (x) => softmax(x), [leaf([2, 3])]],
  ['logSoftmax', (x) => logSoftmax(x), [leaf([2, 3])]],
  ['variance', (x) => variance(x), [leaf([4])]],
  ['several outputs', (x) => [exp(x), sum(square(x))], [leaf([3])]],
  ['a linear function', (x) => scale(x, 3), [leaf([3])]],
  ['a function of nothing', () => fixed([2]), [leaf([3])]],
  ['an input given back', (x, y) => [x, mul(x, y)], [leaf([2]), leaf([2], 1)]],
  [
    'attention',
    (q, k, v) => scaledDotProductAttention(q, k, v, { causal: true }),
    [leaf([3, 2]), leaf([3, 2], 1), leaf([3, 2], 2)],
  ],
]

describe('a right second derivative passes', () => {
  it.each(right)('%s', (_, fn, inputs) => {
    const report = gradgradcheck(fn, inputs)
    expect(String(report)).toContain('gradgradcheck passed')
    expect(report).toMatchObject({ ok: true, failed: 0, deterministic: true })
    assertGradgradcheck(fn, inputs)
  })
})

describe('a wrong second derivative', () => {
  /** x³ with the right rule 3x², whose own derivative is wrong: 5x instead of 6x. */
  const slope = operation('slope', (g, x) => mul(g, mul(square(x), 3)), [
    { saves: [1], rule: (h, call) => slope(h, call.input(1)) },
    { saves: [0, 1], rule: (h, call) => mul(h, mul(mul(call.input(0), call.input(1)), 5)) },
  ])
  const cube = operation('cube', (x) => mul(square(x), x), [{ saves: [0], rule: (g, call) => slope(g, call.input(0)) }])

  it('passes gradcheck and fails gradgradcheck', () => {
    const inputs = [at(0.5, -2)]
    expect(gradcheck((x) => cube(x), inputs).ok).toBe(true)
    const report = gradgradcheck((x) => cube(x), inputs)
    expect(report).toMatchObject({ ok: false, failed: 2, worst: { input: 0, index: expect.anything() } })
    expect(report.inputs.map(({ name, failed }) => [name, failed])).toEqual([
      ['input 0', 2],
      ['cotangent of output 0', 0],
    ])
    const { analytic, numeric } = report.worst ?? { analytic: 0, numeric: 0 }
    expect(analytic / numeric).toBeCloseTo(5 / 6, 5)
    expect(String(report)).toMatch(/worst: ∂ gradient of input 0 \[\d\] \/ ∂ input 0 \[\d\]/)
  })

  it('towards the cotangent is caught as well', () => {
    const backwards = operation('backwards', (g) => mul(g, 2), [{ saves: [], rule: (h) => mul(h, 3) }])
    const double = operation('double', (x) => mul(x, 2), [{ saves: [], rule: (g) => backwards(g) }])
    expect(gradcheck((x) => double(x), [leaf([2])]).ok).toBe(true)
    const report = gradgradcheck((x) => double(x), [leaf([2])])
    expect(report).toMatchObject({ ok: false, failed: 2, worst: { input: 1, analytic: 3 } })
  })

  it('is carried by the error of assertGradgradcheck', () => {
    const error = errorOf(() => assertGradgradcheck((x) => cube(x), [at(1)]))
    expect(error).toBeInstanceOf(GradcheckError)
    expect(error.message).toMatch(/^gradgradcheck failed: 1 of 2 derivatives disagree/)
  })

  it('where the rule detaches what it uses', () => {
    const detaching = operation('detaching', (x) => square(x), [
      { saves: [0], rule: (g, call) => mul(g, mul(call.input(0).detach(), 2)) },
    ])
    expect(gradcheck((x) => detaching(x), [leaf([2])]).ok).toBe(true)
    const report = gradgradcheck((x) => detaching(x), [leaf([2])])
    expect(report.ok).toBe(false)
    expect(report.notes).toEqual([expect.stringMatching(/^No gradient reaches input 0 although/)])
  })
})

describe('gradgradcheck', () => {
  it('leaves inputs and leaves of the closure as they are', () => {
    const weight = leaf([2, 2])
    const x = leaf([3, 2], 1)
    const before = x.data
    expect(gradgradcheck((given) => tanh(matmul(given, weight)), [x]).ok).toBe(true)
    expect(weight.grad).toBeNull()
    expect(x.grad).toBeNull()
    expect(x.data).toEqual(before)
  })

  it('passes on inputs that need no gradient', () => {
    const mask = tensor([true, false])
    const report = gradgradcheck(
      (x, chosen, factor) => mul(mul(square(x), chosen), factor),
      [leaf([2]), mask, fixed([2])],
    )
    expect(report.ok).toBe(true)
    expect(report.inputs.map(({ input, name }) => [input, name])).toEqual([
      [0, 'input 0'],
      [3, 'cotangent of output 0'],
    ])
  })

  it('reports a kink of the gradient', () => {
    const report = gradgradcheck((x) => square(relu(x)), [at(0)])
    expect(report).toMatchObject({ ok: true, nonDifferentiable: [{ kind: 'kink', left: 0, accepted: true }] })
  })

  it('reports a function that is not deterministic', () => {
    expect(gradgradcheck((x) => mul(square(x), rand([3], { dtype: 'float64' })), [leaf([3])])).toMatchObject({
      deterministic: false,
      ok: false,
    })
  })

  it('tells misuse under its own name', () => {
    expect(() => gradgradcheck((x) => x, [fixed([1])])).toThrow(/^gradgradcheck: none of the 1 inputs/)
    expect(() => gradgradcheck((x) => x, [leaf([1])], { eps: -1 })).toThrow(/^gradgradcheck: eps/)
    expect(() => gradgradcheck((x) => x.to('float32'), [leaf([1])])).toThrow(/^gradgradcheck: output 0 is float32/)
  })

  it('works on a function that differentiates inside', () => {
    const slope = (x: Tensor): Tensor => {
      backward(sum(mul(square(x), x)), undefined, { createGraph: true })
      return x.grad as Tensor
    }
    expect(gradgradcheck((x) => slope(x), [leaf([2])]).ok).toBe(true)
  })
})
