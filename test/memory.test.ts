// Nothing to free: what is held can be read for ever, and what is not held costs nothing for long.
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualSeed, mseLoss, noGrad, randn, type Tensor, tensor } from 'wengert'
import { MultiHeadAttention, SelfAttention } from 'wengert/nn'
import { arenaStatistics, setArenaBudget } from '../src/memory/arena.js'
import { evictEverything, restoreArenaBudget } from './support/arena.js'
import { programs, run } from './support/programs.js'

restoreArenaBudget()

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

describe('random programs give the same numbers with much and with little memory', () => {
  const large = () => setArenaBudget(16 * MEBIBYTE)

  const cases: [string, () => void, (() => void) | undefined][] = [
    ['a few kilobytes', () => setArenaBudget(4 * KIBIBYTE, 4 * KIBIBYTE), undefined],
    ['a few kilobytes that may become more', () => setArenaBudget(2 * KIBIBYTE, MEBIBYTE), undefined],
    ['everything evicted after every step', () => evictEverything(KIBIBYTE), () => evictEverything(KIBIBYTE)],
  ]
  test.each(cases)('%s', (_, shrink, between) => {
    fc.assert(
      fc.property(programs, (program) => {
        large()
        const wanted = run(program)
        shrink()
        expect(run(program, between)).toEqual(wanted)
      }),
      { numRuns: 300 },
    )
  })
})

describe('what is held', () => {
  test('stays readable through many reclaims', () => {
    setArenaBudget(64 * KIBIBYTE, 64 * KIBIBYTE)
    const { reclaims } = arenaStatistics()
    const held: [Tensor, number][] = []
    for (let i = 0; i < 500; i++) {
      const x = tensor(new Float64Array(2 ** (i % 11)).fill(i)).add(0.5)
      if (i % 2 === 0) held.push([x, i + 0.5])
      x.mul(x).reshape([1, x.size]).transpose()
    }
    expect(arenaStatistics().reclaims - reclaims).toBeGreaterThan(10)
    expect(held.filter(([x]) => x.storage.address === 0).length).toBeGreaterThan(held.length / 2)
    for (const [x, value] of held) expect(new Set(x.data)).toEqual(new Set([value]))
    // Used again, they come back.
    for (const [x, value] of held) expect(x.mean().item()).toBe(value)
  })

  test('stays readable after backward: results, saved values, cotangents', () => {
    setArenaBudget(4 * KIBIBYTE, 4 * KIBIBYTE)
    const x = tensor([1, 2, 3], { requiresGrad: true })
    const y = x.square()
    const z = y.add(1)
    const cotangent = tensor([1, 1, 1])
    z.mul(y).backward(cotangent)
    for (let i = 0; i < 1000; i++) randn([16])
    expect([y.toArray(), z.toArray(), cotangent.toArray()]).toEqual([
      [1, 4, 9],
      [2, 5, 10],
      [1, 1, 1],
    ])
    // (x⁴ + x²)′
    expect(x.grad?.toArray()).toEqual([6, 36, 114])
  })

  test('10,000 results', () => {
    setArenaBudget(MEBIBYTE, MEBIBYTE)
    const ramp = tensor(Float32Array.from({ length: 100 }, (_, i) => i))
    const held = Array.from({ length: 10_000 }, (_, i) => ramp.add(i))
    const wrong = held.filter((x, i) => !x.data.every((value, j) => value === i + j))
    expect(wrong).toEqual([])
  })

  test('views and detached tensors keep the numbers they share', () => {
    setArenaBudget(4 * KIBIBYTE, 4 * KIBIBYTE)
    const views = Array.from({ length: 100 }, (_, i) =>
      tensor([[i, i + 1]])
        .transpose()
        .detach()
        .reshape([2]),
    )
    for (let i = 0; i < 1000; i++) randn([16])
    views.forEach((view, i) => {
      expect(view.toArray()).toEqual([i, i + 1])
    })
  })
})

