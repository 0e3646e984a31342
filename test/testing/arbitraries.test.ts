import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ArgumentError, type Tensor } from '../../src/index.js'
import {
  axes,
  axisSubsets,
  broadcastableShapes,
  broadcastableTensors,
  masks,
  permutations,
  shapes,
  tensors,
  wellScaled,
} from '../../src/testing/fast-check.js'
import { broadcastShape, sizeOf } from '../support/reference.js'

/** What a failing property shrinks to, from many starting points. */
function smallest<T>(arbitrary: Arbitrary<T>, fails: (value: T) => boolean): T[] {
  const found: T[] = []
  for (let seed = 1; seed <= 20; seed++) {
    const result = fc.check(
      fc.property(arbitrary, (value) => !fails(value)),
      { seed, numRuns: 2000 },
    )
    expect(result.failed, `no counterexample for seed ${seed}`).toBe(true)
    found.push((result.counterexample as [T])[0])
  }
  return found
}

const shown = (x: Tensor) => fc.stringify(x)

describe('shapes', () => {
  it('are within the bounds and reach them', () => {
    const found = fc.sample(shapes({ minRank: 1, maxRank: 3, minSize: 0, maxSize: 5 }), { numRuns: 1000, seed: 1 })
    for (const shape of found) {
      expect(shape.length >= 1 && shape.length <= 3 && shape.every((size) => size >= 0 && size <= 5)).toBe(true)
    }
    expect(new Set(found.map((shape) => shape.length))).toEqual(new Set([1, 2, 3]))
    expect(new Set(found.flat())).toEqual(new Set([0, 1, 2, 3, 4, 5]))
  })

  it('shrink to the smallest failing one', () => {
    for (const shape of smallest(shapes(), (shape) => sizeOf(shape) >= 6 && shape.length >= 2)) {
      // No size can be reduced and no axis left out.
      expect(shape).toHaveLength(2)
      expect([6, 8]).toContain(sizeOf(shape))
    }
    for (const shape of smallest(shapes({ minSize: 0 }), (shape) => shape.includes(0))) expect(shape).toEqual([0])
    for (const shape of smallest(shapes({ minRank: 2 }), () => true)) expect(shape).toEqual([1, 1])
  })

  it('broadcast together', () => {
    const options = { numRuns: 1000, seed: 2 }
    const found = fc.sample(broadcastableShapes(3, { minSize: 0, maxRank: 3 }), options)
    for (const [a, b, c] of found as [number[], number[], number[]][]) {
      const both = broadcastShape(a, b)
      expect(both !== null && broadcastShape(both, c)).toBeTruthy()
    }
    // Every kind of broadcasting occurs: an axis of size 1, a missing axis, nothing at all.
    expect(found.some(([a, b]) => a?.length === b?.length && String(a) !== String(b))).toBe(true)
    expect(found.some(([a, b]) => a?.length !== b?.length)).toBe(true)
    expect(found.some(([a, b, c]) => String(a) === String(b) && String(b) === String(c))).toBe(true)
  })

  it('that broadcast together shrink together', () => {
    const fails = ([a, b]: readonly (readonly number[])[]) => String(a) !== String(b)
    for (const [a, b] of smallest(broadcastableShapes(2), fails)) {
      expect([String(a), String(b)].sort()).toEqual(['', '1'])
    }
    const repeated = ([a, b]: readonly (readonly number[])[]) => sizeOf(a as number[]) > sizeOf(b as number[])
    for (const list of smallest(broadcastableShapes(2), repeated)) expect(list).toEqual([[2], []])
  })

  it('keep the bounds while they shrink', () => {
    for (const list of smallest(broadcastableShapes(2, { minRank: 2, minSize: 2 }), () => true)) {
      const target = broadcastShape(list[0] as number[], list[1] as number[])
      expect(target).toEqual([2, 2])
    }
  })
})

