import { describe, expect, it } from 'vitest'
import { ArgumentError, type Tensor, tensor, zeros } from '../../src/index.js'
import '../../src/testing/vitest.js'
import { gradcheck } from '../../src/testing/index.js'
import { ulpsBetween } from '../../src/testing/matchers/ulps.js'
import { at, errorOf, operation } from './harness.js'

const nan = Number.NaN
const infinity = Number.POSITIVE_INFINITY

const double = (data: number[] | number[][] | number): Tensor => tensor(data, { dtype: 'float64' })

/** The message of a failing assertion. */
const messageOf = (run: () => void) => errorOf(run).message

describe('toBeCloseToTensor', () => {
  it('passes within the tolerances of the dtype', () => {
    expect(double([1, 2])).toBeCloseToTensor(double([1 + 1.9e-7, 2]))
    expect(double([1, 2])).not.toBeCloseToTensor(double([1 + 2.1e-7, 2]))
    expect(tensor([1])).toBeCloseToTensor(tensor([1 + 1.1e-5]))
    expect(tensor([1])).not.toBeCloseToTensor(tensor([1 + 1.2e-5]))
    expect(tensor([1], { dtype: 'int32' })).not.toBeCloseToTensor(tensor([2], { dtype: 'int32' }))
    expect(tensor([true, false])).toBeCloseToTensor(tensor([true, false]))
    expect(zeros([0, 3])).toBeCloseToTensor(zeros([0, 3]))
  })

  it('takes tolerances relative to what is expected', () => {
    expect(double([100])).toBeCloseToTensor(double([101]), { rtol: 0.01 })
    expect(double([101])).not.toBeCloseToTensor(double([100]), { rtol: 0.0099, atol: 0 })
    expect(double([1.5])).toBeCloseToTensor(double([1]), { atol: 0.5, rtol: 0 })
    expect(double([1])).not.toBeCloseToTensor(double([1 + Number.EPSILON]), { atol: 0, rtol: 0 })
  })

  it('takes NaN for equal to NaN, infinities to their like, and both zeros for equal', () => {
    expect(double([nan, infinity, -infinity, 0])).toBeCloseToTensor(double([nan, infinity, -infinity, -0]))
    for (const [a, b] of [
      [nan, 0],
      [0, nan],
      [infinity, -infinity],
      [infinity, 1e308],
      [1, infinity],
    ] as const) {
      expect(double([a])).not.toBeCloseToTensor(double([b]))
      expect(double([a])).not.toBeCloseToTensor(double([b]), { atol: infinity })
    }
  })

  it('compares views by what they show', () => {
    const x = double([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(x.transpose()).toBeCloseToTensor(
      double([
        [1, 4],
        [2, 5],
        [3, 6],
      ]),
    )
    expect(double([1, 2]).broadcastTo([2, 2])).toBeCloseToTensor(
      double([
        [1, 2],
        [1, 2],
      ]),
    )
  })

  it('tells shapes and dtypes that differ, with the remedy', () => {
    expect(messageOf(() => expect(zeros([2, 3])).toBeCloseToTensor(zeros([3, 2])))).toBe(
      'toBeCloseToTensor: the shapes differ: received float32 (2, 3) for an expected float32 (3, 2)',
    )
    expect(messageOf(() => expect(zeros([2])).toBeCloseToTensor(double([0, 0])))).toBe(
      "toBeCloseToTensor: the dtypes differ: received float32 (2,) for an expected float64 (2,); convert one with to('float64') where only the numbers matter",
    )
    expect(zeros([2, 3])).not.toBeCloseToTensor(zeros([6]))
  })

  it('shows where the tensors differ, and by how much', () => {
    const received = double([
      [1, 2 + 4e-7, 3],
      [nan, 5, 6 + 2 ** -20],
    ])
    const expected = double([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(messageOf(() => expect(received).toBeCloseToTensor(expected))).toBe(
      [
        'toBeCloseToTensor: 3 of 6 elements differ (float64 (2, 3), rtol 1e-7, atol 1e-7)',
        '',
        '   index           received  expected  difference  relative     ulps',
        '  [1, 0]                NaN         4           –         –        –',
        '  [1, 2]  6.000000953674316         6     9.54e-7   1.59e-7  1.07e+9',
        '  [0, 1]          2.0000004         2     4.00e-7   2.00e-7  9.01e+8',
        '',
        'errors in [:, :] (· right, - up to 10 tolerances off, + up to 1,000, # more, ! NaN or infinite):',
        '  ·-·',
        '  !·-',
      ].join('\n'),
    )
  })

  it('counts ulps by the dtype', () => {
    const next = 1 + 2 ** -23
    const message = messageOf(() => expect(tensor([next])).toBeCloseToTensor(tensor([1]), { atol: 0, rtol: 0 }))
    expect(message).toMatch(/1\.0000001192092896 +1 +1\.19e-7 +1\.19e-7 +1$/)
    expect(ulpsBetween(1, next, 'float32')).toBe(1)
    expect(ulpsBetween(1, next, 'float64')).toBe(2 ** 29)
    expect(ulpsBetween(0, -0, 'float64')).toBe(0)
    expect(ulpsBetween(-(2 ** -149), 2 ** -149, 'float32')).toBe(2)
    expect(ulpsBetween(Number.MIN_VALUE, 0, 'float64')).toBe(1)
    expect(ulpsBetween(Number.MAX_VALUE, infinity, 'float64')).toBe(1)
    expect(ulpsBetween(1, nan, 'float64')).toBeNaN()
    const whole = messageOf(() =>
      expect(tensor([7], { dtype: 'int32' })).toBeCloseToTensor(tensor([4], { dtype: 'int32' })),
    )
    expect(whole).not.toContain('ulps')
    expect(whole).toMatch(/\[0\] +7 +4 +3 +7\.50e-1/)
  })

  it('pictures the matrix with the worst element, in degrees', () => {
    const expected = zeros([2, 2, 4], { dtype: 'float64' })
    const received = tensor(Float64Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 5e-7, 5e-5, 5, 0, infinity, 0, 0), {
      shape: [2, 2, 4],
    })
    const message = messageOf(() => expect(received).toBeCloseToTensor(expected))
    expect(message).toContain('5 of 16 elements differ')
    expect(message).toContain('errors in [1, :, :] (')
    expect(message.split('\n').slice(-2)).toEqual(['  ·-+#', '  ·!··'])
  })

  it('draws large matrices small, and lists the worst of many', () => {
    const expected = zeros([100, 1000])
    const wrong = new Float32Array(100_000)
    for (let row = 0; row < 100; row++) wrong[row * 1000 + row * 10] = 1 + row
    const message = messageOf(() => expect(tensor(wrong, { shape: [100, 1000] })).toBeCloseToTensor(expected))
    const lines = message.split('\n')
    expect(message).toContain('100 of 100000 elements differ')
    expect(message).toContain('each character the worst of 7 × 16')
    expect(message).toContain('… and 95 more, less far off')
    const picture = lines.slice(-15)
    for (const row of picture) expect(row).toHaveLength(2 + 63)
    // The diagonal is seen as one.
    expect(picture[0]?.startsWith('  ####·')).toBe(true)
    expect(picture[14]?.endsWith('·#·')).toBe(true)
    expect(lines.length).toBeLessThan(30)
  })

  it('tells agreement where it is not wanted', () => {
    expect(messageOf(() => expect(double(1)).not.toBeCloseToTensor(double(1)))).toBe(
      'toBeCloseToTensor: expected the tensors to differ, but they agree (float64 (), rtol 1e-7, atol 1e-7)',
    )
  })

  it('refuses what makes no sense, also under not', () => {
    const x = double([1])
    expect(() => expect([1]).toBeCloseToTensor(x)).toThrow(ArgumentError)
    expect(() => expect([1]).not.toBeCloseToTensor(x)).toThrow(ArgumentError)
    expect(() => expect(x).toBeCloseToTensor([1] as never)).toThrow(ArgumentError)
    expect(() => expect(x).toBeCloseToTensor(x, { atol: -1 })).toThrow(ArgumentError)
    expect(() => expect(x).toBeCloseToTensor(x, { tolerance: 1 } as never)).toThrow(ArgumentError)
  })
})

describe('toPassGradcheck', () => {
  const halved = operation('halved', (x) => x.square(), [{ saves: [0], rule: (g, call) => g.mul(call.input(0)) }])

  it('passes where the gradients are right', () => {
    expect((x: Tensor) => x.square().sum()).toPassGradcheck([at(1, 2, 3)])
    expect(halved).not.toPassGradcheck([at(1, 2, 3)])
  })

  it('shows the report', () => {
    expect(messageOf(() => expect(halved).toPassGradcheck([at(1, 2, 3)]))).toMatch(/^gradcheck failed/)
    const message = messageOf(() => expect((x: Tensor) => x.square()).not.toPassGradcheck([at(1)]))
    expect(message).toMatch(
      /^toPassGradcheck: expected wrong gradients, which the check did not find\n\ngradcheck passed/,
    )
  })

  it('passes neither where the check is too noisy to tell', () => {
    const noise = operation('noise', (x) => x.add(x.scale(1e7).sin()), [{ saves: [], rule: (g) => g }])
    expect(gradcheck(noise, [at(0.3)]).verdict).toBe('noisy')
    expect(() => expect(noise).toPassGradcheck([at(0.3)])).toThrow()
    expect(() => expect(noise).not.toPassGradcheck([at(0.3)])).toThrow()
  })

  it('takes a function alone, and passes options on', () => {
    expect(() => expect(at(1)).toPassGradcheck([at(1)])).toThrow(ArgumentError)
    expect(() => expect(halved).toPassGradcheck([at(1)], { seed: 0.5 })).toThrow(ArgumentError)
  })
})