describe('what does not fit', () => {
  test('a chain whose values exceed the budget has the same gradient as one that fits', () => {
    const gradients = (budget: number) => {
      setArenaBudget(budget, budget)
      manualSeed(1)
      const [x, w] = [randn([64, 64], { requiresGrad: true }), randn([64, 64], { requiresGrad: true })]
      let y = x
      // 16 KiB each, three of them saved by every round.
      for (let i = 0; i < 100; i++) y = y.matmul(w).scale(0.125).tanh().add(x)
      const { reclaims } = arenaStatistics()
      y.square().mean().backward()
      return { numbers: [...(x.grad as Tensor).data, ...(w.grad as Tensor).data], reclaims }
    }
    const large = gradients(256 * MEBIBYTE)
    for (const budget of [256 * KIBIBYTE, 80 * KIBIBYTE]) {
      const before = arenaStatistics().reclaims
      const small = gradients(budget)
      expect(small.reclaims - before).toBeGreaterThan(10)
      expect(small.numbers).toEqual(large.numbers)
    }
    expect(large.numbers.every(Number.isFinite)).toBe(true)
  })

  test('an operation whose operands alone exceed the budget', () => {
    setArenaBudget(KIBIBYTE, KIBIBYTE)
    const x = tensor(new Float64Array(10_000).fill(1), { requiresGrad: true })
    x.add(x).mul(x).sum().backward()
    expect(new Set(x.grad?.data)).toEqual(new Set([4]))
  })
})

describe('what is not held', () => {
  const layers = {
    SelfAttention: () => new SelfAttention({ inputDim: 16, keyDim: 8 }),
    MultiHeadAttention: () => new MultiHeadAttention({ embedDim: 16, numHeads: 2 }),
  }

  /** The most bytes and storages in linear memory that were seen between the steps of a loop. */
  function mostOf(steps: number, step: (i: number) => void): { bytes: number; extent: number; residents: number } {
    const most = { bytes: 0, extent: 0, residents: 0 }
    for (let i = 0; i < steps; i++) {
      step(i)
      const { residentBytes, extent, residents } = arenaStatistics()
      most.bytes = Math.max(most.bytes, residentBytes)
      most.extent = Math.max(most.extent, extent)
      most.residents = Math.max(most.residents, residents)
    }
    return most
  }

  describe.each(Object.entries(layers))('%s', (_, make) => {
    test('a forward-only loop that forgot noGrad stays within the budget', () => {
      const budget = 128 * KIBIBYTE
      setArenaBudget(budget, budget)
      const layer = make()
      const x = randn([8, 16])
      const most = mostOf(3000, () => void layer.forward(x))
      expect(most.bytes).toBeLessThanOrEqual(budget)
      expect(most.extent).toBe(budget)
      // None is smaller than a block of 16 bytes.
      expect(most.residents).toBeLessThanOrEqual(budget / 16)
    })

    test('a training loop stays within the budget', () => {
      const budget = 128 * KIBIBYTE
      setArenaBudget(budget, budget)
      const layer = make()
      const x = randn([8, 16])
      const most = mostOf(1000, () => {
        layer.forward(x).square().mean().backward()
        noGrad(() => {
          for (const parameter of layer.parameters()) {
            parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(0.01)))
          }
        })
        layer.zeroGrad()
      })
      expect(most.bytes).toBeLessThanOrEqual(budget)
      expect(most.extent).toBe(budget)
    })

    test('private values are freed at once', () => {
      const layer = make()
      const x = randn([8, 16])
      const target = randn([8, layer.forward(x).shape[1] as number])
      const step = () => {
        const y = layer.forward(x)
        const loss = mseLoss(y, target)
        loss.backward()
        layer.zeroGrad()
        return [y, loss]
      }
      // The first step makes the constants.
      step()
      const before = arenaStatistics().residents
      const steps = 50
      for (let i = 0; i < steps; i++) step()
      // What the user could have kept of each step: the layer's result, the loss and the 1 that backward starts with.
      expect(arenaStatistics().residents - before).toBeLessThanOrEqual(3 * steps)
    })

    test('a forward pass without recording leaves its result alone', () => {
      const layer = make()
      const x = randn([8, 16])
      noGrad(() => {
        // The first ones make the constants.
        layer.forward(x)
        layer.attention(x)
        const before = arenaStatistics().residents
        for (let i = 0; i < 10; i++) layer.forward(x)
        expect(arenaStatistics().residents - before).toBe(10)
        for (let i = 0; i < 10; i++) layer.attention(x)
        expect(arenaStatistics().residents - before).toBe(20)
      })
    })

    test('a forward pass that fails leaves nothing', () => {
      const layer = make()
      const x = randn([8, 16])
      const mask = randn([3, 3])
      const fail = () => expect(() => noGrad(() => layer.forward(x, { mask }))).toThrow('does not broadcast')
      fail()
      const before = arenaStatistics().residents
      for (let i = 0; i < 10; i++) fail()
      expect(arenaStatistics().residents).toBe(before)
    })
  })

  test('of small results, few stay in linear memory', () => {
    const x = randn([4, 4])
    expect(mostOf(5000, () => void x.add(1)).residents).toBeLessThan(200)
  })

  test('of tapes that nobody sweeps, few values stay in linear memory', () => {
    const w = randn([4, 4], { requiresGrad: true })
    expect(mostOf(5000, () => void w.tanh().tanh()).residents).toBeLessThan(1100)
  })

  test('but what a tape saves comes to stay there until it is swept, where it is swept', () => {
    const w = randn([4, 4], { requiresGrad: true })
    const evicted = Array.from({ length: 8 }, () => {
      let y: Tensor = w
      const saved = Array.from({ length: 3000 }, () => {
        y = y.tanh()
        return y.storage
      })
      const away = saved.filter(({ address }) => address === 0).length
      y.sum().backward()
      return away
    })
    expect(evicted[0]).toBeGreaterThan(0)
    expect(evicted.slice(-3)).toEqual([0, 0, 0])
  })

  test('blocks of many sizes are used again and again', () => {
    const budget = 64 * KIBIBYTE
    setArenaBudget(budget, budget)
    const most = mostOf(3000, (i) => void tensor(new Float32Array(1 + ((i * 7919) % 1000))).neg())
    expect(most.bytes).toBeLessThanOrEqual(budget)
    expect(most.extent).toBe(budget)
  })

  test('gradients that nobody has looked at are freed when they are set to null', () => {
    const x = randn([100], { requiresGrad: true })
    const root = x.square().sum()
    root.backward(undefined, { retainGraph: true })
    x.grad = null
    const cotangent = tensor(1)
    const before = arenaStatistics().residents
    for (let i = 0; i < 10; i++) {
      root.backward(cotangent, { retainGraph: true })
      root.backward(cotangent, { retainGraph: true })
      x.grad = null
    }
    expect(arenaStatistics().residents).toBe(before)
  })

  test('the values of a chain inside a layer are freed as the sweep passes', () => {
    const layer = new SelfAttention({ inputDim: 10 })
    const x = randn([100, 10])
    const cotangent = tensor(1)
    const step = () => {
      let y = layer.forward(x)
      for (let i = 0; i < 5; i++) y = layer.forward(y)
      y.sum().backward(cotangent)
      layer.zeroGrad()
    }
    step()
    const before = arenaStatistics().residents
    step()
    // The results of six layers and their sum.
    expect(arenaStatistics().residents - before).toBe(7)
  })
})

