import { describe, expect, it } from 'vitest'
import {
  ArgumentError,
  add,
  backward,
  concat,
  crossEntropy,
  DTypeError,
  detach,
  div,
  exp,
  GradientError,
  gelu,
  indexSelect,
  log,
  logSoftmax,
  manualSeed,
  matmul,
  max,
  maximum,
  mean,
  mseLoss,
  mul,
  noGrad,
  ones,
  permute,
  pow,
  rand,
  reshape,
  ShapeError,
  scaledDotProductAttention,
  sigmoid,
  slice,
  softmax,
  split,
  square,
  stack,
  sub,
  sum,
  type Tensor,
  tanh,
  tapeOf,
  tensor,
  transpose,
  variance,
  WengertError,
  where,
} from '../../src/index.js'
import { assertGradcheck, type DifferentiableFunction, GradcheckError, gradcheck } from '../../src/testing/index.js'
import { at, errorOf, fixed, leaf, operation } from './harness.js'

const right: [name: string, fn: DifferentiableFunction, inputs: Tensor[]][] = [
  ['add, broadcast', (a, b) => add(a, b), [leaf([2, 3]), leaf([3], 1)]],
  ['sub of one input by itself', (x) => sub(x, mul(x, 3)), [leaf([4])]],
  ['mul, both broadcast', (a, b) => mul(a, b), [leaf([2, 1]), leaf([1, 3], 1)]],
  ['div', (a, b) => div(a, b), [leaf([2, 2]), leaf([2, 2], 1)]],
  ['pow', (a, b) => pow(square(a), b), [leaf([3]), leaf([3], 1)]],
  ['exp, log', (x) => log(add(exp(x), 1)), [leaf([3])]],
  ['tanh, sigmoid, gelu', (x) => gelu(mul(tanh(x), sigmoid(x))), [leaf([5])]],
  ['maximum', (a, b) => maximum(a, b), [leaf([4]), leaf([4], 1)]],
  ['where', (a, b) => where(a.gt(0), a, mul(a, b)), [leaf([4]), leaf([4], 1)]],
  ['matmul, batches broadcast', (a, b) => matmul(a, b), [leaf([2, 1, 2, 3]), leaf([2, 3, 2], 1)]],
  ['sum, mean, max over axes', (x) => [sum(x, { axis: 0 }), mean(x, { axis: 1 }), max(x)], [leaf([2, 3])]],
  ['variance', (x) => variance(x, { axis: 1 }), [leaf([2, 4])]],
  ['views', (x) => transpose(reshape(permute(x, [1, 0]), [2, 3])), [leaf([2, 3])]],
  ['slice, split', (x) => [slice(x, 1), ...split(x, 2)], [leaf([4])]],
  ['concat, stack', (a, b) => [concat([a, b]), stack([b, b])], [leaf([2]), leaf([2], 1)]],
  ['softmax', (x) => softmax(x), [leaf([3, 4])]],
  ['logSoftmax', (x) => logSoftmax(x, 0), [leaf([3, 4])]],
  ['mseLoss', (x, y) => mseLoss(x, y), [leaf([3]), leaf([3], 1)]],
  [
    'attention',
    (q, k, v) => scaledDotProductAttention(q, k, v, { causal: true }),
    [leaf([3, 2]), leaf([3, 2], 1), leaf([3, 2], 2)],
  ],
]

