import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded } from './guarded.js'
import { type Bench, benches, layoutBlock } from './harness.js'

type Kind = 'f32' | 'f64'
type Values = Float32Array | Float64Array

const arrayOf = { f32: Float32Array, f64: Float64Array }

/** Where the elements of a matrix lie, and those of the matrices of a batch; in elements. */
interface Layout {
  readonly row: number
  readonly column: number
  readonly batch: readonly number[]
}

interface Problem {
  readonly m: number
  readonly n: number
  readonly k: number
  readonly batch: readonly number[]
  readonly a: Layout
  readonly b: Layout
  readonly c: Layout
}

/** A single product of dense matrices, transposed or not. */
function single(m: number, n: number, k: number, transposeA = false, transposeB = false): Problem {
  return {
    ...{ m, n, k, batch: [] },
    a: { row: transposeA ? 1 : k, column: transposeA ? m : 1, batch: [] },
    b: { row: transposeB ? 1 : n, column: transposeB ? k : 1, batch: [] },
    c: { row: n, column: 1, batch: [] },
  }
}

/** The places of all elements of a matrix, or of a batch of them, in order of batch, row, column. */
function places(layout: Layout, batch: readonly number[], rows: number, columns: number): number[] {
  const sizes = [...batch, rows, columns]
  const strides = [...layout.batch, layout.row, layout.column]
  return sizes.reduce<number[]>(
    (starts, size, axis) => {
      const stride = strides[axis] as number
      return starts.flatMap((start) => Array.from({ length: size }, (_, index) => start + index * stride))
    },
    [0],
  )
}

function span(at: readonly number[]): number {
  return at.reduce((end, place) => Math.max(end, place + 1), 0)
}

/** Memory with NaN wherever the layout has no element, so that a stray read shows. */
function image(kind: Kind, at: readonly number[], value: () => number): Values {
  const memory = new arrayOf[kind](span(at)).fill(Number.NaN)
  for (const place of at) memory[place] = value()
  return memory
}

function operands(kind: Kind, { m, n, k, batch, a, b }: Problem, value: () => number): [Values, Values] {
  return [image(kind, places(a, batch, m, k), value), image(kind, places(b, batch, k, n), value)]
}

/** The part of C that one call computes; all of it by default. */
interface Piece {
  readonly row?: number
  readonly rows?: number
  readonly column?: number
  readonly columns?: number
}

const UNTOUCHED = -12345.5

/** The elements of C in order of batch, row, column, after checking that nothing else was written. */
function run(bench: Bench, kind: Kind, problem: Problem, a: Values, b: Values, pieces: readonly Piece[] = [{}]) {
  const { m, n, k, batch } = problem
  const mark = bench.reserve(0)
  const size = arrayOf[kind].BYTES_PER_ELEMENT
  const at = places(problem.c, batch, m, n)
  const c = new arrayOf[kind](span(at)).fill(UNTOUCHED)
  const [left, right, target] = [guarded(bench, a), guarded(bench, b), guarded(bench, c)]
  const workspace = guarded(bench, bench.kernels[`matmulWorkspace_${kind}`]())
  for (const { row = 0, rows = m, column = 0, columns = n } of pieces) {
    const layout = layoutBlock(batch, [problem.a.batch, problem.b.batch, problem.c.batch])
    bench.kernels[`matmul_${kind}`](
      left.address + row * problem.a.row * size,
      right.address + column * problem.b.column * size,
      target.address + (row * problem.c.row + column) * size,
      ...[rows, columns, k],
      ...[problem.a.row, problem.a.column, problem.b.row, problem.b.column, problem.c.row],
      batch.length === 0 ? 0 : bench.put(layout),
      workspace.address,
    )
  }
  const read = (address: number, length: number): Values =>
    kind === 'f32' ? bench.float32(address, length) : bench.float64(address, length)
  const result = read(target.address, c.length)
  for (const memory of [left, right, target, workspace]) expect(memory.intact()).toBe(true)
  expectSame(read(left.address, a.length), a)
  expectSame(read(right.address, b.length), b)
  bench.reset(mark)
  const written = new Set(at)
  expect(result.every((value, place) => written.has(place) || value === UNTOUCHED)).toBe(true)
  return at.map((place) => result[place] as number)
}