describe('the memory of the process', () => {
  type Growth = Readonly<Record<'resident' | 'alive', number>>

  /** Growth in MiB, measured in a process of its own. */
  function growthOf(...names: readonly string[]): Readonly<Record<string, Growth>> {
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
    const script = fileURLToPath(new URL('support/flat-memory.ts', import.meta.url))
    // A young generation of fixed size, so that its growth does not pass for the library's.
    const options = ['--expose-gc', '--max-semi-space-size=4', '--import', tsx, script, ...names]
    return JSON.parse(execFileSync(process.execPath, options, { encoding: 'utf8' })) as Record<string, Growth>
  }

  test('stays flat in synchronous loops', () => {
    const growth = growthOf('training', 'forward')
    expect(Object.keys(growth)).toEqual(['training', 'forward'])
    for (const [loop, { resident, alive }] of Object.entries(growth)) {
      // Over 20,000 steps: 100 bytes of each, less than one object.
      expect(alive, loop).toBeLessThan(2)
      // A step makes some 40 KiB of values, 800 MiB if they were kept; garbage collection alone has given up to 25.
      expect(resident, loop).toBeLessThan(48)
    }
  })

  test('holds results for what their numbers cost', () => {
    const resident = Object.values(growthOf('held'))[0]?.resident
    const numbers = (10_000 * 4096 * 4) / MEBIBYTE
    expect(resident).toBeGreaterThan(0.9 * numbers)
    expect(resident).toBeLessThan(2 * numbers)
  })
})
