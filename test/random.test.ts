// Random numbers: the same everywhere for the same seed, and distributed as they should be.
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ArgumentError,
  getFusedMultiplyAdd,
  getGeneratorState,
  manualSeed,
  matmul,
  rand,
  randint,
  randn,
  setFusedMultiplyAdd,
  setGeneratorState,
  type Tensor,
} from 'wengert'
import { expectError, expectNear, expectSame, untyped } from './support/expectations.js'

const draws: Record<string, () => Tensor> = {
  'rand float32': () => rand([101]),
  'rand float64': () => rand([101], { dtype: 'float64' }),
  'randn float32': () => randn([101]),
  'randn float64': () => randn([101], { dtype: 'float64' }),
  randint: () => randint(-5, 1000, [101]),
}

describe('manualSeed', () => {
  test.each(Object.entries(draws))('%s comes again with the seed', (_, draw) => {
    manualSeed(42)
    const [first, second] = [draw(), draw()]
    manualSeed(42)
    expectSame(draw(), first)
    expectSame(draw(), second)
    expect([...first.data]).not.toEqual([...second.data])
    manualSeed(43)
    expect([...draw().data]).not.toEqual([...first.data])
  })

  test('takes any whole number, and each is a seed of its own', () => {
    const seeds = [
      0,
      1,
      -1,
      2 ** 31,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 32 + 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]
    const first = seeds.map((seed) => {
      manualSeed(seed)
      return rand([4]).toArray()
    })
    expect(new Set(first.map(String)).size).toBe(seeds.length)
  })

  test('the generator is Philox4x32-10: its published first block for key 0 and counter 0', () => {
    manualSeed(0)
    // Random123, kat_vectors: 6627e8d5 e169c58d bc57ac4c 9b00dbd8; the upper 24 bits are the number.
    expect(rand([4]).toArray()).toEqual([0x6627e8, 0xe169c5, 0xbc57ac, 0x9b00db].map((bits) => bits / 2 ** 24))
  })

  test('these numbers are the same on every machine', () => {
    manualSeed(2026)
    const numbers = {
      rand: rand([3], { dtype: 'float64' }).toArray(),
      randn: randn([3], { dtype: 'float64' }).toArray(),
      randint: randint(0, 1000, [5]).toArray(),
    }
    expect(numbers).toEqual({
      rand: [0.5223349545689017, 0.2965354427467968, 0.34886249410646974],
      randn: [1.308264369501619, -0.9111704277923898, 1.8105134491545116],
      randint: [637, 155, 712, 180, 315],
    })
  })

  test('one draw does not repeat what another gave', () => {
    manualSeed(3)
    const seen = new Set<number>()
    let count = 0
    for (let i = 1; i <= 40; i++) {
      for (const value of rand([i], { dtype: 'float64' }).data) seen.add(value)
      count += i
    }
    expect(seen.size).toBe(count)
  })

  test('without a seed, every start is another', async () => {
    const starts = []
    for (let i = 0; i < 2; i++) {
      vi.resetModules()
      const fresh = await import('wengert')
      starts.push(fresh.rand([4], { dtype: 'float64' }).toArray())
    }
    expect(starts[0]).not.toEqual(starts[1])
  })
})