describe('tensors', () => {
  it('are well scaled where nothing else is said', () => {
    fc.assert(
      fc.property(tensors({ requiresGrad: true }), (x) => {
        expect(x.dtype).toBe('float64')
        expect(x.requiresGrad).toBe(true)
        for (const value of x.data) expect(Math.abs(value) >= 0.25 && Math.abs(value) <= 3).toBe(true)
      }),
    )
    fc.assert(fc.property(wellScaled({ positive: true }), (value) => value === Math.fround(value) && value >= 0.25))
  })

  it('take a shape, a dtype and values', () => {
    fc.assert(
      fc.property(tensors({ shape: [2, 3], dtype: 'float32', values: fc.constantFrom(0.5, 2) }), (x) => {
        expect(x.shape).toEqual([2, 3])
        expect(x.dtype).toBe('float32')
        for (const value of x.data) expect([0.5, 2]).toContain(value)
      }),
    )
    fc.assert(fc.property(tensors({ dtype: 'int32' }), (x) => x.dtype === 'int32'))
  })

  it.each(['float32', 'float64'] as const)('hold every adversarial kind of %s', (dtype) => {
    const found = fc.sample(tensors({ dtype, adversarial: true, minRank: 1 }), { numRuns: 1000, seed: 3 })
    const numbers = found.flatMap((x) => [...x.data])
    const [normal, largest] = dtype === 'float32' ? [2 ** -126, 3.4028234663852886e38] : [2 ** -1022, Number.MAX_VALUE]
    const has = (test: (value: number) => boolean) => expect(numbers.some(test)).toBe(true)
    has((value) => Object.is(value, 0))
    has((value) => Object.is(value, -0))
    has((value) => value === largest)
    has((value) => Math.abs(value) < Number.POSITIVE_INFINITY && value ** 2 > largest && value < largest / 2)
    has((value) => value === normal)
    has((value) => value > normal && value ** 2 < normal)
    has((value) => value > 0 && value < normal)
    has((value) => value === Number.POSITIVE_INFINITY)
    has((value) => value === Number.NEGATIVE_INFINITY)
    has(Number.isNaN)
    const hasTie = ({ data }: Tensor) => new Set(data.map(Math.abs).filter((value) => value > 0.25 && value < 3))
    expect(found.some((x) => hasTie(x).size < x.data.filter((v) => Math.abs(v) > 0.25 && Math.abs(v) < 3).length)).toBe(
      true,
    )
  })

  it('hold the chosen kinds alone', () => {
    fc.assert(
      fc.property(tensors({ adversarial: ['zero', 'nan'] }), (x) =>
        x.data.every(
          (value) => value === 0 || Number.isNaN(value) || (Math.abs(value) >= 0.25 && Math.abs(value) <= 3),
        ),
      ),
    )
  })

  it('shrink to the smallest shape around the number that makes them fail', () => {
    const fails = (x: Tensor) => x.data.some(Number.isNaN)
    for (const x of smallest(tensors({ adversarial: true }), fails)) {
      expect(x.shape).toEqual([])
      expect(x.item()).toBeNaN()
    }
    const nextToEachOther = (x: Tensor) => {
      const columns = x.shape[x.ndim - 1] ?? 1
      return x.data.some(
        (value, i) => value === 0 && (i + 1) % columns > 0 && x.data[i + 1] === Number.POSITIVE_INFINITY,
      )
    }
    for (const x of smallest(tensors({ adversarial: ['zero', 'infinity'], maxSize: 6 }), nextToEachOther)) {
      expect(shown(x)).toMatch(/^tensor\(\[-?0, Infinity\], \{ dtype: 'float64' \}\)$/)
    }
  })

  it('shrink to the simplest numbers', () => {
    for (const x of smallest(tensors({ minRank: 1 }), ({ size }) => size > 2)) {
      expect(x.toArray()).toEqual(
        x.ndim === 1
          ? [1, 1, 1]
          : [
              [1, 1],
              [1, 1],
            ],
      )
    }
    for (const x of smallest(tensors(), (x) => x.data.some((value) => value < -2))) {
      expect(x.shape).toEqual([])
      // The first number behind −2.
      expect(x.item()).toBe(-2 - 2 ** -19)
    }
    for (const x of smallest(tensors({ adversarial: ['huge'] }), () => true)) expect(x.toArray()).toBe(1)
  })

  it('shrink ties as ties', () => {
    const tied = ({ data }: Tensor) => new Set(data).size < data.length
    for (const x of smallest(tensors({ adversarial: ['tie'] }), tied)) expect(x.toArray()).toEqual([1, 1])
  })

  it('keep their separation, also while they shrink', () => {
    const apart = (list: readonly Tensor[]) => {
      const sizes = list.flatMap(({ data }) => [...data].map(Math.abs)).sort((a, b) => a - b)
      return sizes.every((value, i) => i === 0 || value - (sizes[i - 1] as number) >= 0.0625)
    }
    const options = { separation: 0.0625, maxRank: 2, maxSize: 3 }
    fc.assert(fc.property(broadcastableTensors(2, options), apart))
    for (const list of smallest(broadcastableTensors(2, options), (list) => list.every(({ size }) => size > 1))) {
      expect(apart(list)).toBe(true)
      expect(list.map(({ size }) => size)).toEqual([2, 2])
    }
  })

  it('that broadcast together shrink together', () => {
    const fails = ([a, b]: readonly Tensor[]) => (a as Tensor).size > 1 && (b as Tensor).size === 1
    for (const [a, b] of smallest(broadcastableTensors(2), fails)) {
      expect([a?.toArray(), b?.toArray()]).toEqual([[1, 1], 1])
    }
  })

  it('come fresh for every run', () => {
    const seen = new Set<Tensor>()
    fc.check(
      fc.property(tensors({ requiresGrad: true }), (x) => {
        expect(x.grad).toBeNull()
        expect(seen.has(x)).toBe(false)
        seen.add(x)
        x.sum().backward()
        return x.size < 3
      }),
      { seed: 1 },
    )
  })

  it('are shown as the code that makes them', () => {
    const one = (options: Parameters<typeof tensors>[0]) => fc.sample(tensors(options), { numRuns: 1, seed: 1 })[0]
    expect(shown(one({ shape: [1, 2], values: fc.constant(-0), requiresGrad: true }) as Tensor)).toBe(
      "tensor([[-0, -0]], { dtype: 'float64', requiresGrad: true })",
    )
    expect(shown(one({ shape: [2, 0], dtype: 'float32' }) as Tensor)).toBe(
      "tensor([], { dtype: 'float32', shape: [2, 0] })",
    )
  })
})