describe('a right gradient passes', () => {
  it.each(right)('%s', (_, fn, inputs) => {
    const report = gradcheck(fn, inputs)
    expect(String(report)).toContain('gradcheck passed')
    expect(report).toMatchObject({ ok: true, failed: 0, mode: 'full', deterministic: true, notes: [] })
    expect(report.maxRelativeError).toBeLessThan(1e-6)
    assertGradcheck(fn, inputs)
  })

  it('of a function with integer and bool inputs, which are passed on as they are', () => {
    const classes = tensor(Int32Array.of(2, 0))
    const mask = tensor([true, false, true])
    const seen: unknown[] = []
    const report = gradcheck(
      (x, target, chosen) => {
        seen.push(target, chosen)
        return crossEntropy(where(chosen, x, 0.5), target)
      },
      [leaf([2, 3]), classes, mask],
    )
    expect(report.ok).toBe(true)
    expect(report.inputs.map(({ input }) => input)).toEqual([0])
    expect(new Set(seen)).toEqual(new Set([classes, mask]))
  })

  it('of a float64 input that needs no gradient, which is passed on too', () => {
    const report = gradcheck((a, b) => mul(a, b), [fixed([2]), leaf([2], 1)])
    expect(report.ok).toBe(true)
    expect(report.inputs.map(({ input, name }) => [input, name])).toEqual([[1, 'input 1']])
  })

  it('of scalars', () => {
    const report = gradcheck((a, b) => mul(a, b), [leaf([]), leaf([], 1)])
    expect(report).toMatchObject({ ok: true, entries: 2, worst: { index: [], output: 0, outputIndex: [] } })
  })

  it('of inputs without entries', () => {
    const report = gradcheck((a, b) => add(sum(a), b), [leaf([0, 3]), leaf([2])])
    expect(report).toMatchObject({ ok: true, entries: 4 })
    expect(report.inputs.map(({ entries }) => entries)).toEqual([0, 4])
    const nothing = gradcheck((a) => mul(a, 2), [leaf([0])])
    expect(nothing).toMatchObject({ ok: true, entries: 0, worst: null })
    expect(String(nothing)).toContain('nothing to compare')
  })

  it('where an input is ignored', () => {
    const report = gradcheck((a) => exp(a), [leaf([2]), leaf([3], 1)])
    expect(report).toMatchObject({ ok: true, entries: 10, notes: [] })
    expect(report.inputs[1]).toMatchObject({ entries: 6, failed: 0, maxAbsoluteError: 0 })
  })

  it('where an output does not depend on the inputs, or is an input', () => {
    const report = gradcheck((a) => [a, fixed([2]), mul(fixed([1]), 2)], [leaf([2])])
    expect(report).toMatchObject({ ok: true, entries: 10, notes: [] })
  })

  it('where the same tensor stands for two inputs', () => {
    const x = leaf([2])
    const report = gradcheck((a, b) => mul(a, b), [x, x])
    expect(report).toMatchObject({ ok: true, entries: 8 })
  })

  it('of views and of results of recorded operations', () => {
    const matrix = leaf([2, 3])
    const report = gradcheck((a, b) => matmul(a, b), [transpose(matrix), exp(matrix)])
    expect(report).toMatchObject({ ok: true, entries: 2 * 6 * 9 })
  })

  it('of a function that differentiates inside', () => {
    const slope = (x: Tensor): Tensor => {
      backward(sum(mul(square(x), x)), undefined, { createGraph: true })
      return x.grad as Tensor
    }
    expect(gradcheck((x) => slope(x), [leaf([3])])).toMatchObject({ ok: true, entries: 9 })
  })

  it('by moving one entry at a time, by eps to either side', () => {
    const moves: number[][] = []
    const watched = (x: Tensor) => {
      moves.push([...x.data].map((value, i) => value - (i + 1)))
      return mul(x, 2)
    }
    gradcheck(watched, [at(1, 2)], { eps: 0.25 })
    const moved = moves.filter((move) => move.some((distance) => distance !== 0))
    expect(moved).toEqual([
      [0.25, 0],
      [-0.25, 0],
      [0, 0.25],
      [0, -0.25],
    ])
  })

  it('of a smooth function without a second look', () => {
    let calls = 0
    gradcheck(
      (x) => {
        calls++
        return exp(x)
      },
      [at(1, 2, 3)],
    )
    // Three times at the point, to see that the outputs stay, and twice for each of three steps of each entry.
    expect(calls).toBe(3 + 2 * 3 * 3)
  })

  it('with one step of eps without a second look', () => {
    let calls = 0
    gradcheck(
      (x) => {
        calls++
        return exp(x)
      },
      [at(1, 2, 3)],
      { eps: 1e-6 },
    )
    expect(calls).toBe(3 + 2 * 3)
  })

  it('also within noGrad', () => {
    expect(noGrad(() => gradcheck((x) => exp(x), [leaf([2])])).ok).toBe(true)
  })
})

