// Finding the operation at which numbers stop being finite.
import { isFloating } from '../core/dtype.js'
import { AnomalyError, ArgumentError } from '../core/errors.js'
import type { Origin, TapeNode } from '../core/node.js'
import { isInner, type Observer, withObserver } from '../core/operation.js'
import { type Shape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { publicly } from '../memory/scope.js'
import { callerLine } from './caller.js'

const NAME = 'detectAnomaly'

/** Whether values are looked at; not while a rule runs, whose inner values need not be finite. */
let watching = false
/** The call whose rule is running: what the rule records was called where that was. */
let ruleOf: TapeNode | null = null

/** Whether cotangents are to be looked at. */
export function isDetecting(): boolean {
  return watching
}

/** Runs `fn` without looking at its values. */
export function unwatched<Result>(fn: () => Result): Result {
  const before = watching
  watching = false
  try {
    return fn()
  } finally {
    watching = before
  }
}

/** Runs the rule of an entry. */
export function withinRule<Result>(entry: TapeNode, rule: () => Result): Result {
  if (!watching) return rule()
  const before = ruleOf
  ruleOf = entry
  try {
    return unwatched(rule)
  } finally {
    ruleOf = before
  }
}

/**
 * Runs `fn`, and throws where an operation's output, or the cotangent that its rule passes on in a `backward` or a
 * transform inside `fn`, becomes NaN or infinite: where it is NaN and nothing that went in was, or infinite and
 * everything that went in was finite. What the user's own data bring in is so no anomaly, and neither is −∞ that
 * `maskedFill` was told to write. The error names the first such operation, its inputs' shapes and ranges, and the line
 * of the calling code. Each operation takes several times as long: for debugging.
 *
 * @returns what `fn` returns
 * @throws AnomalyError with `op`, `at` and `line`
 */
export function detectAnomaly<Result>(fn: () => Result): Result {
  if (typeof fn !== 'function') throw new ArgumentError(`${NAME}: needs a function to run, got ${typeof fn}`)
  const before = watching
  watching = true
  try {
    return withObserver(observe, () => publicly(fn))
  } finally {
    watching = before
  }
}

const observe: Observer = (operation, inputs, _attributes, output) => {
  // What an operation computes on its way need not be finite.
  if (isInner() || (!watching && ruleOf === null)) return
  const origin: Origin = {
    line: ruleOf === null ? callerLine() : (ruleOf.origin?.line ?? null),
    inputs: inputs.map((input, i) => `input ${i}: ${describe(input)}`).join(', '),
  }
  if (output.node !== null) output.node.origin = origin
  if (!watching) return
  const fault = faultIn(output, inputs)
  if (fault === null) return
  throw new AnomalyError(
    `${NAME}: "${operation.name}" made ${fault} from ${origin.inputs}${calledAt(origin.line)}`,
    operation.name,
    'output',
    origin.line,
  )
}

/** Throws where a rule made a cotangent NaN or infinite. */
export function checkCotangent(entry: TapeNode, index: number, cotangent: Tensor, product: Tensor): void {
  const fault = faultIn(product, [cotangent])
  if (fault === null) return
  const name = entry.operation?.name ?? 'leaf'
  const line = entry.origin?.line ?? null
  const inputs = entry.origin === null ? '' : `; it had been computed from ${entry.origin.inputs}`
  throw new AnomalyError(
    `${NAME}: the rule of "${name}" made ${fault} in the cotangent of input ${index}, from its output's cotangent ${describe(cotangent)}${inputs}${calledAt(line)}`,
    name,
    'cotangent',
    line,
  )
}

function calledAt(line: string | null): string {
  return line === null ? '' : `; called at ${line}`
}

interface Census {
  /** Of the finite elements. */
  readonly least: number
  readonly greatest: number
  readonly nan: number
  readonly infinite: number
  /** Place of the first element that is not finite; −1 for none. */
  readonly first: number
}

function take(values: ArrayLike<number>): Census {
  let [least, greatest, nan, infinite, first] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0, -1]
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (Number.isFinite(value)) {
      least = Math.min(least, value)
      greatest = Math.max(greatest, value)
      continue
    }
    if (Number.isNaN(value)) nan++
    else infinite++
    if (first < 0) first = i
  }
  return { least, greatest, nan, infinite, first }
}

/** What became NaN or infinite in `x`, as text; null where nothing did that was not so in what it was made of. */
function faultIn(x: Tensor, sources: readonly Tensor[]): string | null {
  if (!isFloating(x.dtype)) return null
  const values = x.data
  const { nan, infinite, first } = take(values)
  if (first < 0) return null
  const before = sources.filter(({ dtype }) => isFloating(dtype)).map(({ data }) => take(data))
  const hadNaN = before.some((census) => census.nan > 0)
  const hadInfinity = before.some((census) => census.infinite > 0)
  if (hadNaN || (hadInfinity && nan === 0)) return null
  const place = nan > 0 ? values.findIndex(Number.isNaN) : first
  return `${values[place]} at [${positionOf(place, x.shape).join(', ')}] (${nan + infinite} of ${x.size} elements)`
}

function positionOf(place: number, shape: Shape): number[] {
  let rest = place
  return shape
    .map((_, axis) => {
      const size = shape[shape.length - 1 - axis] as number
      const position = rest % size
      rest = (rest - position) / size
      return position
    })
    .reverse()
}

/** Shape, dtype and range as text. */
function describe(x: Tensor): string {
  const kind = `${x.dtype} ${showShape(x.shape)}`
  const { least, greatest, nan, infinite } = take(x.data)
  const parts = [
    least <= greatest ? `in [${least}, ${greatest}]` : '',
    nan > 0 ? `${nan} NaN` : '',
    infinite > 0 ? `${infinite} infinite` : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? kind : `${kind} ${parts.join(' and ')}`
}
