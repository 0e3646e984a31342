// Attention's kernels: against plain loops, in whatever pieces they are called, and within their memory.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Guarded, guarded } from './guarded.js'
import { type Bench, benches } from './harness.js'

type Kind = 'f32' | 'f64'
type Values = Float32Array | Float64Array

const arrayOf = { f32: Float32Array, f64: Float64Array }

/** A matrix operand of every position of a batch: rows with a gap behind each, positions with one between. */
interface Matrices {
  readonly rows: number
  readonly columns: number
  readonly gap: number
}

interface Problem {
  readonly positions: number
  readonly queries: number
  readonly keys: number
  readonly keyDim: number
  readonly valueDim: number
  readonly causal: boolean
  readonly mask: 'none' | 'bool' | 'added'
  readonly dropout: number
  readonly gap: number
  readonly seed: number
}

const OPERANDS = ['q', 'k', 'v', 'mask', 'y', 'g', 'dq', 'dk', 'dv'] as const
type Name = (typeof OPERANDS)[number]

const FACTOR = 0.37

function matricesOf({ queries, keys, keyDim, valueDim, gap }: Problem): Readonly<Record<Name, Matrices>> {
  const of = (rows: number, columns: number) => ({ rows, columns, gap })
  const [queryRows, keyRows] = [of(queries, keyDim), of(keys, keyDim)]
  const [valueRows, resultRows] = [of(keys, valueDim), of(queries, valueDim)]
  return {
    ...{ q: queryRows, k: keyRows, v: valueRows, mask: of(queries, keys), y: resultRows, g: resultRows },
    ...{ dq: queryRows, dk: keyRows, dv: valueRows },
  }
}

const rowStride = ({ columns, gap }: Matrices) => columns + gap
const positionStride = (matrices: Matrices) => matrices.rows * rowStride(matrices) + matrices.gap

/** Places of all elements, in order of position, row and column. */
function placesOf(matrices: Matrices, positions: number): number[] {
  const places: number[] = []
  for (let position = 0; position < positions; position++) {
    for (let row = 0; row < matrices.rows; row++) {
      const start = position * positionStride(matrices) + row * rowStride(matrices)
      for (let column = 0; column < matrices.columns; column++) places.push(start + column)
    }
  }
  return places
}

/** A generator of numbers in [−1, 1) from a seed (Mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return Math.fround(((x ^ (x >>> 14)) >>> 0) / 2 ** 31 - 1)
  }
}

/** Elements between which lies NaN, so that a stray read shows. */
function image(kind: Kind, matrices: Matrices, positions: number, value: () => number): Values {
  const memory = new arrayOf[kind](positions * positionStride(matrices)).fill(Number.NaN)
  for (const place of placesOf(matrices, positions)) memory[place] = value()
  return memory
}

interface Memory {
  readonly call: Guarded
  readonly workspace: Guarded
  readonly parts: Readonly<Record<Name, Guarded>>
  readonly statistics: Guarded
}

/** Lays everything out in linear memory, and writes the call block with its offsets. */
function layOut(
  bench: Bench,
  kind: Kind,
  problem: Problem,
  inputs: Readonly<Record<string, Values | Uint8Array>>,
): Memory {
  const { positions, queries, keys, keyDim, valueDim } = problem
  const bytes = arrayOf[kind].BYTES_PER_ELEMENT
  const matrices = matricesOf(problem)
  const parts = Object.fromEntries(
    OPERANDS.map((name) => {
      const size = positions * positionStride(matrices[name]) * bytes
      return [name, guarded(bench, inputs[name] ?? size)]
    }),
  ) as Record<Name, Guarded>
  const statistics = guarded(bench, positions * queries * 2 * bytes)
  const workspace = guarded(bench, bench.kernels[`attentionWorkspace_${kind}`](queries, keys, keyDim, valueDim))
  const words = new Int32Array(44 + 10 * positions)
  const { buffer } = words
  words.set([queries, keys, keyDim, valueDim, Number(problem.causal), ['none', 'bool', 'added'].indexOf(problem.mask)])
  new Float64Array(buffer, 24, 2).set([FACTOR, problem.dropout === 1 ? 1 : 1 / (1 - problem.dropout)])
  new Float32Array(buffer, 40, 1).set([problem.dropout])
  words.set([problem.seed, 1, 2, 3], 11)
  const call = guarded(bench, words)
  words[15] = statistics.address
  words[16] = call.address + 44 * 4
  OPERANDS.forEach((name, i) => {
    const unit = name === 'mask' && problem.mask === 'bool' ? 1 : bytes
    const unused = name === 'mask' && problem.mask === 'none'
    words.set([unused ? 0 : parts[name].address, rowStride(matrices[name]) * unit, unit], 17 + 3 * i)
    for (let position = 0; position < positions; position++) {
      words[44 + 10 * position + i] = position * positionStride(matrices[name]) * unit
      words[44 + 10 * position + 9] = position
    }
  })
  bench.write(call.address, words)
  return { call, workspace, parts, statistics }
}

