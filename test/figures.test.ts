// Figures of the mathematics of attention: what 1/√d_k does to softmax and to the gradients behind it.
import { describe, expect, test } from 'vitest'
import { type DType, manualSeed, mseLoss, randn, softmax, type Tensor, tensor } from 'wengert'
import { SelfAttention } from 'wengert/nn'
import { expectNear, gradOf } from './support/expectations.js'

const options = { dtype: 'float64' } as const
const row = (values: number[]) => tensor(values, options)

describe('softmax of three scores', () => {
  test.each([
    [
      [1, 2, 3],
      ['0.0900', '0.2447', '0.6652'],
    ],
    [
      [10, 20, 30],
      ['0.0000', '0.0000', '1.0000'],
    ],
  ])('%o', (scores, shown) => {
    expect([...softmax(row(scores)).data].map((value) => value.toFixed(4))).toEqual(shown)
  })

  test('the small ones of (10, 20, 30)', () => {
    const [first = 0, second = 0, third = 0] = softmax(row([10, 20, 30])).data
    expect([first.toExponential(2), second.toExponential(2), third.toFixed(5)]).toEqual([
      '2.06e-9',
      '4.54e-5',
      '0.99995',
    ])
  })
})

/** The Jacobian of softmax at the scores, row by row from backward. */
function jacobian(scores: Tensor): number[][] {
  const leaf = scores.detach().clone().requiresGrad_()
  const a = softmax(leaf)
  return [...leaf.data.keys()].map((output) => {
    leaf.grad = null
    a.backward(row([...leaf.data.keys()].map((j) => Number(j === output))), { retainGraph: true })
    return [...gradOf(leaf).data]
  })
}

const frobenius = (matrix: number[][]) => Math.sqrt(matrix.flat().reduce((sum, value) => sum + value ** 2, 0))

describe('one row with a fixed structure: (land, land, near water, far water)', () => {
  const c = [-0.5, -0.5, 1, 0]
  const table: [dk: number, ratio: string, near: number, norm: string][] = [
    [1, '2.718e+0', 0.5512, '3.961e-1'],
    [4, '7.389e+0', 0.8098, '2.374e-1'],
    [16, '5.460e+1', 0.9773, '3.807e-2'],
    [64, '2.981e+3', 0.99965, '6.769e-4'],
    [256, '8.886e+6', 1 - 1.1e-7, '2.251e-7'],
    [1024, '7.896e+13', 1 - 1.3e-14, '2.532e-14'],
  ]

  test.each(table)('d_k = %i', (dk, ratio, near, norm) => {
    const scores = row(c).scale(Math.sqrt(dk))
    const a = softmax(scores).data
    expect(((a[2] as number) / (a[3] as number)).toExponential(3)).toBe(ratio)
    const rest = (a[0] as number) + (a[1] as number) + (a[3] as number)
    // As precise as the table states it: near 1, by what is missing.
    if (dk < 256) expect(Math.abs((a[2] as number) - near)).toBeLessThanOrEqual(5e-5)
    else expect(rest.toExponential(1)).toBe((1 - near).toExponential(1))
    expect(frobenius(jacobian(scores)).toExponential(3)).toBe(norm)
  })

  test.each(table)('scaled, d_k = %i is the row d_k = 1', (dk) => {
    const scores = row(c)
      .scale(Math.sqrt(dk))
      .scale(1 / Math.sqrt(dk))
    const a = softmax(scores).data
    expect(((a[2] as number) / (a[3] as number)).toFixed(3)).toBe('2.718')
    expect((a[2] as number).toFixed(4)).toBe('0.5512')
    expect(frobenius(jacobian(scores)).toFixed(4)).toBe('0.3961')
  })

  test('a gap of scores is a ratio of attention', () => {
    const a = softmax(row([0.3, 1.7, -2])).data
    expect((a[1] as number) / (a[0] as number)).toBeCloseTo(Math.exp(1.4), 12)
  })
})

describe('the Jacobian diag(a) − a aᵀ', () => {
  test('soft: gradients flow', () => {
    const a = [0.0001, 0.12, 0.76, 0.12]
    const matrix = jacobian(row(a.map(Math.log)))
    expect(matrix[2]?.[2]).toBeCloseTo(0.18, 2)
    expect(matrix[1]?.[1]).toBeCloseTo(0.11, 2)
    expect(matrix[1]?.[2]).toBeCloseTo(-0.09, 2)
  })

  test('hard: every entry is almost 0', () => {
    expect(frobenius(jacobian(row([0, 0, 40, 0])))).toBeLessThan(1e-16)
  })
})