describe('the report', () => {
  const doubled = operation('doubled', (x) => mul(x, 2), [
    { saves: [], rule: (g) => mul(g, tensor([2, 2, 5], { dtype: 'float64' })) },
  ])

  it('names the worst entry with both values and errors', () => {
    const report = gradcheck((a, b) => [mul(a, 2), doubled(b)], [leaf([2]), leaf([2, 3], 1)])
    expect(report).toMatchObject({ ok: false, mode: 'full', entries: 8 * 8, directions: 0, failed: 2 })
    expect(report.worst).toMatchObject({ input: 1, output: 1, analytic: 5 })
    expect(report.worst?.index?.[1]).toBe(2)
    expect(report.worst?.outputIndex).toEqual(report.worst?.index)
    expect(report.worst?.numeric).toBeCloseTo(2, 6)
    expect(report.worst?.absoluteError).toBeCloseTo(3, 6)
    expect(report.worst?.relativeError).toBeCloseTo(3 / 5, 6)
    expect(report.maxAbsoluteError).toBe(report.worst?.absoluteError)
    expect(report.maxRelativeError).toBe(report.worst?.relativeError)
  })

  it('sums up each input', () => {
    const [first, second] = gradcheck((a, b) => [mul(a, 2), doubled(b)], [leaf([2]), leaf([2, 3], 1)]).inputs
    expect(first).toMatchObject({ input: 0, name: 'input 0', shape: [2], entries: 16, failed: 0 })
    expect(first?.maxAbsoluteError).toBeLessThan(1e-8)
    expect(second).toMatchObject({ input: 1, shape: [2, 3], entries: 48, failed: 2, worst: { input: 1, analytic: 5 } })
    expect(first?.worst).toMatchObject({ input: 0 })
    expect(second?.maxAbsoluteError).toBeCloseTo(3, 6)
  })

  it('is a few readable lines', () => {
    expect(String(gradcheck((x) => doubled(x), [at(1, 2, 4)]))).toMatch(
      /^gradcheck failed: 1 of 9 derivatives disagree \(extrapolated differences of 1[2-5] digits, rtol 1e-6\)\n {2}input 0 \(3,\): 9 derivatives, 1 wrong, max absolute error 3\.0e\+0, relative 6\.0e-1\n {2}worst: ∂ output 0 \[2\] \/ ∂ input 0 \[2\]: analytic 5, numeric 2 ± \d\.\de-1[3-6], absolute error 3\.0e\+0, relative 6\.0e-1$/,
    )
    expect(String(gradcheck((x) => doubled(x), [at(1, 2, 4)], { eps: 1e-6 }))).toMatch(
      /^gradcheck failed: 1 of 9 derivatives disagree \(eps 1e-6, atol 1e-5, rtol 1e-3\)\n {2}input 0 \(3,\): 9 derivatives, 1 wrong, max absolute error 3\.0e\+0, relative 6\.0e-1\n {2}worst: ∂ output 0 \[2\] \/ ∂ input 0 \[2\]: analytic 5, numeric 2(\.\d+)?, absolute error 3\.0e\+0, relative 6\.0e-1$/,
    )
    expect(String(gradcheck((x) => mul(x, 2), [at(1)]))).toMatch(
      /^gradcheck passed: 1 derivative agrees .*\n {2}input 0 \(1,\): 1 derivative, max absolute error \S+, relative \S+$/,
    )
  })

  it('is carried by the error of assertGradcheck', () => {
    const error = errorOf(() => assertGradcheck((x) => doubled(x), [at(1, 2, 4)]))
    expect(error).toBeInstanceOf(GradcheckError)
    expect(error).toBeInstanceOf(WengertError)
    if (!(error instanceof GradcheckError)) return
    expect(error.name).toBe('GradcheckError')
    expect(error.report.worst).toMatchObject({ input: 0, index: [2], analytic: 5 })
    expect(error.message).toBe(String(error.report))
  })

  it('takes relative errors by the largest derivative of an input, so that entries near 0 do not blow them up', () => {
    const wrong = operation('wrong', (x) => mul(x, 4), [
      { saves: [], rule: (g) => mul(g, tensor(Float64Array.of(4, 5))) },
    ])
    const report = gradcheck((x, y) => [wrong(x), sum(mul(square(y), 1e-12))], [at(1, 1), at(1)])
    expect(report.inputs[0]?.maxRelativeError).toBeCloseTo(1 / 5, 6)
    expect(report.inputs[1]?.maxRelativeError).toBeLessThan(1)
    expect(report.maxRelativeError).toBeCloseTo(1 / 5, 6)
  })

  it('takes the tolerances given', () => {
    const nearly = operation('nearly', (x) => mul(x, 2), [{ saves: [], rule: (g) => mul(g, 2.01) }])
    const check = (options: { atol?: number; rtol?: number }) => gradcheck((x) => nearly(x), [at(1)], options).ok
    expect(check({})).toBe(false)
    expect(check({ rtol: 0.006 })).toBe(true)
    expect(check({ atol: 0.011 })).toBe(true)
    expect(check({ atol: 0.009, rtol: 0 })).toBe(false)
  })

  it('says where derivatives are too small for the tolerance', () => {
    const wrong = operation('tiny', (x) => mul(x, 1e-6), [{ saves: [], rule: (g) => mul(g, 0) }])
    for (const options of [{ eps: 1e-6 }, { atol: 1e-5 }]) {
      const report = gradcheck((x) => wrong(x), [at(1)], options)
      expect(report.ok).toBe(true)
      expect(report.notes.join()).toMatch(/No derivative towards input 0 is larger than 1\.0e-6/)
    }
    expect(gradcheck((x) => wrong(x), [at(1)], { atol: 1e-9 }).ok).toBe(false)
    expect(gradcheck((x) => wrong(x), [at(1)]).ok).toBe(false)
  })

  it('says where rounding drowns the differences of one step', () => {
    const drowned = (x: Tensor) => add(square(x), 1e9)
    const report = gradcheck(drowned, [at(0.5)], { eps: 1e-6 })
    expect(report).toMatchObject({ ok: false, verdict: 'noisy', failed: 0, noisy: 1, digits: null })
    expect(report.notes.join()).toMatch(/rounding/)
    expect(gradcheck(drowned, [at(0.5)], { eps: 1e-2 }).ok).toBe(true)
    expect(gradcheck(drowned, [at(0.5)]).ok).toBe(true)
  })
})