const read = (bench: Bench, kind: Kind, address: number, length: number): Values =>
  kind === 'f32' ? bench.float32(address, length) : bench.float64(address, length)

/** How a range is divided. */
type Cuts = readonly number[]

function ranges(end: number, cuts: Cuts): (readonly [number, number])[] {
  const bounds = [0, ...[...new Set(cuts.filter((cut) => cut > 0 && cut < end))].sort((a, b) => a - b), end]
  return bounds.slice(1).map((to, i) => [bounds[i] as number, to])
}

interface Division {
  readonly positions: Cuts
  readonly queries: Cuts
  readonly keys: Cuts
  /** Whether the products towards q are made by calls of their own, so that queries and keys can be divided. */
  readonly separately: boolean
}

const WHOLE: Division = { positions: [], queries: [], keys: [], separately: false }

/** Y, and the products towards q, k and v, after checking that nothing else was written. */
function run(bench: Bench, kind: Kind, problem: Problem, division: Division): number[][] {
  const { positions, queries, keys } = problem
  const mark = bench.reserve(0)
  const matrices = matricesOf(problem)
  const next = numbers(problem.seed)
  const inputs: Record<string, Values | Uint8Array> = {}
  for (const name of ['q', 'k', 'v', 'g'] as const) inputs[name] = image(kind, matrices[name], positions, next)
  if (problem.mask === 'added') {
    inputs['mask'] = image(kind, matrices.mask, positions, () => (next() < -0.5 ? Number.NEGATIVE_INFINITY : next()))
  }
  if (problem.mask === 'bool') {
    const bits = image('f64', matrices.mask, positions, () => Number(next() < 0.5))
    inputs['mask'] = Uint8Array.from(bits, (bit) => (Number.isNaN(bit) ? 1 : bit))
  }
  const { call, workspace, parts, statistics } = layOut(bench, kind, problem, inputs)
  const kernels = bench.kernels
  for (const [from, to] of ranges(positions, division.positions)) {
    for (const [queryFrom, queryTo] of ranges(queries, division.queries)) {
      kernels[`attention_${kind}`](call.address, from, to, queryFrom, queryTo, workspace.address)
    }
  }
  const backward = (towards: readonly Name[], pieces: readonly (readonly number[])[]) => {
    for (const name of ['dq', 'dk', 'dv'] as const) {
      const at = call.address + 4 * (17 + 3 * OPERANDS.indexOf(name))
      bench.write(at, Int32Array.of(towards.includes(name) ? parts[name].address : 0))
    }
    for (const [from, to] of ranges(positions, division.positions)) {
      for (const [a = 0, b = 0, c = 0, d = 0] of pieces) {
        kernels[`attentionBackward_${kind}`](call.address, from, to, a, b, c, d, workspace.address)
      }
    }
  }
  if (division.separately) {
    backward(
      ['dq'],
      ranges(queries, division.queries).map(([from, to]) => [from, to, 0, keys]),
    )
    for (const name of ['dk', 'dv'] as const) {
      backward(
        [name],
        ranges(keys, division.keys).map(([from, to]) => [0, queries, from, to]),
      )
    }
  } else backward(['dq', 'dk', 'dv'], [[0, queries, 0, keys]])

  for (const part of [call, workspace, statistics, ...Object.values(parts)]) expect(part.intact()).toBe(true)
  const results = (['y', 'dq', 'dk', 'dv'] as const).map((name) => {
    const at = placesOf(matrices[name], positions)
    const memory = read(bench, kind, parts[name].address, positions * positionStride(matrices[name]))
    // What nobody has written keeps its pattern.
    const written = new Set(at)
    const bytes = new Uint8Array(memory.buffer)
    const strays = memory.findIndex(
      (_, place) => !written.has(place) && bytes[place * memory.BYTES_PER_ELEMENT] !== 0xa5,
    )
    expect(strays, name).toBe(-1)
    return at.map((place) => memory[place] as number)
  })
  bench.reset(mark)
  return results
}