describe('distributions', () => {
  const count = 100_000

  /** Mean of a power of the deviations from the mean. */
  const moment = (values: readonly number[], power: number) => {
    const centre = values.reduce((a, b) => a + b) / values.length
    return values.reduce((sum, value) => sum + (value - centre) ** power, 0) / values.length
  }

  /** Within five standard errors. */
  const expectAbout = (value: number, expected: number, error: number) => {
    expect(Math.abs(value - expected)).toBeLessThan(5 * error)
  }

  test.each(['float32', 'float64'] as const)('rand is uniform on [0, 1), %s', (dtype) => {
    manualSeed(1)
    const values = [...rand([count], { dtype }).data]
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...values)).toBeLessThan(1)
    expectAbout(values.reduce((a, b) => a + b) / count, 1 / 2, Math.sqrt(1 / 12 / count))
    expectAbout(moment(values, 2), 1 / 12, Math.sqrt(1 / 180 / count))
    const tenths = Array(10).fill(0) as number[]
    for (const value of values) tenths[Math.floor(10 * value)] = (tenths[Math.floor(10 * value)] ?? 0) + 1
    for (const found of tenths) expectAbout(found, count / 10, Math.sqrt(count * 0.1 * 0.9))
    const resolution = dtype === 'float32' ? 2 ** 24 : 2 ** 53
    expect(values.every((value) => Number.isInteger(value * resolution))).toBe(true)
  })

  test.each(['float32', 'float64'] as const)('randn is standard normal, %s', (dtype) => {
    manualSeed(2)
    const values = [...randn([count], { dtype }).data]
    expect(values.every(Number.isFinite)).toBe(true)
    expectAbout(values.reduce((a, b) => a + b) / count, 0, Math.sqrt(1 / count))
    expectAbout(moment(values, 2), 1, Math.sqrt(2 / count))
    expectAbout(moment(values, 3), 0, Math.sqrt(15 / count))
    expectAbout(moment(values, 4), 3, Math.sqrt(96 / count))
    const share = (bound: number) => values.filter((value) => Math.abs(value) > bound).length
    // 31.73 % lie beyond one standard deviation, 0.27 % beyond three.
    expectAbout(share(1), 0.317311 * count, Math.sqrt(count * 0.3173 * 0.6827))
    expectAbout(share(3), 0.0026998 * count, Math.sqrt(count * 0.0027))
    const neighbours = values.slice(1).reduce((sum, value, i) => sum + value * (values[i] as number), 0) / count
    expectAbout(neighbours, 0, Math.sqrt(1 / count))
  })

  test('randint is uniform on low … high − 1', () => {
    manualSeed(3)
    const values = [...randint(-3, 4, [count]).data]
    const found = new Map<number, number>()
    for (const value of values) found.set(value, (found.get(value) ?? 0) + 1)
    expect([...found.keys()].sort((a, b) => a - b)).toEqual([-3, -2, -1, 0, 1, 2, 3])
    for (const times of found.values()) expectAbout(times, count / 7, Math.sqrt((count / 7) * (6 / 7)))
    expect(randint(5, 6, [3]).toArray()).toEqual([5, 5, 5])
    const wide = randint(-(2 ** 31), 2 ** 31 - 1, [1000]).data
    expect(wide.some((value) => value < -(2 ** 30))).toBe(true)
    expect(wide.some((value) => value > 2 ** 30)).toBe(true)
  })

  test('dtypes, shapes and gradients', () => {
    expect([rand([2, 3]).dtype, randn([]).shape, randint(0, 3, [2]).dtype]).toEqual(['float32', [], 'int32'])
    expect(randint(0, 3, [2, 2], { dtype: 'float64' }).dtype).toBe('float64')
    expect(randint(0, 2, [4], { dtype: 'bool' }).dtype).toBe('bool')
    expect(randn([2], { requiresGrad: true }).requiresGrad).toBe(true)
    expect(randint(0, 3, [2], { dtype: 'float32', requiresGrad: true }).requiresGrad).toBe(true)
    for (const empty of [rand([0]), randn([2, 0]), randint(0, 3, [0])]) expect(empty.size).toBe(0)
  })

  test('float32 normals are the float64 ones, rounded', () => {
    manualSeed(4)
    const double = randn([77], { dtype: 'float64' })
    manualSeed(4)
    expectSame(randn([77]), double.to('float32'))
  })
})

describe('fused multiply-add', () => {
  const usual = getFusedMultiplyAdd()
  afterEach(() => void setFusedMultiplyAdd(usual))

  test('can be turned off, and on again where the engine has it', () => {
    expect(setFusedMultiplyAdd(false)).toBe(false)
    expect(getFusedMultiplyAdd()).toBe(false)
    expect(setFusedMultiplyAdd(true)).toBe(usual)
    expect(getFusedMultiplyAdd()).toBe(usual)
  })

  test('does not change random numbers', () => {
    for (const draw of Object.values(draws)) {
      manualSeed(6)
      const before = draw()
      setFusedMultiplyAdd(false)
      manualSeed(6)
      expectSame(draw(), before)
      setFusedMultiplyAdd(true)
    }
  })

  test('changes products by rounding alone', () => {
    manualSeed(7)
    const [a, b] = [randn([20, 30], { dtype: 'float64' }), randn([30, 20], { dtype: 'float64' })]
    const before = matmul(a, b)
    setFusedMultiplyAdd(false)
    expectNear(matmul(a, b), before, { absolute: 1e-13 })
  })

  test('the same program gives the same bits again', () => {
    const run = () => {
      manualSeed(8)
      const x = randn([9, 17], { requiresGrad: true })
      const w = randn([17, 17])
      x.matmul(w).softmax().matmul(w).gelu().square().mean().backward()
      return [...(x.grad?.data ?? [])]
    }
    for (const fused of [true, false]) {
      setFusedMultiplyAdd(fused)
      expect(run()).toEqual(run())
    }
  })
})

describe('the state of the generator', () => {
  test.each(Object.entries(draws))('%s goes on from it, also when it went through JSON', (_, draw) => {
    manualSeed(-17)
    draw()
    const state = JSON.parse(JSON.stringify(getGeneratorState()))
    const next = [draw(), draw()] as const
    manualSeed(1)
    setGeneratorState(state)
    expectSame(draw(), next[0])
    expectSame(draw(), next[1])
  })

  test('is not changed by what comes later, and must be one', () => {
    manualSeed(2 ** 40)
    const state = getGeneratorState()
    const before = { ...state }
    const expected = rand([3])
    expect(state).toEqual(before)
    for (const wrong of [undefined, null, {}, { ...state, counterLow: -1 }, { ...state, seedHigh: 0.5 }, { seed: 1 }]) {
      expectError(() => setGeneratorState(untyped(wrong)), ArgumentError, 'setGeneratorState')
    }
    setGeneratorState(state)
    expectSame(rand([3]), expected)
  })
})