describe('masks', () => {
  it('are bool, and among them are some that are the same everywhere', () => {
    const found = fc.sample(masks({ shape: [3, 4] }), { numRuns: 300, seed: 4 })
    for (const mask of found) expect([mask.dtype, ...mask.shape]).toEqual(['bool', 3, 4])
    const sums = new Set(found.map(({ data }) => [...data].reduce((a, b) => a + b, 0)))
    for (const sum of [0, 5, 6, 7, 12]) expect(sums).toContain(sum)
  })

  it('shrink to false', () => {
    for (const mask of smallest(masks({ minRank: 1 }), ({ data }) => data.includes(1))) {
      expect(mask.toArray()).toEqual([true])
    }
    for (const mask of smallest(masks({ shape: [2, 2] }), ({ data }) => data[3] === 1)) {
      expect(mask.toArray()).toEqual([
        [false, false],
        [false, true],
      ])
    }
  })
})

describe('axes', () => {
  it('are those of the rank, from both ends', () => {
    const found = new Set(fc.sample(axes(3), { numRuns: 500, seed: 5 }))
    expect([...found].sort((a, b) => a - b)).toEqual([-3, -2, -1, 0, 1, 2])
    for (const axis of smallest(axes(4), () => true)) expect(axis).toBe(0)
  })

  it('come as subsets without a repetition', () => {
    const found = fc.sample(axisSubsets(3, { minLength: 1 }), { numRuns: 2000, seed: 6 })
    for (const subset of found) expect(new Set(subset.map((axis) => (axis + 3) % 3)).size).toBe(subset.length)
    const sets = new Set(found.map((subset) => [...new Set(subset.map((axis) => (axis + 3) % 3))].sort().join()))
    expect(sets.size).toBe(7)
    for (const subset of smallest(axisSubsets(4), (list) => list.length >= 2)) {
      expect(subset).toHaveLength(2)
      expect(subset.every((axis) => axis >= 0)).toBe(true)
    }
  })

  it('come in every order, and shrink to their own', () => {
    const found = fc.sample(permutations(4), { numRuns: 2000, seed: 7 })
    expect(new Set(found.map(String)).size).toBe(24)
    for (const order of found) expect([...order].sort()).toEqual([0, 1, 2, 3])
    for (const order of smallest(permutations(4), () => true)) expect(order).toEqual([0, 1, 2, 3])
    for (const order of smallest(permutations(4), ([first]) => first !== 0)) expect(order).toEqual([1, 0, 2, 3])
  })
})

describe('options', () => {
  it.each([
    () => shapes({ minRank: 3, maxRank: 2 }),
    () => shapes({ minSize: -1 }),
    () => shapes({ rank: 2 } as never),
    () => broadcastableShapes(0),
    () => axes(0),
    () => axisSubsets(2, { minLength: 3 }),
    () => permutations(-1),
    () => tensors({ dtype: 'float16' as never }),
    () => tensors({ dtype: 'int32', adversarial: ['nan'] }),
    () => tensors({ adversarial: ['tie'], separation: 1 }),
    () => tensors({ separation: Number.NaN }),
    () => fc.sample(tensors({ shape: [100], separation: 1 }), 1),
  ])('that make no sense are errors: %s', (make) => {
    expect(make).toThrow(ArgumentError)
  })
})
