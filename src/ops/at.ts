// Indexing in the manner of NumPy.
import { ArgumentError, DTypeError, IndexError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { flip } from './flip.js'
import { indexSelect } from './indexing.js'
import { slice } from './joining.js'
import { reshape } from './views.js'

type Bound = number | ''

/** A range in Python's notation: `'1:3'`, `'2:'`, `':-1'`, `':'`, `'::2'`, `'::-1'`. */
export type IndexRange = `${Bound}:${Bound}` | `${Bound}:${Bound}:${Bound}`

/**
 * What `at` takes for an axis: a whole number (the axis is gone), a range, an int32 tensor (its axes take the place of
 * the axis), `null` (a new axis of size 1), or `'...'` (all axes that are not spoken of).
 */
export type Index = number | IndexRange | Tensor | null | '...'

/** What happens along one axis of the result or of x. */
interface Selection {
  /** First position, end and step of the elements taken, in rising order. */
  readonly start: number
  readonly end: number
  readonly step: number
  /** Whether they come in falling order. */
  readonly reversed: boolean
  /** How the axis appears: as it is, not at all, or as the axes of a tensor of positions. */
  readonly as: 'axis' | 'nothing' | Tensor
}

/**
 * Elements by position, as NumPy's `x[...]`:
 *
 *     at(x, 0)             // the first slice along the first axis, which is gone
 *     at(x, '1:3', -1)     // of slices 1 and 2 the last column
 *     at(x, '...', '::2')  // every second element along the last axis
 *     at(x, null, '::-1')  // a new axis in front, and the first axis reversed
 *     at(x, ':', indices)  // columns by number, in the order of an int32 tensor
 *
 * Negative positions count from the end; a range is cut to the axis, a single position must lie in it. Axes that are not
 * spoken of stay whole, at the place of `'...'` or at the end. With variables: `` x.at(`${i}:${i + 4}`) ``.
 *
 * Derivative: the cotangent in the places taken, zeros elsewhere; places taken several times get the sum.
 *
 * @throws IndexError for a position out of range, ShapeError for more indices than axes,
 *   ArgumentError for anything else that is no index, or more than one `'...'` or tensor
 */
export function at(x: Tensor, ...indices: readonly Index[]): Tensor {
  checkTensor('at', x)
  const selections = selectionsOf(x, indices)
  return composite(() => {
    const along = selections.filter((selection) => selection !== null)
    let result = x
    if (along.some(({ start, end, step }, axis) => start !== 0 || end !== x.shape[axis] || step !== 1)) {
      result = slice(
        x,
        along.map(({ start }) => start),
        along.map(({ end }) => end),
        along.map(({ step }) => step),
      )
    }
    const reversed = along.flatMap(({ reversed }, axis) => (reversed ? [axis] : []))
    if (reversed.length > 0) result = flip(result, reversed)
    const shape: number[] = []
    let axis = 0
    for (const selection of selections) {
      if (selection === null) {
        shape.push(1)
        continue
      }
      const size = result.shape[axis++] as number
      if (selection.as === 'axis') shape.push(size)
      else if (selection.as !== 'nothing') {
        const place = axis - 1
        const positions = selection.as
        result = indexSelect(result, place, reshape(positions, [positions.size]))
        shape.push(...positions.shape)
      }
    }
    return reshape(result, shape)
  })
}

/** One selection for each axis of x, in order, and null for each new axis. */
function selectionsOf(x: Tensor, indices: readonly Index[]): readonly (Selection | null)[] {
  for (const index of indices) checkIndex(index)
  const spoken = indices.filter((index) => index !== null && index !== '...').length
  if (spoken > x.ndim) {
    throw new ShapeError(`at: ${spoken} indices for the ${x.ndim} axes of ${showShape(x.shape)}`)
  }
  if (indices.filter((index) => index === '...').length > 1) throw new ArgumentError("at: '...' can be given only once")
  if (indices.filter(isTensor).length > 1) {
    throw new ArgumentError('at: only one index may be a tensor; index twice, or see gather')
  }
  const rest = new Array<Index>(x.ndim - spoken).fill(':')
  const place = indices.includes('...') ? indices.indexOf('...') : indices.length
  let axis = 0
  return [...indices.slice(0, place), ...rest, ...indices.slice(place + 1)].map((index) => {
    if (index === null) return null
    const selection = select(index as number | IndexRange | Tensor, x, axis)
    axis++
    return selection
  })
}

const RANGE = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/
const RANGES_KEPT = 1024
const ranges = new Map<string, readonly (number | undefined)[] | null>()

/** Start, end and step of a range, undefined where left out; null for another text. Reading one costs several slices. */
function parseRange(text: string): readonly (number | undefined)[] | null {
  const known = ranges.get(text)
  if (known !== undefined) return known
  const parts = RANGE.exec(text)?.slice(1)
  const numbers = parts?.map((part) => (part === undefined ? undefined : Number(part))) ?? null
  if (ranges.size >= RANGES_KEPT) ranges.clear()
  ranges.set(text, numbers)
  return numbers
}

function checkIndex(index: unknown): void {
  if (index === null || index === '...' || Number.isSafeInteger(index)) return
  if (typeof index === 'string' && parseRange(index) !== null) return
  if (isTensor(index)) {
    if (index.dtype === 'int32') return
    throw new DTypeError(`at: a tensor of positions must be int32, got ${index.dtype}; see where for masks`)
  }
  const shown = typeof index === 'string' ? `'${index}'` : String(index)
  throw new ArgumentError(
    `at: ${shown} is no index; use a whole number, a range like '1:3', null for a new axis, '...' or an int32 tensor`,
  )
}

function select(index: number | IndexRange | Tensor, x: Tensor, axis: number): Selection {
  const size = x.shape[axis] as number
  if (isTensor(index)) return { start: 0, end: size, step: 1, reversed: false, as: index }
  if (typeof index === 'number') {
    if (index < -size || index >= size) {
      throw new IndexError(
        `at: position ${index} is out of range; axis ${axis} of ${showShape(x.shape)} takes ${-size} to ${size - 1}`,
      )
    }
    const start = index < 0 ? index + size : index
    return { start, end: start + 1, step: 1, reversed: false, as: 'nothing' }
  }
  return selectRange(index, size)
}

function selectRange(range: string, size: number): Selection {
  const [from, until, by] = parseRange(range) as readonly (number | undefined)[]
  const step = by ?? 1
  if (step === 0) throw new ArgumentError(`at: the step of '${range}' is 0`)
  const within = (position: number, low: number, high: number) =>
    Math.min(high, Math.max(low, position < 0 ? position + size : position))
  if (step > 0) {
    const start = from === undefined ? 0 : within(from, 0, size)
    const end = until === undefined ? size : within(until, 0, size)
    return { start, end: Math.max(start, end), step, reversed: false, as: 'axis' }
  }
  // Downwards from `start` to above `end`: the same elements upwards, then reversed.
  const start = from === undefined ? size - 1 : within(from, -1, size - 1)
  const end = until === undefined ? -1 : within(until, -1, size - 1)
  const count = Math.max(0, Math.ceil((start - end) / -step))
  const lowest = count === 0 ? 0 : start + (count - 1) * step
  return { start: lowest, end: count === 0 ? 0 : start + 1, step: -step, reversed: true, as: 'axis' }
}
