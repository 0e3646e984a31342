// Derivatives to order n in both modes.
import { describe, expect, it } from 'vitest'
import {
  ArgumentError,
  abs,
  add,
  DTypeError,
  exp,
  GradientError,
  layerNorm,
  matmul,
  mul,
  relu,
  softmax,
  square,
  sum,
  type Tensor,
  tanh,
  tensor,
} from '../../src/index.js'
import { type CheckGradsReport, checkGrads, GradcheckError } from '../../src/testing/index.js'
import { at, errorOf, fixed, leaf, operation } from './harness.js'

function paths({ checks }: CheckGradsReport): string[] {
  return checks.map(({ modes }) => modes.join(' over '))
}

/** x³ whose derivatives of the given order is wrong by a factor, and all lower ones right. */
function cube(wrongOrder: number): (x: Tensor) => Tensor {
  const factor = (order: number) => (order === wrongOrder ? 1.1 : 1)
  const sixfold = operation('sixfold', (x) => mul(x, 6), [{ saves: [], rule: (g) => mul(g, 6 * factor(3)) }])
  const slope = operation('slope', (x) => mul(square(x), 3), [
    { saves: [0], rule: (g, call) => mul(g, mul(sixfold(call.input(0)), factor(2))) },
  ])
  return operation('cube', (x) => mul(square(x), x), [
    { saves: [0], rule: (g, call) => mul(g, mul(slope(call.input(0)), factor(1))) },
  ])
}

describe('checkGrads passes right derivatives', () => {
  it('of the first order, in both modes', () => {
    const report = checkGrads((x, y) => tanh(matmul(x, y)), [leaf([2, 3]), leaf([3, 2], 1)])
    expect(report).toMatchObject({ ok: true, verdict: 'right', order: 1 })
    expect(paths(report)).toEqual(['reverse', 'forward'])
    expect(report.checks.map(({ report: { entries } }) => entries)).toEqual([48, 48])
    expect(String(report)).toMatch(/^checkGrads, reverse passed: .*\n(.*\n)*checkGrads, forward passed: /)
  })

  it('of the second, in all nestings', () => {
    const report = checkGrads((x) => softmax(x), [leaf([2, 2])], { order: 2, modes: ['reverse', 'forward'] })
    expect(paths(report)).toEqual([
      'reverse',
      'forward',
      'reverse over reverse',
      'forward over reverse',
      'reverse over forward',
      'forward over forward',
    ])
  })

  it.each<[string, (x: Tensor) => Tensor]>([
    ['exp · tanh', (x) => mul(exp(x), tanh(x))],
    ['matmul with itself', (x) => sum(matmul(x, x))],
    ['layerNorm', (x) => layerNorm(x)],
  ])('of the third: %s', (_, fn) => {
    const report = checkGrads(fn, [leaf([2, 2])], { order: 3 })
    expect(report).toMatchObject({ ok: true, order: 3 })
    expect(report.checks).toHaveLength(2 + 4 + 8)
  })

  it('in one mode', () => {
    expect(paths(checkGrads((x) => exp(x), [leaf([2])], { order: 3, modes: ['forward'] }))).toEqual([
      'forward',
      'forward over forward',
      'forward over forward over forward',
    ])
    expect(paths(checkGrads((x) => exp(x), [leaf([2])], { order: 2, modes: ['reverse'] }))).toHaveLength(2)
  })

  it('of trees, with names of their parts', () => {
    const parameters = { weights: [leaf([2, 3]), leaf([3, 1], 1)], bias: leaf([1], 2) }
    const report = checkGrads(
      (p, x, factor) => {
        const [first, second] = p.weights as [Tensor, Tensor]
        return { loss: mul(add(matmul(tanh(matmul(x, first)), second), p.bias), factor) }
      },
      [parameters, fixed([2, 2]), 3],
      { order: 2 },
    )
    expect(report.checks[0]?.report.inputs.map(({ name }) => name)).toEqual([
      'argument 0.weights[0]',
      'argument 0.weights[1]',
      'argument 0.bias',
    ])
  })

  it('of tensors that need no gradient, where none does', () => {
    const x = fixed([3])
    const report = checkGrads((a, i) => mul(square(a), i.to('float64')), [x, tensor([1, 2, 3], { dtype: 'int32' })])
    expect(report.checks[0]?.report.inputs.map(({ name }) => name)).toEqual(['argument 0'])
    expect(x.requiresGrad).toBe(false)
  })

  it('at kinks', () => {
    const report = checkGrads((x) => square(relu(x)), [at(0, 1)], { order: 2 })
    expect(report.checks.slice(2).map(({ report: { nonDifferentiable } }) => nonDifferentiable[0]?.kind)).toEqual(
      Array<string>(4).fill('kink'),
    )
  })

  it('of large inputs, by samples', () => {
    const report = checkGrads((x) => sum(mul(tanh(x), x)), [leaf([5000])], { order: 2, samples: 4, directions: 2 })
    for (const { report: each } of report.checks)
      expect(each).toMatchObject({ ok: true, mode: 'sampled', directions: 2 })
  })

  it('with inputs and leaves of the closure left as they are', () => {
    const x = leaf([2, 2])
    const weight = leaf([2, 2], 1)
    const before = x.data
    checkGrads((given) => matmul(given, weight), [x], { order: 2 })
    expect([x.grad, weight.grad]).toEqual([null, null])
    expect(x.data).toEqual(before)
  })
})

