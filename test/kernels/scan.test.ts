import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded } from './guarded.js'
import { benches } from './harness.js'

const sizes = fc.record({ outer: fc.nat(3), count: fc.nat(9), inner: fc.nat(4), reverse: fc.boolean() })
const kinds = [
  { suffix: 'f32', array: Float32Array, read: 'float32' },
  { suffix: 'f64', array: Float64Array, read: 'float64' },
] as const

/** Fills `out` line by line: `next` gets the place, the place before it on the line (-1 for none) and what is there. */
function walk(
  { outer, count, inner, reverse }: { outer: number; count: number; inner: number; reverse: boolean },
  next: (place: number, before: number, result: readonly number[]) => number,
): number[] {
  const result = new Array<number>(outer * count * inner).fill(0)
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      let before = -1
      for (let k = 0; k < count; k++) {
        const place = (o * count + (reverse ? count - 1 - k : k)) * inner + i
        result[place] = next(place, before, result)
        before = place
      }
    }
  }
  return result
}

// Quarters, so that sums and products of nine of them are exact.
const quarters = (length: number, seed: number) => Array.from({ length }, (_, i) => (((i * 7 + seed) % 9) - 4) / 4)

describe.each(kinds)('$suffix', ({ suffix, array, read }) => {
  it('cumulativeSum adds up along the middle axis, from either end', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(sizes, fc.nat(8), (size, seed) => {
          const mark = bench.reserve(0)
          const { outer, count, inner, reverse } = size
          const x = quarters(outer * count * inner, seed)
          const out = guarded(bench, array.BYTES_PER_ELEMENT * x.length)
          const from = bench.put(array.from(x))
          bench.kernels[`cumulativeSum_${suffix}`](from, out.address, outer, count, inner, Number(reverse))
          const wanted = walk(
            size,
            (place, before, sums) => (before < 0 ? 0 : (sums[before] as number)) + (x[place] as number),
          )
          expect([...bench[read](out.address, x.length)]).toEqual(wanted)
          expect(out.intact()).toBe(true)
          bench.reset(mark)
        }),
      )
    }
  })

  it('linearScan follows its recurrence, or in reverse the adjoint one', () => {
    for (const bench of benches) {
      fc.assert(
        fc.property(sizes, fc.nat(8), (size, seed) => {
          const mark = bench.reserve(0)
          const { outer, count, inner, reverse } = size
          const [a, b] = [quarters(outer * count * inner, seed), quarters(outer * count * inner, seed + 5)]
          const out = guarded(bench, array.BYTES_PER_ELEMENT * a.length)
          const addresses = [bench.put(array.from(a)), bench.put(array.from(b)), out.address] as const
          bench.kernels[`linearScan_${suffix}`](...addresses, outer, count, inner, Number(reverse), 0)
          const wanted = walk(size, (place, before, r) => {
            if (before < 0) return b[place] as number
            return (b[place] as number) + (a[reverse ? before : place] as number) * (r[before] as number)
          })
          const found = bench[read](out.address, a.length)
          wanted.forEach((value, i) => {
            expect(Math.abs((found[i] as number) - value)).toBeLessThanOrEqual(2 ** -20 * Math.abs(value))
          })
          expect(out.intact()).toBe(true)
          bench.reset(mark)
        }),
      )
    }
  })

  it('linearScan takes 0 · ∞ as NaN, and as 0 where told to', () => {
    for (const bench of benches) {
      const mark = bench.reserve(0)
      const [a, b] = [bench.put(array.of(1, Number.POSITIVE_INFINITY, 2)), bench.put(array.of(0, 1, 1))]
      const out = guarded(bench, 3 * array.BYTES_PER_ELEMENT)
      const kernel = bench.kernels[`linearScan_${suffix}`]
      kernel(a, b, out.address, 1, 3, 1, 0, 0)
      expect([...bench[read](out.address, 3)]).toEqual([0, Number.NaN, Number.NaN])
      kernel(a, b, out.address, 1, 3, 1, 0, 1)
      expect([...bench[read](out.address, 3)]).toEqual([0, 1, 3])
      bench.reset(mark)
    }
  })

  it('argsort orders each row, within its scratch memory', () => {
    for (const bench of benches) {
      const rows = fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 33 }), fc.boolean(), fc.nat(8))
      fc.assert(
        fc.property(rows, ([outer, count, descending, seed]) => {
          const mark = bench.reserve(0)
          const x = quarters(outer * count, seed)
          const from = bench.put(array.from(x))
          const [out, scratch] = [guarded(bench, 4 * x.length), guarded(bench, 4 * count)]
          const kernel = bench.kernels[`argsort_${suffix}`]
          kernel(from, out.address, scratch.address, outer, count, Number(descending))
          const wanted = Array.from({ length: outer }, (_, r) => {
            const row = x.slice(r * count, (r + 1) * count)
            const sign = descending ? -1 : 1
            return row.map((_, i) => i).sort((i, j) => sign * ((row[i] as number) - (row[j] as number)))
          })
          expect([...bench.int32(out.address, x.length)]).toEqual(wanted.flat())
          expect([out.intact(), scratch.intact()]).toEqual([true, true])
          bench.reset(mark)
        }),
      )
    }
  })

  it('atan2 is correctly rounded but for one unit in the last place, in every quadrant', () => {
    const any = fc.oneof(fc.double(), fc.double({ min: -2, max: 2 }), fc.constantFrom(0, -0, 1, -1))
    for (const bench of benches) {
      fc.assert(
        fc.property(any, any, (y, x) => {
          const mark = bench.reserve(0)
          const [first, second] = [array.of(y), array.of(x)]
          const out = guarded(bench, array.BYTES_PER_ELEMENT)
          bench.kernels[`atan2_${suffix}`](bench.put(first), bench.put(second), out.address, 1, 1, 1, 0)
          const found = bench[read](out.address, 1)[0] as number
          const wanted = array.of(Math.atan2(first[0] as number, second[0] as number))[0] as number
          const ulp = suffix === 'f32' ? 2 ** -23 : 2 ** -52
          if (Number.isNaN(wanted)) expect(found).toBeNaN()
          else expect(Math.abs(found - wanted)).toBeLessThanOrEqual(Math.max(Number.MIN_VALUE, ulp * Math.abs(wanted)))
          bench.reset(mark)
        }),
        { numRuns: 300 },
      )
    }
  })
})
