import { type DType, isFloating } from '../../core/dtype.js'
import { ArgumentError } from '../../core/errors.js'
import { checkOptions } from '../../core/options.js'
import { type Shape, sameShape, showShape } from '../../core/shape.js'
import type { Tensor } from '../../core/tensor.js'
import { checkTensor } from '../../ops/arguments.js'
import { indexOf, legend, pictureOf, type Severity } from './picture.js'
import { ulpsBetween } from './ulps.js'

/** Tolerances of `toBeCloseToTensor`: |received − expected| ≤ atol + rtol · |expected|. */
export interface CloseOptions {
  /** Relative part; default 1.3e-6 for float32, 1e-7 for float64, 0 for the others. */
  readonly rtol?: number | undefined
  /** Absolute part; default 1e-5 for float32, 1e-7 for float64, 0 for the others. */
  readonly atol?: number | undefined
}

/** What a matcher of vitest returns. */
export interface Verdict {
  readonly pass: boolean
  readonly message: () => string
}

const MATCHER = 'toBeCloseToTensor'
const SHOWN = 5

// Those of PyTorch's torch.testing.assert_close.
const tolerances: Readonly<Record<DType, readonly [rtol: number, atol: number]>> = {
  float32: [1.3e-6, 1e-5],
  float64: [1e-7, 1e-7],
  int32: [0, 0],
  bool: [0, 0],
}

/** A pair of elements that differ by more than the tolerance. */
interface Difference {
  readonly place: number
  readonly received: number
  readonly expected: number
  readonly absolute: number
  readonly relative: number
  /** The absolute difference over the tolerance. */
  readonly excess: number
}

export function compareTensors(received: unknown, expected: unknown, options: CloseOptions = {}): Verdict {
  checkTensor(MATCHER, received, 'what is expected to be close')
  checkTensor(MATCHER, expected, 'the expected value')
  checkOptions(MATCHER, options, ['rtol', 'atol'])
  const [relative, absolute] = tolerances[expected.dtype]
  const { rtol = relative, atol = absolute } = options
  for (const [name, value] of Object.entries({ rtol, atol })) {
    if (!(value >= 0)) throw new ArgumentError(`${MATCHER}: ${name} must be a number of at least 0, got ${value}`)
  }
  const mismatch = formMismatch(received, expected)
  if (mismatch !== null) return { pass: false, message: () => `${MATCHER}: ${mismatch}` }
  const { shape, dtype } = expected
  const [found, wanted] = [received.data, expected.data]
  const wrong: Difference[] = []
  for (let place = 0; place < wanted.length; place++) {
    const difference = differenceAt(place, found[place] as number, wanted[place] as number, rtol, atol)
    if (difference !== null) wrong.push(difference)
  }
  const setting = `${dtype} ${showShape(shape)}, rtol ${rtol}, atol ${atol}`
  if (wrong.length > 0) return { pass: false, message: () => describe(wrong, shape, dtype, setting) }
  const agree = wanted.length === 0 ? 'there is no element to differ' : 'they agree'
  return { pass: true, message: () => `${MATCHER}: expected the tensors to differ, but ${agree} (${setting})` }
}

function formMismatch(received: Tensor, expected: Tensor): string | null {
  const forms = [received, expected].map(({ dtype, shape }) => `${dtype} ${showShape(shape)}`).join(' for an expected ')
  if (!sameShape(received.shape, expected.shape)) return `the shapes differ: received ${forms}`
  if (received.dtype !== expected.dtype) {
    return `the dtypes differ: received ${forms}; convert one with to('${expected.dtype}') where only the numbers matter`
  }
  return null
}

/** Null where the numbers are close: equal (NaN to NaN, ∞ to ∞), or finite and within the tolerance. */
function differenceAt(
  place: number,
  received: number,
  expected: number,
  rtol: number,
  atol: number,
): Difference | null {
  if (received === expected || (Number.isNaN(received) && Number.isNaN(expected))) return null
  const absolute = Math.abs(received - expected)
  const tolerance = atol + rtol * Math.abs(expected)
  if (Number.isFinite(received) && Number.isFinite(expected) && absolute <= tolerance) return null
  return { place, received, expected, absolute, relative: absolute / Math.abs(expected), excess: absolute / tolerance }
}

function severityOf({ received, expected, excess }: Difference): Severity {
  if (!Number.isFinite(received) || !Number.isFinite(expected)) return 4
  return excess <= 10 ? 1 : excess <= 1000 ? 2 : 3
}

function describe(wrong: readonly Difference[], shape: Shape, dtype: DType, setting: string): string {
  const size = shape.reduce((product, length) => product * length, 1)
  const severities = new Array<Severity>(size).fill(0)
  for (const difference of wrong) severities[difference.place] = severityOf(difference)
  const ranked = [...wrong].sort(
    (a, b) => severityOf(b) - severityOf(a) || b.excess - a.excess || b.absolute - a.absolute || a.place - b.place,
  )
  const worst = ranked[0] as Difference
  const lines = [
    `${MATCHER}: ${wrong.length} of ${size} ${size === 1 ? 'element' : 'elements'} ${wrong.length === 1 ? 'differs' : 'differ'} (${setting})`,
    '',
    ...table(ranked.slice(0, SHOWN), shape, dtype),
  ]
  if (wrong.length > SHOWN) lines.push(`… and ${wrong.length - SHOWN} more, less far off`)
  if (size > 1) {
    const { part, block, lines: rows } = pictureOf(severities, shape, worst.place)
    const scale = block[0] * block[1] > 1 ? `, each character the worst of ${block[0]} × ${block[1]}` : ''
    lines.push('', `errors in ${part}${scale} (${legend}):`, ...rows.map((row) => `  ${row}`))
  }
  return lines.join('\n')
}

function table(differences: readonly Difference[], shape: Shape, dtype: DType): string[] {
  const header = ['index', 'received', 'expected', 'difference', 'relative', ...(isFloating(dtype) ? ['ulps'] : [])]
  const rows = differences.map(({ place, received, expected, absolute, relative }) => [
    `[${indexOf(place, shape).join(', ')}]`,
    exact(received),
    exact(expected),
    brief(absolute),
    brief(relative),
    ...(isFloating(dtype) ? [brief(ulpsBetween(received, expected, dtype))] : []),
  ])
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] as string).length)))
  return all.map((row) => `  ${row.map((text, column) => text.padStart(widths[column] as number)).join('  ')}`)
}

function exact(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function brief(value: number): string {
  if (Number.isNaN(value)) return '–'
  return Number.isInteger(value) && value < 1e6 ? String(value) : Number.isFinite(value) ? value.toExponential(2) : '∞'
}