/** Equality of every bit, but for the kind of NaN; reports the first differences. */
function expectSame(result: ArrayLike<number>, expected: ArrayLike<number>) {
  expect(result.length).toBe(expected.length)
  const different: { index: number; value: unknown; expected: unknown }[] = []
  for (let index = 0; index < result.length && different.length < 5; index++) {
    const pair = { index, value: result[index], expected: expected[index] }
    if (!Object.is(pair.value, pair.expected)) different.push(pair)
  }
  expect(different).toEqual([])
}

/** What `combine` makes of the products whose sum each element of C is, in the order of k. */
function reference(problem: Problem, a: Values, b: Values, combine: (products: readonly number[]) => number): number[] {
  const { m, n, k, batch } = problem
  const rows = places({ ...problem.a, column: 0 }, batch, m, 1)
  const columns = places({ ...problem.b, row: 0 }, batch, 1, n)
  const products = new Array<number>(k)
  return rows.flatMap((startA, row) => {
    const matrix = Math.floor(row / m)
    return columns.slice(matrix * n, (matrix + 1) * n).map((startB) => {
      for (let l = 0; l < k; l++) {
        products[l] = (a[startA + l * problem.a.column] as number) * (b[startB + l * problem.b.row] as number)
      }
      return combine(products)
    })
  })
}

function sum(values: readonly number[]): number {
  let total = 0
  for (const value of values) total += value
  return total
}

/** A generator of numbers in [0, 1) from a seed (Mulberry32), for operands too large to be drawn one by one. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Integers so small that every sum of a few thousand products is exact in float32, in any order. */
function integers(seed: number): () => number {
  const next = numbers(seed)
  return () => Math.floor(next() * 15) - 7
}

function reals(seed: number): () => number {
  const next = numbers(seed)
  return () => Math.fround(next() * 2 - 1)
}

/** Strides for a matrix in either order, with gaps, or with one dimension broadcast; the batch outside or inside. */
const layouts = (rows: number, columns: number, batch: readonly number[]): fc.Arbitrary<Layout> =>
  fc
    .record({
      transposed: fc.boolean(),
      inside: fc.boolean(),
      gaps: fc.tuple(fc.nat(2), fc.nat(2)),
      dense: fc.boolean(),
      broadcast: fc.constantFrom('none', 'none', 'none', 'row', 'column', 'batch'),
    })
    .map(({ transposed, inside, gaps, dense, broadcast }) => {
      let next = 1
      const place = (size: number, gap: number) => {
        const stride = next
        next *= Math.max(size, 1) + (dense ? 0 : gap)
        return stride
      }
      const placeBatch = () => batch.map((size) => place(size, 0))
      const inner = place(transposed ? rows : columns, gaps[0])
      const early = inside ? placeBatch() : []
      const outer = place(transposed ? columns : rows, gaps[1])
      const strides = inside ? early : placeBatch()
      return {
        row: broadcast === 'row' ? 0 : transposed ? inner : outer,
        column: broadcast === 'column' ? 0 : transposed ? outer : inner,
        batch: broadcast === 'batch' ? batch.map(() => 0) : strides,
      }
    })

/** C has contiguous columns, with or without gaps between rows, and may lie inside a larger array, as heads do. */
const targets = (m: number, n: number, batch: readonly number[]): fc.Arbitrary<Layout> =>
  fc.record({ gap: fc.nat(3), inside: fc.boolean() }).map(({ gap, inside }) => {
    const width = Math.max(n + gap, 1)
    let next = inside ? width : width * Math.max(m, 1)
    const strides = batch.map((size) => {
      const stride = next
      next *= Math.max(size, 1)
      return stride
    })
    return { row: inside ? next : width, column: 1, batch: strides }
  })

