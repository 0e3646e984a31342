import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded } from './guarded.js'
import { benches } from './harness.js'

const sizes = fc.record({
  outer: fc.nat(4),
  axisLength: fc.integer({ min: 1, max: 12 }),
  inner: fc.oneof(fc.nat(9), fc.constantFrom(15, 16, 17, 31, 33, 64, 65)),
})

/** Sizes and indices in range, negative ones included. */
const cases = sizes.chain(({ outer, axisLength, inner }) =>
  fc
    .array(fc.integer({ min: -axisLength, max: axisLength - 1 }), { maxLength: 20 })
    .map((indices) => ({ outer, axisLength, inner, indices: new Int32Array(indices) })),
)

const fromEnd = (index: number, length: number) => (index < 0 ? index + length : index)

describe('gatherRows', () => {
  it('copies the rows that the indices name', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(cases, ({ outer, axisLength, inner, indices }) => {
          const mark = bench.reserve(0)
          const x = new Uint8Array(outer * axisLength * inner).map((_, k) => (k * 151 + (k >> 8)) & 255)
          const from = bench.put(x)
          const positions = bench.put(indices)
          const count = indices.length
          const out = guarded(bench, outer * count * inner)
          const bad = bench.kernels.gatherRows(from, positions, out.address, outer, axisLength, count, inner)
          expect(bad).toBe(-1)
          expect(out.intact()).toBe(true)
          const wanted = new Uint8Array(outer * count * inner)
          for (let o = 0; o < outer; o++) {
            indices.forEach((index, j) => {
              const start = (o * axisLength + fromEnd(index, axisLength)) * inner
              wanted.set(x.subarray(start, start + inner), (o * count + j) * inner)
            })
          }
          expect(bench.bytes(out.address, wanted.length)).toEqual(wanted)
          bench.reset(mark)
        }),
      )
    }
  })

  it('reports the first index that is out of range and writes nothing', () => {
    const wrong = (axisLength: number) =>
      fc.oneof(
        fc.constantFrom(axisLength, -axisLength - 1, 2 ** 31 - 1, -(2 ** 31)),
        fc.integer({ min: axisLength, max: 2 ** 31 - 1 }),
        fc.integer({ min: -(2 ** 31), max: -axisLength - 1 }),
      )
    const broken = cases.chain(({ axisLength, indices, ...rest }) =>
      fc
        .tuple(fc.nat(indices.length), wrong(axisLength), fc.array(wrong(axisLength), { maxLength: 3 }))
        .map(([place, index, more]) => ({
          ...rest,
          axisLength,
          place,
          indices: new Int32Array([...indices.subarray(0, place), index, ...indices.subarray(place), ...more]),
        })),
    )
    for (const bench of benches) {
      fc.assert(
        fc.property(broken, ({ outer, axisLength, inner, indices, place }) => {
          const mark = bench.reserve(0)
          const from = bench.put(new Uint8Array(outer * axisLength * inner))
          const positions = bench.put(indices)
          const bytes = outer * indices.length * inner
          const out = guarded(bench, bytes)
          const before = bench.bytes(out.address, bytes)
          const bad = bench.kernels.gatherRows(from, positions, out.address, outer, axisLength, indices.length, inner)
          expect(bad).toBe(place)
          expect(out.intact()).toBe(true)
          expect(bench.bytes(out.address, bytes)).toEqual(before)
          bench.reset(mark)
        }),
      )
    }
  })

  it('takes nothing from an empty axis', () => {
    for (const bench of benches) {
      const indices = bench.put(new Int32Array([0]))
      expect(bench.kernels.gatherRows(indices, indices, indices, 3, 0, 0, 8)).toBe(-1)
      expect(bench.kernels.gatherRows(indices, indices, indices, 3, 0, 1, 8)).toBe(0)
    }
  })
})

describe.each(['f32', 'f64'] as const)('scatterAddRows_%s', (kind) => {
  const array = kind === 'f32' ? Float32Array : Float64Array
  const round = kind === 'f32' ? Math.fround : (x: number) => x

  it('adds rows in order, from zero', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(cases, fc.integer(), ({ outer, axisLength, inner, indices }, offset) => {
          const mark = bench.reserve(0)
          const count = indices.length
          // Of different magnitudes, so that another order would round differently.
          const x = new array(outer * count * inner).map((_, k) => Math.sin(k + offset) * 10 ** (k % 5))
          const from = bench.put(x)
          const positions = bench.put(indices)
          const out = guarded(bench, outer * axisLength * inner * array.BYTES_PER_ELEMENT)
          bench.kernels[`scatterAddRows_${kind}`](from, positions, out.address, outer, axisLength, count, inner)
          expect(out.intact()).toBe(true)
          const wanted = new array(outer * axisLength * inner)
          for (let o = 0; o < outer; o++) {
            indices.forEach((index, j) => {
              for (let i = 0; i < inner; i++) {
                const place = (o * axisLength + fromEnd(index, axisLength)) * inner + i
                wanted[place] = round((wanted[place] as number) + (x[(o * count + j) * inner + i] as number))
              }
            })
          }
          const got =
            kind === 'f32' ? bench.float32(out.address, wanted.length) : bench.float64(out.address, wanted.length)
          expect(got).toEqual(wanted)
          bench.reset(mark)
        }),
      )
    }
  })
})
