// Functions of plain numbers with derivatives written by hand: what a check can say of them.
import { describe, expect, it } from 'vitest'
import { ArgumentError, ShapeError } from '../../src/index.js'
import { assertGradcheckPlain, GradcheckError, gradcheckPlain } from '../../src/testing/index.js'
import { errorOf } from './harness.js'

const sumOf = (x: Float64Array, term: (value: number) => number) => x.reduce((total, value) => total + term(value), 0)
const squares = (x: Float64Array) => sumOf(x, (value) => value * value)
const twice = (x: Float64Array) => x.map((value) => 2 * value)

/** Pseudo-random numbers on [−1, 1) by the bits of a number: the same each time, as a deterministic function's errors. */
function scatter(value: number): number {
  const bits = new Uint32Array(Float64Array.of(value).buffer)
  let mixed = Math.imul((bits[0] as number) ^ Math.imul(bits[1] as number, 0x9e3779b1), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) / 2 ** 31
}

describe('a right gradient', () => {
  it('passes, with the digits that differences have', () => {
    const report = gradcheckPlain(squares, twice, [1, -2, 3])
    expect(report).toMatchObject({ ok: true, verdict: 'right', entries: 3, failed: 0, noisy: 0, notes: [] })
    expect(report.digits).toBeGreaterThan(11)
    expect(String(report)).toMatch(
      /^gradcheckPlain passed: 3 derivatives agree \(extrapolated differences of 1\d digits/,
    )
    expect(report.worst).toMatchObject({ input: 0, output: 0, outputIndex: [] })
    assertGradcheckPlain(squares, twice, [1, -2, 3])
  })

  it('of functions of many kinds passes', () => {
    const functions: [(x: number) => number, (x: number) => number, number[]][] = [
      [Math.exp, Math.exp, [-20, -1, 0, 1e-3, 3, 50]],
      [Math.log, (x) => 1 / x, [1e-12, 1e-3, 0.9, 1.1, 1e9]],
      [Math.sin, Math.cos, [0, 0.5, Math.PI / 2, 3, 1e3]],
      [Math.tanh, (x) => 1 / Math.cosh(x) ** 2, [-5, -0.1, 0, 2, 8]],
      [Math.sqrt, (x) => 0.5 / Math.sqrt(x), [1e-10, 0.01, 4, 1e10]],
      [(x) => 1 / x, (x) => -1 / (x * x), [-1e-6, 0.01, 7]],
      [(x) => 1 / (x - 1), (x) => -1 / (x - 1) ** 2, [0.99, 1.0001, 2]],
      [(x) => x ** 7 - x ** 3, (x) => 7 * x ** 6 - 3 * x ** 2, [-3, 0, 1, 20]],
      [(x) => Math.sin(1000 * x), (x) => 1000 * Math.cos(1000 * x), [0, 1, 3]],
      [(x) => Math.exp(-((x / 1e-4) ** 2)), (x) => (-2e8 * x) / Math.exp((x / 1e-4) ** 2), [0, 3e-5, 2e-4]],
    ]
    for (const [f, slope, points] of functions) {
      for (const point of points) {
        const report = gradcheckPlain(
          (x) => f(x[0] as number),
          (x) => [slope(x[0] as number)],
          [point],
        )
        expect([String(f), point, report.verdict, report.nonDifferentiable.length]).toEqual([
          String(f),
          point,
          'right',
          0,
        ])
      }
    }
  })

  it('at points of 1e-8 and 1e8, together, passes, and a wrong one fails, without tuning', () => {
    const scales = [1e-8, 1, 1e8, 1e-30, 1e30]
    const f = (x: Float64Array) =>
      sumOf(
        x.map((value, i) => Math.exp(value / (scales[i] as number))),
        (value) => value,
      )
    const gradient = (x: Float64Array) =>
      x.map((value, i) => Math.exp(value / (scales[i] as number)) / (scales[i] as number))
    const point = [0.7e-8, 0.3, -0.4e8, 1.1e-30, 0.2e30]
    const report = gradcheckPlain(f, gradient, point)
    expect(report).toMatchObject({ ok: true, verdict: 'right', failed: 0 })
    for (let entry = 0; entry < point.length; entry++) {
      for (const factor of [1 + 1e-5, 0.5, 0, -1]) {
        const wrong = (x: Float64Array) => gradient(x).map((slope, i) => (i === entry ? factor * slope : slope))
        expect(gradcheckPlain(f, wrong, point)).toMatchObject({
          verdict: 'wrong',
          failed: 1,
          worst: { index: [entry], verdict: 'wrong' },
        })
      }
    }
  })

  it('at small entries of a function that does not care for their size passes, and a wrong one fails', () => {
    const f = (x: Float64Array) => Math.exp(x[0] as number) * Math.cos(x[1] as number)
    const gradient = (x: Float64Array) => [f(x), -Math.exp(x[0] as number) * Math.sin(x[1] as number)]
    for (const point of [
      [1e-8, 1],
      [1e-30, 1],
      [1e-12, 1e-3],
      [0, 0],
      [1e-30, 1e-30],
    ]) {
      expect(gradcheckPlain(f, gradient, point).verdict).toBe('right')
      for (const wrong of [0, 1.001, 2]) {
        const report = gradcheckPlain(f, (x) => gradient(x).map((slope, i) => (i === 0 ? wrong * slope : slope)), point)
        expect(report).toMatchObject({ verdict: 'wrong', worst: { index: [0] } })
      }
    }
  })

  it('beside a large constant passes as far as it can be told, and says how far that is', () => {
    const f = (x: Float64Array) => 1e9 + squares(x)
    const report = gradcheckPlain(f, twice, [0.5])
    expect(report.verdict).toBe('right')
    expect(report.digits).toBeGreaterThan(3)
    expect(report.digits).toBeLessThan(7)
    expect(gradcheckPlain(f, (x) => x.map((value) => 2.01 * value), [0.5]).verdict).toBe('wrong')
    expect(gradcheckPlain(f, twice, [0.5], { atol: 0 }).verdict).toBe('noisy')
    expect(gradcheckPlain((x) => 1e13 + squares(x), twice, [0.5]).verdict).toBe('noisy')
  })

  it('of 0 passes', () => {
    expect(
      gradcheckPlain(
        () => 3,
        () => [0, 0],
        [1, 2],
      ),
    ).toMatchObject({ ok: true, digits: null })
    const softmaxSum = (x: Float64Array) => {
      const total = sumOf(x, Math.exp)
      return sumOf(x, (value) => Math.exp(value) / total)
    }
    expect(gradcheckPlain(softmaxSum, () => [0, 0, 0], [0.3, -1, 2]).verdict).toBe('right')
    expect(gradcheckPlain(softmaxSum, () => [0, 1e-6, 0], [0.3, -1, 2]).verdict).toBe('wrong')
  })
})

describe('a wrong gradient', () => {
  it('fails, with the numeric derivative and its error', () => {
    const report = gradcheckPlain(squares, (x) => x, [1, -2, 3])
    expect(report).toMatchObject({ ok: false, verdict: 'wrong', failed: 3, noisy: 0 })
    expect(report.worst).toMatchObject({ index: [2], analytic: 3, verdict: 'wrong' })
    expect(report.worst?.numeric).toBeCloseTo(6, 11)
    expect(report.worst?.numericError).toBeLessThan(1e-11)
    expect(String(report)).toMatch(/worst: ∂ f \/ ∂ x \[2\]: analytic 3, numeric 6 ± \S+, absolute error/)
  })

  it('fails where it is off by as little as an eps left out', () => {
    const norm = (x: Float64Array) => Math.sqrt(squares(x) + 1e-5)
    const forgotten = (x: Float64Array) => x.map((value) => value / Math.sqrt(squares(x)))
    expect(gradcheckPlain(norm, (x) => x.map((value) => value / norm(x)), [0.6, 0.8]).verdict).toBe('right')
    expect(gradcheckPlain(norm, forgotten, [0.6, 0.8]).verdict).toBe('wrong')
  })

  it('is the message of the error', () => {
    const error = errorOf(() => assertGradcheckPlain(squares, (x) => x, [1]))
    expect(error).toBeInstanceOf(GradcheckError)
    expect(error.message).toMatch(/^gradcheckPlain failed: 1 of 1 derivative disagree/)
  })

  it('fails where it is not the same each time', () => {
    let calls = 0
    const report = gradcheckPlain(squares, (x) => x.map((value) => 2 * value + 1e-9 * calls++), [1])
    expect(report).toMatchObject({ ok: false, verdict: 'wrong', deterministic: false })
  })
})

describe('a noisy function is too noisy to say', () => {
  const right: [name: string, f: (x: Float64Array) => number, gradient: (x: Float64Array) => Float64Array][] = [
    ['x²', squares, twice],
    ['sin', (x) => sumOf(x, Math.sin), (x) => x.map(Math.cos)],
    ['exp', (x) => sumOf(x, Math.exp), (x) => x.map(Math.exp)],
  ]
  const point = [0.7, -1.3, 2.1]

  it.each(right)('%s with errors of 1e-7, for right gradients and ones that are wrong by less', (_, f, gradient) => {
    const noises: ((value: number) => number)[] = [
      (value) => 1e-7 * scatter(value),
      (value) => Math.round(value * 1e7) / 1e7 - value,
    ]
    for (const noise of noises) {
      const noisy = (x: Float64Array) => f(x) + noise(f(x))
      for (const wrong of [0, 3e-6]) {
        const report = gradcheckPlain(noisy, (x) => gradient(x).map((slope) => slope + wrong), point)
        expect(report).toMatchObject({ ok: false, verdict: 'noisy', failed: 0 })
        expect(report.noisy).toBeGreaterThan(0)
        expect(report.worst).toMatchObject({ verdict: 'noisy' })
        expect(report.digits).toBeLessThan(7)
      }
      expect(gradcheckPlain(noisy, (x) => gradient(x).map((slope) => 1.1 * slope), point).verdict).toBe('wrong')
      // As asked for three digits, there is an answer.
      expect(gradcheckPlain(noisy, gradient, point, { rtol: 1e-3 }).verdict).toBe('right')
      expect(
        gradcheckPlain(noisy, (x) => gradient(x).map((slope) => 1.01 * slope), point, { rtol: 1e-3 }).verdict,
      ).toBe('wrong')
    }
  })

  it('never wrong, whatever the errors', () => {
    const verdicts = Array.from({ length: 300 }, (_, i) => {
      const noisy = (x: Float64Array) => squares(x) + 1e-7 * scatter(squares(x) + i)
      return gradcheckPlain(noisy, twice, [1 + i / 100, -2 + i / 70]).verdict
    })
    expect(verdicts.filter((verdict) => verdict === 'wrong')).toEqual([])
    expect(verdicts.filter((verdict) => verdict === 'noisy').length).toBeGreaterThan(290)
  })

  it('computed in single precision', () => {
    const single = (x: Float64Array) => x.reduce((total, value) => Math.fround(total + Math.fround(value * value)), 0)
    expect(gradcheckPlain(single, twice, point)).toMatchObject({ verdict: 'noisy', failed: 0 })
    expect(gradcheckPlain(single, twice, point, { rtol: 1e-3 }).verdict).toBe('right')
  })

  it('with errors that differ each time', () => {
    let calls = 0
    const report = gradcheckPlain((x) => squares(x) + 1e-7 * scatter(calls++), twice, point)
    expect(report).toMatchObject({ ok: false, verdict: 'noisy', failed: 0, deterministic: false })
  })

  it('and says so', () => {
    const noisy = (x: Float64Array) => squares(x) + 1e-7 * scatter(squares(x))
    expect(String(gradcheckPlain(noisy, twice, [1]))).toMatch(
      /^gradcheckPlain undecided: 1 of 1 derivative is too noisy to say \(extrapolated differences of [345] digits, rtol 1e-6\)\n {2}x \(1,\): 1 derivative, 1 too noisy, /,
    )
    expect(errorOf(() => assertGradcheckPlain(noisy, twice, [1]))).toBeInstanceOf(GradcheckError)
  })
})

describe('kinks', () => {
  it('are named, and any slope between those of both sides is right', () => {
    const report = gradcheckPlain(
      (x) => sumOf(x, Math.abs),
      (x) => x.map(Math.sign),
      [0, 2],
    )
    expect(report).toMatchObject({ ok: true, nonDifferentiable: [{ kind: 'kink', index: [0], accepted: true }] })
    expect(
      gradcheckPlain(
        (x) => sumOf(x, Math.abs),
        () => [1.2, 1],
        [0, 2],
      ),
    ).toMatchObject({
      verdict: 'wrong',
      nonDifferentiable: [{ kind: 'kink', accepted: false }],
    })
  })

  it('are told from noise', () => {
    const noisy = (x: Float64Array) => sumOf(x, Math.abs) + 1e-7 * scatter(sumOf(x, Math.abs))
    expect(gradcheckPlain(noisy, (x) => x.map(Math.sign), [0], { rtol: 1e-3 })).toMatchObject({
      verdict: 'right',
      nonDifferentiable: [{ kind: 'kink', accepted: true }],
    })
  })
})

describe('a vector function', () => {
  /** Polar to Cartesian coordinates. */
  const cartesian = ([r, angle]: Float64Array) => [
    (r as number) * Math.cos(angle as number),
    (r as number) * Math.sin(angle as number),
  ]
  const pullback = ([r, angle]: Float64Array, [x, y]: Float64Array) => {
    const [cosine, sine] = [Math.cos(angle as number), Math.sin(angle as number)]
    return [
      (x as number) * cosine + (y as number) * sine,
      (r as number) * ((y as number) * cosine - (x as number) * sine),
    ]
  }

  it('is checked by its vector-Jacobian product', () => {
    expect(gradcheckPlain(cartesian, pullback, [2, 0.4])).toMatchObject({ verdict: 'right', entries: 4 })
    expect(gradcheckPlain(cartesian, pullback, [2, 0.4], { mode: 'sampled' })).toMatchObject({
      verdict: 'right',
      entries: 2,
      directions: 8,
    })
    const transposed = (x: Float64Array, [a, b]: Float64Array) => pullback(x, Float64Array.of(b as number, a as number))
    expect(gradcheckPlain(cartesian, transposed, [2, 0.4]).verdict).toBe('wrong')
  })

  it('fails where its product is not linear', () => {
    const squared = (x: Float64Array, cotangent: Float64Array) =>
      pullback(
        x,
        cotangent.map((value) => value * value),
      )
    const report = gradcheckPlain(cartesian, squared, [2, 0.4])
    expect(report).toMatchObject({ verdict: 'wrong', failed: 0 })
    expect(report.notes.join()).toMatch(/not linear in the cotangent/)
  })
})

describe('many entries', () => {
  it('are checked by directions', () => {
    const point = Array.from({ length: 20_000 }, (_, i) => Math.sin(i) * 10 ** ((i % 9) - 4))
    const cubes = (x: Float64Array) => sumOf(x, (value) => value ** 3)
    const gradient = (x: Float64Array) => x.map((value) => 3 * value ** 2)
    const options = { samples: 3 }
    expect(gradcheckPlain(cubes, gradient, point, options)).toMatchObject({ verdict: 'right', directions: 8 })
    const large = point.reduce((best, value, i) => (Math.abs(value) > Math.abs(point[best] as number) ? i : best), 0)
    const wrong = (x: Float64Array) => gradient(x).map((slope, i) => (i === large ? 1.1 * slope : slope))
    expect(gradcheckPlain(cubes, wrong, point, options)).toMatchObject({ verdict: 'wrong', worst: { input: null } })
  })
})

describe('misuse is told', () => {
  it.each<[string, () => unknown, new (message: string) => Error, RegExp]>([
    ['length', () => gradcheckPlain(squares, () => [1], [1, 2]), ShapeError, /the gradient has 1 numbers, x has 2/],
    [
      'no numbers',
      () => gradcheckPlain(squares, () => ['a'] as never, [1]),
      ArgumentError,
      /the gradient must be an array/,
    ],
    ['no function', () => gradcheckPlain(3 as never, twice, [1]), ArgumentError, /the function must be a function/],
    [
      'result',
      () => gradcheckPlain((() => 'a') as never, twice, [1]),
      ArgumentError,
      /what the function returns must be/,
    ],
    ['point', () => gradcheckPlain(squares, twice, [1, Number.NaN]), ArgumentError, /x \[1\] is NaN/],
    ['option', () => gradcheckPlain(squares, twice, [1], { order: 2 } as never), ArgumentError, /no option order/],
    [
      'changing length',
      () =>
        gradcheckPlain(
          (x) => (x[0] === 1 ? [1] : [1, 2]),
          (x) => x,
          [1],
        ),
      ShapeError,
      /returned 1 numbers at first and 2/,
    ],
  ])('%s', (_, run, type, message) => {
    const error = errorOf(run)
    expect(error).toBeInstanceOf(type)
    expect(error.message).toMatch(/^gradcheckPlain: /)
    expect(error.message).toMatch(message)
  })

  it('the point stays as it is', () => {
    const x = Float64Array.of(1, 2)
    const careless = (given: Float64Array) => {
      given[0] = 9
      return [2, 4]
    }
    expect(gradcheckPlain(squares, careless, x).ok).toBe(true)
    expect(x).toEqual(Float64Array.of(1, 2))
  })
})