const problems = (limits: { size: number; k: number; batch: number }): fc.Arbitrary<Problem> =>
  fc
    .record({
      m: fc.nat(limits.size),
      n: fc.nat(limits.size),
      k: fc.nat(limits.k),
      batch: fc.array(fc.nat(3), { maxLength: limits.batch }),
    })
    .chain(({ m, n, k, batch }) =>
      fc.record({
        ...{ m: fc.constant(m), n: fc.constant(n), k: fc.constant(k), batch: fc.constant(batch) },
        ...{ a: layouts(m, k, batch), b: layouts(k, n, batch), c: targets(m, n, batch) },
      }),
    )

const kinds: readonly Kind[] = ['f32', 'f64']

describe.each(benches)('matmul, fused: $fused', (bench) => {
  describe.each(kinds)('%s', (kind) => {
    const expectExact = (problem: Problem, seed: number) => {
      const [a, b] = operands(kind, problem, integers(seed))
      expectSame(run(bench, kind, problem, a, b), reference(problem, a, b, sum))
    }

    it('is exact on integers, for any sizes, strides and batches', () => {
      fc.assert(fc.property(problems({ size: 21, k: 40, batch: 3 }), fc.nat(), expectExact), { numRuns: 300 })
    })

    it('is exact on integers at every size around the tile', () => {
      for (let m = 1; m <= 14; m++) {
        for (let n = 1; n <= 18; n++) expectExact(single(m, n, 5, m % 2 === 1, n % 3 === 1), m * 100 + n)
      }
    })

    // Just beyond: the depth of a block (256), the panels packed at a time (384 or 192 columns), the sizes up to which
    // operands are used unpacked, and the blocks of products with vectors (1024 terms, 2048 or 1024 values).
    it.each([
      [19, 67, 257],
      [17, 389, 61],
      [7, 263, 521],
      [23, 1031, 9],
      [1031, 5, 13],
      [37, 41, 1],
      [1, 1, 2051],
      [1, 2053, 7],
      [1, 11, 2051],
      [2, 13, 1033],
      [2053, 1, 7],
      [11, 1, 1033],
      [13, 3, 1031],
      [9, 4, 1025],
    ])('is exact on integers for a large product: %i × %i, k = %i', (m, n, k) => {
      for (const transposeA of [false, true]) {
        for (const transposeB of [false, true]) expectExact(single(m, n, k, transposeA, transposeB), m + n + k)
      }
    })

    it('multiplies heads that are views of one matrix', () => {
      const [tokens, heads, width] = [16, 4, 8]
      const head = { row: heads * width, batch: [width] }
      const scores: Problem = {
        ...{ m: tokens, n: tokens, k: width, batch: [heads] },
        a: { ...head, column: 1 },
        b: { row: 1, column: heads * width, batch: [width] },
        c: { row: tokens, column: 1, batch: [tokens * tokens] },
      }
      expectExact(scores, 1)
      const output: Problem = {
        ...{ m: tokens, n: width, k: tokens, batch: [heads] },
        a: { row: tokens, column: 1, batch: [tokens * tokens] },
        b: { ...head, column: 1 },
        c: { ...head, column: 1 },
      }
      expectExact(output, 2)
    })

    it('gives zeros where there is nothing to sum', () => {
      expectSame(run(bench, kind, single(3, 5, 0), new arrayOf[kind](0), new arrayOf[kind](0)), Array(15).fill(0))
    })

    it('keeps infinities and NaN to their rows and columns', () => {
      fc.assert(
        fc.property(
          fc.record({ m: fc.integer({ min: 1, max: 13 }), n: fc.integer({ min: 1, max: 19 }) }),
          fc.integer({ min: 1, max: 300 }),
          fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY),
          fc.boolean(),
          fc.nat(),
          ({ m, n }, k, special, transposeB, seed) => {
            const problem = single(m, n, k, false, transposeB)
            const [a, b] = operands(kind, problem, integers(seed))
            a[seed % a.length] = special
            b[seed % b.length] = special
            expectSame(run(bench, kind, problem, a, b), reference(problem, a, b, sum))
          },
        ),
      )
    })

    it('is as accurate as a sum of k rounded products can be', () => {
      // N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1: in any order of summation the
      // error is at most k u / (1 - k u) times the sum of magnitudes. The reference is a sum of doubles and may err as
      // much with their u.
      const gamma = (k: number, unit: number) => (k * unit) / (1 - k * unit)
      fc.assert(
        fc.property(problems({ size: 20, k: 900, batch: 0 }), fc.nat(), (problem, seed) => {
          const [a, b] = operands(kind, problem, reals(seed))
          const bound = gamma(problem.k, kind === 'f32' ? 2 ** -24 : 2 ** -53) + gamma(problem.k, 2 ** -53)
          const expected = reference(problem, a, b, sum)
          const magnitudes = reference(problem, a, b, (products) => sum(products.map(Math.abs)))
          for (const [index, value] of run(bench, kind, problem, a, b).entries()) {
            const error = Math.abs(value - (expected[index] as number))
            expect(error).toBeLessThanOrEqual(bound * (magnitudes[index] as number))
          }
        }),
        { numRuns: 40 },
      )
    })

    if (!bench.fused) {
      it('sums in the order of k, in blocks of 256, whatever the sizes and strides', () => {
        const round = kind === 'f32' ? Math.fround : (x: number) => x
        const fold = (values: readonly number[]) => values.reduce((total, value) => round(total + round(value)), 0)
        const inBlocks = (products: readonly number[]) => {
          let total = fold(products.slice(0, 256))
          for (let l = 256; l < products.length; l += 256) total = round(total + fold(products.slice(l, l + 256)))
          return total
        }
        fc.assert(
          fc.property(problems({ size: 40, k: 600, batch: 1 }), fc.nat(), (problem, seed) => {
            fc.pre(problem.m > 2 && problem.n > 4)
            const [a, b] = operands(kind, problem, reals(seed))
            expectSame(run(bench, kind, problem, a, b), reference(problem, a, b, inBlocks))
          }),
          { numRuns: 30 },
        )
      })
    }

    it('does not depend on how rows and columns are divided among calls', () => {
      const cut = (size: number, least: number, random: () => number) => {
        const pieces: [start: number, length: number][] = []
        for (let start = 0; start < size; ) {
          const rest = size - start
          const length = rest < 2 * least ? rest : Math.min(least + Math.floor(random() * 30), rest - least)
          pieces.push([start, length])
          start += length
        }
        return pieces
      }
      fc.assert(
        fc.property(
          fc.record({ m: fc.integer({ min: 3, max: 70 }), n: fc.integer({ min: 5, max: 90 }) }),
          fc.integer({ min: 1, max: 600 }),
          fc.record({ transposeA: fc.boolean(), transposeB: fc.boolean() }),
          fc.nat(),
          ({ m, n }, k, { transposeA, transposeB }, seed) => {
            const problem = single(m, n, k, transposeA, transposeB)
            const [a, b] = operands(kind, problem, reals(seed))
            const columnPieces = cut(n, 5, numbers(seed))
            const pieces = cut(m, 3, numbers(seed + 1)).flatMap(([row, rows]) =>
              columnPieces.map(([column, columns]) => ({ row, rows, column, columns })),
            )
            expectSame(run(bench, kind, problem, a, b, pieces), run(bench, kind, problem, a, b))
          },
        ),
        { numRuns: 60 },
      )
    })

    it('does not depend on the batch around a matrix', () => {
      fc.assert(
        fc.property(problems({ size: 20, k: 300, batch: 2 }), fc.nat(), (problem, seed) => {
          const [a, b] = operands(kind, problem, reals(seed))
          const { m, n, k } = problem
          const alone = (layout: Layout): Layout => ({ ...layout, batch: [] })
          const start = (layout: Layout) => places(layout, problem.batch, 1, 1)
          const part = (memory: Values, from: number, layout: Layout, rows: number, columns: number) =>
            memory.slice(from, from + span(places(alone(layout), [], rows, columns)))
          const starts = start(problem.b)
          const expected = start(problem.a).flatMap((from, matrix) =>
            run(
              ...([bench, kind] as const),
              { m, n, k, batch: [], a: alone(problem.a), b: alone(problem.b), c: alone(problem.c) },
              part(a, from, problem.a, m, k),
              part(b, starts[matrix] as number, problem.b, k, n),
            ),
          )
          expectSame(run(bench, kind, problem, a, b), expected)
        }),
        { numRuns: 60 },
      )
    })
  })
})