/** The same by plain loops in doubles, without dropout. */
function reference(kind: Kind, problem: Problem): number[][] {
  const { positions, queries, keys, keyDim, valueDim, causal, mask } = problem
  const next = numbers(problem.seed)
  const list = (count: number, value = next) => Array.from({ length: count }, value)
  const [q, k, v, g] = [queries * keyDim, keys * keyDim, keys * valueDim, queries * valueDim].map((size) =>
    list(positions * size),
  ) as [number[], number[], number[], number[]]
  const bias = list(positions * queries * keys, () => {
    if (mask === 'none') return 0
    if (mask === 'added') return next() < -0.5 ? Number.NEGATIVE_INFINITY : next()
    return next() < 0.5 ? 0 : Number.NEGATIVE_INFINITY
  })
  const [y, dq, dk, dv] = [g, q, k, v].map((x) => new Array<number>(x.length).fill(0)) as [
    number[],
    number[],
    number[],
    number[],
  ]
  const add = (x: number[], at: number, value: number) => {
    x[at] = (x[at] as number) + value
  }
  const dot = (a: number[], atA: number, b: number[], atB: number, count: number) => {
    let sum = 0
    for (let i = 0; i < count; i++) sum += (a[atA + i] as number) * (b[atB + i] as number)
    return sum
  }
  for (let row = 0; row < positions * queries; row++) {
    const position = Math.floor(row / queries)
    const query = row % queries
    const key = (m: number) => position * keys + m
    const scores = Array.from({ length: keys }, (_, m) =>
      causal && m > query
        ? Number.NEGATIVE_INFINITY
        : FACTOR * dot(q, row * keyDim, k, key(m) * keyDim, keyDim) + (bias[row * keys + m] as number),
    )
    const largest = Math.max(...scores)
    const powers = scores.map((score) => (largest === Number.NEGATIVE_INFINITY ? 0 : Math.exp(score - largest)))
    const sum = powers.reduce((a, b) => a + b)
    const weights = powers.map((power) => (sum === 0 ? 0 : power / sum))
    const products = weights.map((_, m) => dot(g, row * valueDim, v, key(m) * valueDim, valueDim))
    const mean = dot(weights, 0, products, 0, keys)
    weights.forEach((weight, m) => {
      for (let i = 0; i < valueDim; i++) {
        add(y, row * valueDim + i, weight * (v[key(m) * valueDim + i] as number))
        add(dv, key(m) * valueDim + i, weight * (g[row * valueDim + i] as number))
      }
      const score = FACTOR * weight * ((products[m] as number) - mean)
      for (let i = 0; i < keyDim; i++) {
        add(dq, row * keyDim + i, score * (k[key(m) * keyDim + i] as number))
        add(dk, key(m) * keyDim + i, score * (q[row * keyDim + i] as number))
      }
    })
  }
  return [y, dq, dk, dv].map((x) => x.map((value) => (kind === 'f32' ? Math.fround(value) : value)))
}

const size = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 18 }) }, fc.integer({ min: 120, max: 270 }))

const problems = fc.record<Problem>({
  positions: fc.integer({ min: 1, max: 2 }),
  queries: size,
  keys: size,
  keyDim: fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: 17 }) }, fc.constant(259)),
  valueDim: fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: 17 }) }, fc.constant(259)),
  causal: fc.boolean(),
  mask: fc.constantFrom('none', 'bool', 'added'),
  dropout: fc.constant(0),
  gap: fc.nat(2),
  seed: fc.nat(),
})

const cuts = fc.array(fc.integer({ min: 1, max: 269 }), { maxLength: 4 })
const divisions = fc.record<Division>({
  positions: fc.subarray([1]),
  queries: cuts,
  keys: cuts,
  separately: fc.constant(true),
})

const kinds: readonly Kind[] = ['f32', 'f64']
const tolerances = { f32: 3e-5, f64: 1e-13 }

describe.each(benches)('attention, fused: $fused', (bench) => {
  describe.each(kinds)('%s', (kind) => {
    it('is the formula, for any sizes, masks and gaps, and touches nothing else', () => {
      fc.assert(
        fc.property(problems, (problem) => {
          const results = run(bench, kind, problem, WHOLE)
          reference(kind, problem).forEach((expected, part) => {
            const found = results[part] as number[]
            // Sums of up to some hundred terms of this size.
            const scale = expected.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1)
            const wrong = expected.findIndex(
              (value, i) => !(Math.abs((found[i] as number) - value) <= tolerances[kind] * scale),
            )
            if (wrong >= 0)
              expect.fail(`${['y', 'dq', 'dk', 'dv'][part]}[${wrong}]: ${found[wrong]}, not ${expected[wrong]}`)
          })
        }),
        { numRuns: 60 },
      )
    })

    it('has the same bits in whatever pieces it is called', () => {
      fc.assert(
        fc.property(problems, fc.constantFrom(0, 0.5), divisions, (problem, dropout, division) => {
          const given = { ...problem, dropout }
          expect(run(bench, kind, given, division)).toEqual(run(bench, kind, given, WHOLE))
        }),
        { numRuns: 40 },
      )
    })
  })
})