describe('checkGrads fails', () => {
  const message = (run: () => unknown) => {
    const error = errorOf(run)
    expect(error).toBeInstanceOf(GradcheckError)
    return error.message
  }

  it.each([1, 2, 3])('for a derivative of order %i that is wrong, and not below', (order) => {
    const x = at(0.5, -2)
    if (order > 1) expect(checkGrads((given) => cube(order)(given), [x], { order: order - 1 }).ok).toBe(true)
    const text = message(() => checkGrads((given) => cube(order)(given), [x], { order }))
    const outcomes = text.split('\n').filter((line) => line.startsWith('checkGrads'))
    for (const line of outcomes) {
      const depth = line.slice(0, line.search(/ (passed|failed)/)).split(' over ').length
      expect(line).toContain(depth === order ? 'failed' : 'passed')
    }
    expect(outcomes).toHaveLength(2 ** (order + 1) - 2)
  })

  it.each(['reverse', 'forward'] as const)('in %s mode alone', (mode) => {
    const text = message(() => checkGrads((x) => cube(2)(x), [at(1)], { order: 2, modes: [mode] }))
    expect(text).toMatch(new RegExp(`^checkGrads, ${mode} passed(.*\n)*checkGrads, ${mode} over ${mode} failed`))
  })

  it('with the first report that is', () => {
    const error = errorOf(() => checkGrads((x) => cube(1)(x), [at(1, 3)]))
    expect(error instanceof GradcheckError && error.report).toMatchObject({
      verdict: 'wrong',
      worst: { input: 0, analytic: 27 * 1.1 },
    })
  })

  it('where forward and reverse mode differ by less than differences can tell', () => {
    // A rule that is not linear by a little: the forward pass takes its slope at 0.
    const bent = operation('bent', (x) => mul(x, 2), [{ saves: [], rule: (g) => mul(g, add(mul(square(g), 1e-8), 2)) }])
    const text = message(() => checkGrads((x) => bent(x), [at(1, 2)]))
    expect(text).toContain('checkGrads, reverse passed')
    expect(text).toMatch(/checkGrads, forward failed: 4 derivatives agree, but see below/)
    expect(text).toMatch(/Forward and reverse mode disagree: .* ⟨w, J u⟩ is -?\d.* by a forward pass and -?\d/)
  })

  it('at a kink where the derivative is outside of the slopes', () => {
    const wrong = operation('wrong', (x) => abs(x), [{ saves: [], rule: (g) => mul(g, 1.5) }])
    expect(message(() => checkGrads((x) => wrong(x), [at(0)]))).toMatch(/not differentiable \(kink\).*wrong/)
  })
})

describe('misuse of checkGrads is told', () => {
  it.each<[string, () => unknown, new (message: string) => Error, RegExp]>([
    ['order', () => checkGrads((x) => x, [leaf([1])], { order: 0 }), ArgumentError, /order/],
    ['modes', () => checkGrads((x) => x, [leaf([1])], { modes: [] }), ArgumentError, /modes/],
    [
      'a mode',
      () => checkGrads((x) => x, [leaf([1])], { modes: ['backward' as never] }),
      ArgumentError,
      /got backward/,
    ],
    ['an option', () => checkGrads((x) => x, [leaf([1])], { mods: 1 } as never), ArgumentError, /no option mods/],
    ['no function', () => checkGrads(3 as never, [leaf([1])]), ArgumentError, /needs a function/],
    ['no array', () => checkGrads((x: Tensor) => x, leaf([1]) as never), ArgumentError, /args must be an array/],
    ['nothing to check', () => checkGrads((n: number) => fixed([n]), [2]), GradientError, /no gradient to check/],
    ['float32', () => checkGrads((x) => x.to('float32'), [leaf([1])]), DTypeError, /output 0 is float32/],
    ['no tensor', () => checkGrads((_: Tensor) => 3, [leaf([1])]), ArgumentError, /must be a tensor, got number/],
  ])('%s', (_, run, type, message) => {
    const error = errorOf(run)
    expect(error).toBeInstanceOf(type)
    expect(error.message).toMatch(/^checkGrads: /)
    expect(error.message).toMatch(message)
  })
})