describe('what the caller holds stays as it is', () => {
  it('the inputs: numbers, grad, graph', () => {
    const x = leaf([2, 2])
    const before = x.data
    const y = exp(x)
    x.grad = ones([2, 2], { dtype: 'float64' })
    const { grad } = x
    const tape = String(tapeOf(y))
    gradcheck((a, b) => matmul(a, b), [x, y])
    expect(x.data).toEqual(before)
    expect(x.grad).toBe(grad)
    expect(grad?.data).toEqual(Float64Array.of(1, 1, 1, 1))
    expect(String(tapeOf(y))).toBe(tape)
    backward(sum(y))
    expect(x.grad?.data).toEqual(y.data.map((value) => value + 1))
  })

  it('leaves that the function closes over', () => {
    const weight = leaf([2, 2])
    const report = gradcheck((x) => matmul(x, weight), [leaf([1, 2], 1)])
    expect(report.ok).toBe(true)
    expect(weight.grad).toBeNull()
    expect(weight.requiresGrad).toBe(true)
  })

  it("the library's random numbers", () => {
    manualSeed(3)
    const expected = rand([2]).data
    manualSeed(3)
    gradcheck((x) => exp(x), [leaf([2])], { mode: 'sampled' })
    expect(rand([2]).data).toEqual(expected)
  })
})

describe('a function that is not deterministic fails', () => {
  it('where it draws random numbers', () => {
    manualSeed(0)
    const report = gradcheck((x) => mul(x, rand([3], { dtype: 'float64' })), [leaf([3])])
    expect(report).toMatchObject({ ok: false, deterministic: false, entries: 0, worst: null })
    expect(report.notes.join()).toMatch(/not deterministic: the same inputs gave different outputs/)
    expect(report.verdict).toBe('noisy')
    expect(String(report)).toContain('gradcheck undecided: not deterministic')
  })

  it('where it changes after a while', () => {
    let calls = 0
    const report = gradcheck((x) => mul(x, ++calls > 4 ? 2 : 1), [leaf([2])])
    expect(report).toMatchObject({ ok: false, deterministic: false })
  })

  it('where only its gradient changes', () => {
    let sweeps = 0
    const drifting = operation('drifting', (x) => mul(x, 2), [{ saves: [], rule: (g) => mul(g, 2 + 1e-12 * sweeps++) }])
    const report = gradcheck((x) => drifting(x), [leaf([2])])
    expect(report).toMatchObject({ ok: false, deterministic: false, failed: 0 })
    expect(String(report)).toContain('gradcheck failed: 4 derivatives agree, but see below')
    expect(report.notes.join()).toMatch(/The gradient is not deterministic/)
  })

  it('and not where it sets the seed itself', () => {
    const noisy = (x: Tensor) => {
      manualSeed(5)
      return mul(x, rand([3], { dtype: 'float64' }))
    }
    expect(gradcheck(noisy, [leaf([3])]).ok).toBe(true)
  })
})