/** Rows of unit length, at right angles to each other (Gram and Schmidt, twice). */
function orthonormal(count: number, length: number): Tensor {
  let rows: number[][] = []
  const random = randn([count, length], options).toArray() as number[][]
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)
  for (let pass = 0; pass < 2; pass++) {
    const source = pass === 0 ? random : rows
    rows = []
    for (const given of source) {
      let vector = given
      for (const other of rows) {
        const part = dot(vector, other)
        vector = vector.map((value, i) => value - part * (other[i] as number))
      }
      const norm = Math.sqrt(dot(vector, vector))
      rows.push(vector.map((value) => value / norm))
    }
  }
  return tensor(rows, options)
}

const norm = (x: Tensor) => Math.sqrt(x.square().sum().item())

describe('a layer with a fixed structure of scores', () => {
  const N = 4
  const c = [-0.5, -0.5, 1, 0]
  /** Row n is c, rolled by n. */
  const structure = tensor(
    Array.from({ length: N }, (_, n) => c.map((_, m) => c[(m - n + N) % N] as number)),
    options,
  )

  /** The gradients of L = mean((Y − T)²)/2 towards W_Q and W_K, and A. */
  function gradients(dk: number, scale: 'sqrt' | 'none', dtype: DType = 'float64') {
    manualSeed(4)
    const k = orthonormal(N, dk).scale(Math.sqrt(dk))
    const q = structure.matmul(k).scale(1 / Math.sqrt(dk))
    const x = orthonormal(N, 16)
    const target = randn([N, 8], options)
    const layer = new SelfAttention({ inputDim: 16, keyDim: dk, valueDim: 8, scale, dtype })
    const values = randn([8, 16], options)
    layer.loadStateDict({ WQ: q.transpose().matmul(x), WK: k.transpose().matmul(x), WV: values })
    const input = x.to(dtype)
    mseLoss(layer.forward(input), target.to(dtype)).scale(0.5).backward()
    const scores = x.matmul(layer.bilinearForm().detach().to('float64')).matmul(x.transpose())
    return {
      wq: norm(gradOf(layer.WQ)),
      wk: norm(gradOf(layer.WK)),
      wv: norm(gradOf(layer.WV)),
      a: layer.attention(input),
      scores,
    }
  }

  test.each([4, 16, 64, 256, 1024])('S = √d_k · C exactly, at d_k = %i', (dk) => {
    expectNear(gradients(dk, 'none').scores, structure.scale(Math.sqrt(dk)), { absolute: 1e-12 * Math.sqrt(dk) })
  })

  test('unscaled, the gradients of W_Q and W_K fall like √d_k · e^−√d_k; scaled, they stay', () => {
    const dims = [4, 16, 64, 256, 1024]
    const unscaled = dims.map((dk) => gradients(dk, 'none'))
    const scaled = dims.map((dk) => gradients(dk, 'sqrt'))
    const predicted = dims.map((dk) => Math.sqrt(dk) * Math.exp(-Math.sqrt(dk)))
    const constants = unscaled.map(({ wq }, i) => wq / (predicted[i] as number))
    // One constant for all, up to what V and T make of it.
    expect(Math.max(...constants) / Math.min(...constants)).toBeLessThan(10)
    for (let i = 1; i < dims.length; i++) {
      expect((unscaled[i] as { wq: number }).wq).toBeLessThan((unscaled[i - 1] as { wq: number }).wq)
      expect((unscaled[i] as { wk: number }).wk).toBeLessThan((unscaled[i - 1] as { wk: number }).wk)
    }
    expect(unscaled.at(-1)?.wq).toBeLessThan(1e-11)
    const sizes = scaled.map(({ wq }) => wq)
    expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThan(5)
    expect(Math.min(...sizes)).toBeGreaterThan(1e-2)
    // W_V does not pass through the Jacobian of softmax.
    const kept = unscaled.map(({ wv }) => wv)
    expect(Math.min(...kept)).toBeGreaterThan(1e-2)
  })

  test('in float32, a is exactly 1 at d_k = 1024, and the gradient is lost beside that of W_V', () => {
    const { a, wq, wk, wv } = gradients(1024, 'none', 'float32')
    expect(a.max({ axis: 1 }).toArray()).toEqual([1, 1, 1, 1])
    expect(Math.max(wq, wk) / wv).toBeLessThan(2 ** -24)
    expect(gradients(1024, 'sqrt', 'float32').wq).toBeGreaterThan(1e-3)
  })

  test('in float32, the gradient is exactly 0 where e^−√d_k is: beyond √d_k = 104', () => {
    const { a, wq, wk, wv } = gradients(128 ** 2, 'none', 'float32')
    expect(a.sum().item()).toBe(4)
    expect([wq, wk]).toEqual([0, 0])
    expect(wv).toBeGreaterThan(1e-2)
  })
})

describe('a layer with random weights', () => {
  const [N, D, draws] = [16, 64, 40]

  const median = (values: readonly number[]) => {
    const sorted = [...values].sort((a, b) => a - b)
    const middle = sorted.length / 2
    return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
  }

  interface Row {
    readonly norm: number
    readonly largest: number
    readonly entropy: number
  }

  /** Over all draws: the scores' standard deviation, what each row of A is like, and the gradients of W_Q. */
  function measure(dk: number, scale: 'sqrt' | 'none') {
    manualSeed(11)
    const rows: Row[] = []
    const totals: number[] = []
    const scores: Tensor[] = []
    for (let draw = 0; draw < draws; draw++) {
      const layer = new SelfAttention({ inputDim: D, keyDim: dk, valueDim: 8, scale, ...options })
      // Entries of q and k have variance 1.
      const weight = () => randn([dk, D], options).scale(1 / Math.sqrt(D))
      layer.loadStateDict({ WQ: weight(), WK: weight(), WV: randn([8, D], options).scale(1 / Math.sqrt(D)) })
      const x = randn([N, D], options)
      mseLoss(layer.forward(x), randn([N, 8], options))
        .scale(0.5)
        .backward()
      totals.push(norm(gradOf(layer.WQ)))
      scores.push(x.matmul(layer.bilinearForm()).matmul(x.transpose()).detach())
      for (const a of layer.attention(x).toArray() as number[][]) {
        // ‖diag(a) − a aᵀ‖² = Σ a² − 2 Σ a³ + (Σ a²)²
        const power = (k: number) => a.reduce((sum, value) => sum + value ** k, 0)
        rows.push({
          norm: Math.sqrt(Math.max(0, power(2) - 2 * power(3) + power(2) ** 2)),
          largest: Math.max(...a),
          entropy: -a.reduce((sum, value) => sum + (value === 0 ? 0 : value * Math.log(value)), 0),
        })
      }
    }
    const all = scores.flatMap((s) => [...s.data])
    return {
      deviation: Math.sqrt(all.reduce((sum, value) => sum + value ** 2, 0) / all.length),
      norm: median(rows.map(({ norm: size }) => size)),
      dead: rows.filter(({ norm: size }) => size < 1e-3).length / rows.length,
      largest: median(rows.map(({ largest }) => largest)),
      entropy: median(rows.map(({ entropy }) => entropy)),
      total: median(totals),
    }
  }

  // d_k, standard deviation of S, median norm, share of dead rows, median of the largest weight, median entropy.
  test.each([
    [1, 1, 0.27, 0, 0.15, 2.62],
    [16, 4, 0.33, 0.01, 0.67, 0.94],
    [64, 8, 0.14, 0.13, 0.92, 0.34],
    [256, 16, 4.8e-3, 0.41, 0.997, 0.02],
  ])('unscaled, d_k = %i', (dk, deviation, size, dead, largest, entropy) => {
    const found = measure(dk, 'none')
    expect(found.deviation / deviation).toBeCloseTo(1, 0)
    expect(Math.abs(found.deviation / deviation - 1)).toBeLessThan(0.1)
    // Medians over 640 rows of other random numbers: the magnitude is what is reproduced.
    expect(found.norm / size).toBeGreaterThan(0.5)
    expect(found.norm / size).toBeLessThan(2)
    expect(Math.abs(found.dead - dead)).toBeLessThan(0.06)
    expect(Math.abs(found.largest - largest)).toBeLessThan(0.06)
    expect(Math.abs(found.entropy - entropy)).toBeLessThan(0.15)
  })

  test.each([1, 16, 64, 256])('scaled, d_k = %i: the Jacobian keeps its size and no row is dead', (dk) => {
    const found = measure(dk, 'sqrt')
    expect(found.norm).toBeGreaterThan(0.25)
    expect(found.norm).toBeLessThan(0.35)
    expect(found.dead).toBe(0)
  })

  test('the trap: unscaled, the typical row dies while the total gradient of W_Q grows', () => {
    const [small, large] = [measure(1, 'none'), measure(256, 'none')]
    expect(large.norm).toBeLessThan(small.norm / 20)
    expect(large.total).toBeGreaterThan(5 * small.total)
    const ratio = measure(256, 'sqrt').total / measure(1, 'sqrt').total
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })
})