describe('misuse is told', () => {
  it.each<[string, () => unknown, new (message: string) => Error, RegExp]>([
    [
      'float32 with requiresGrad',
      () => gradcheck((x) => x, [tensor([1], { requiresGrad: true })]),
      DTypeError,
      /input 0 is float32.*to\('float64'\)/,
    ],
    [
      'no requiresGrad',
      () => gradcheck((x) => x, [fixed([2])]),
      GradientError,
      /none of the 1 inputs has requiresGrad/,
    ],
    ['no inputs', () => gradcheck(() => fixed([2]), []), GradientError, /none of the 0 inputs/],
    ['float32 output', () => gradcheck((x) => x.to('float32'), [leaf([2])]), DTypeError, /output 0 is float32/],
    [
      'bool output',
      () => gradcheck((x) => [x, x.gt(0)], [leaf([2])]),
      DTypeError,
      /output 1 is bool, which has no derivative/,
    ],
    ['no outputs', () => gradcheck(() => [], [leaf([2])]), ArgumentError, /empty array/],
    ['infinite input', () => gradcheck((x) => x, [at(1, Number.NaN)]), ArgumentError, /input 0 \[1\] is NaN/],
    [
      'input beyond eps',
      () => gradcheck((x) => x, [at(1e12)], { eps: 1e-6 }),
      ArgumentError,
      /input 0 \[0\] is 1000000000000, beside which a step/,
    ],
    ['eps', () => gradcheck((x) => x, [leaf([1])], { eps: 0 }), ArgumentError, /eps must be a positive number, got 0/],
    ['rtol', () => gradcheck((x) => x, [leaf([1])], { rtol: -1 }), ArgumentError, /rtol/],
    ['atol', () => gradcheck((x) => x, [leaf([1])], { atol: Number.NaN }), ArgumentError, /atol/],
    ['samples', () => gradcheck((x) => x, [leaf([1])], { samples: 0 }), ArgumentError, /samples/],
    ['directions', () => gradcheck((x) => x, [leaf([1])], { directions: 1.5 }), ArgumentError, /directions/],
    [
      'samples in full',
      () => gradcheck((x) => x, [leaf([1])], { mode: 'full', samples: 3 }),
      ArgumentError,
      /belong to mode 'sampled'/,
    ],
  ])('%s', (_, run, type, message) => {
    const error = errorOf(run)
    expect(error).toBeInstanceOf(type)
    expect(error.message).toMatch(/^gradcheck: /)
    expect(error.message).toMatch(message)
  })

  it('a function that returns no tensor', () => {
    const number = (() => 3) as unknown as DifferentiableFunction
    expect(() => gradcheck(number, [leaf([1])])).toThrow(
      /what the function returns \(output 0\) must be a tensor, got number/,
    )
    const later = (async () => leaf([1])) as unknown as DifferentiableFunction
    expect(() => gradcheck(later, [leaf([1])])).toThrow(/returned a Promise/)
  })

  it('inputs that are no array of tensors', () => {
    expect(() => gradcheck((x) => x, leaf([1]) as unknown as Tensor[])).toThrow(/inputs must be an array/)
    expect(() => gradcheck((x) => x, [3 as unknown as Tensor])).toThrow(/input 0 must be a tensor, got number/)
  })

  it('shapes that change with the numbers', () => {
    const x = at(0.5, 1)
    const growing = (given: Tensor) => {
      const moved = given.data[0] !== 0.5
      return moved ? concat([given, given]) : given
    }
    expect(() => gradcheck(growing, [x])).toThrow(ShapeError)
    expect(() => gradcheck(growing, [x])).toThrow(/output 0 had shape \(2,\) at first and \(4,\)/)
  })

  it('what the function throws passes through', () => {
    const thrown = new Error('mine')
    const run = () =>
      gradcheck(() => {
        throw thrown
      }, [leaf([1])])
    expect(errorOf(run)).toBe(thrown)
  })
})

describe('a function that is cut off from the tape fails with a hint', () => {
  it('an output', () => {
    const report = gradcheck((x) => [exp(x), exp(detach(x))], [leaf([2])])
    expect(report).toMatchObject({ ok: false, failed: 2, worst: { output: 1, analytic: 0 } })
    expect(report.notes).toEqual([
      expect.stringMatching(/^Output 1 needs no gradient although it changes with the inputs: .*detach/),
    ])
  })

  it('an input', () => {
    const report = gradcheck((x, y) => mul(x, detach(y)), [leaf([2]), leaf([2], 1)])
    expect(report).toMatchObject({ ok: false, failed: 2, worst: { input: 1, analytic: 0 } })
    expect(report.notes).toEqual([
      expect.stringMatching(/^No gradient reaches input 1 although the outputs change with it/),
    ])
  })

  it('part of a dependence', () => {
    const report = gradcheck((x) => indexSelect(mul(x, detach(x)), 0, tensor([0], { dtype: 'int32' })), [leaf([2])])
    expect(report).toMatchObject({ ok: false, failed: 1, worst: { input: 0, index: [0], outputIndex: [0] } })
  })
})
