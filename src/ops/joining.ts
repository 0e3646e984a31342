// Putting tensors together and taking them apart along an axis.
import { copyStrided, empty } from '../core/contiguous.js'
import { bytesOf, type DType, promoteTypes } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { checkInteger, contiguousStrides, normalizeAxis, type Shape, sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { heap } from '../memory/heap.js'
import { checkTensor } from './arguments.js'
import { to } from './convert.js'
import { squeeze, unsqueeze } from './views.js'

interface Joint {
  readonly axis: number
  /** Where each input begins along the axis. */
  readonly starts: readonly number[]
}

const concatOperation: Operation<Joint> = {
  name: 'concat',
  forward: (inputs, { axis, starts }) => {
    const first = inputs[0] as Tensor
    const last = inputs[inputs.length - 1] as Tensor
    const shape = [...first.shape]
    shape[axis] = (starts[starts.length - 1] as number) + (last.shape[axis] as number)
    const out = empty(first.dtype, shape)
    const strides = contiguousStrides(shape)
    const bytes = bytesOf(out.dtype)
    inputs.forEach((input, index) => {
      const target = addressOf(out.storage) + (starts[index] as number) * (strides[axis] as number) * bytes
      copyStrided(out.dtype, input.shape, addressOf(input.storage), input.strides, target, strides)
    })
    return out
  },
  derivatives: {
    saves: [],
    rule: (g, call, index) => {
      const { axis, starts } = call.attributes
      const start = starts[index] as number
      return range(g, axis, start, start + (call.inputShape(index)[axis] as number))
    },
  },
}

/**
 * The tensors one behind the other along an axis (default 0); their other sizes must be equal. Promotes.
 *
 * @throws ArgumentError for an empty list, ShapeError where ranks or other sizes differ
 */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  const inputs = promoteAll('concat', tensors)
  const first = inputs[0] as Tensor
  const place = normalizeAxis('concat', axis, first.ndim)
  const starts: number[] = []
  let end = 0
  for (const tensor of inputs) {
    if (tensor.ndim !== first.ndim || tensor.shape.some((size, a) => a !== place && size !== first.shape[a])) {
      throw new ShapeError(
        `concat: shapes ${inputs.map((x) => showShape(x.shape)).join(', ')} differ in more than axis ${place}`,
      )
    }
    starts.push(end)
    end += tensor.shape[place] as number
  }
  return apply(concatOperation, inputs, { axis: place, starts })
}

/**
 * The tensors, all of one shape, along a new axis at place `axis` of the result (default 0). Promotes.
 *
 * @throws ArgumentError for an empty list, ShapeError where shapes differ
 */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  const inputs = promoteAll('stack', tensors)
  const first = inputs[0] as Tensor
  if (inputs.some((x) => !sameShape(x.shape, first.shape))) {
    throw new ShapeError(`stack: shapes differ: ${inputs.map((x) => showShape(x.shape)).join(', ')}`)
  }
  const place = normalizeAxis('stack', axis, first.ndim + 1)
  return concat(
    inputs.map((x) => unsqueeze(x, place)),
    place,
  )
}

function promoteAll(op: string, tensors: readonly Tensor[]): readonly Tensor[] {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw new ArgumentError(`${op}: needs a list of at least one tensor`)
  }
  for (const x of tensors as readonly Tensor[]) checkTensor(op, x, 'every element')
  const dtype = (tensors as readonly Tensor[]).reduce<DType>((common, x) => promoteTypes(common, x.dtype), 'bool')
  return (tensors as readonly Tensor[]).map((x) => to(x, dtype))
}

/** Start, length and step of a slice along every axis. */
interface Ranges {
  readonly starts: readonly number[]
  readonly lengths: readonly number[]
  readonly steps: readonly number[]
}

/** The place of a slice inside a row-major whole: byte offset and element strides. */
function window(shape: Shape, strides: readonly number[], { starts, steps }: Ranges, dtype: DType): [number, number[]] {
  const offset = starts.reduce((total, start, axis) => total + start * (strides[axis] as number), 0)
  return [offset * bytesOf(dtype), shape.map((_, axis) => (strides[axis] as number) * (steps[axis] as number))]
}

const sliceOperation: Operation<Ranges> = {
  name: 'slice',
  forward: ([input], ranges) => {
    const x = input as Tensor
    const out = empty(x.dtype, ranges.lengths)
    const [offset, strides] = window(x.shape, x.strides ?? contiguousStrides(x.shape), ranges, x.dtype)
    const target = addressOf(out.storage)
    copyStrided(x.dtype, out.shape, addressOf(x.storage) + offset, strides, target, null)
    return out
  },
  derivatives: [
    {
      saves: [],
      rule: (g, call) => apply(embedOperation, [g], { shape: call.inputShape(0), ranges: call.attributes }),
    },
  ],
}

/** The adjoint of slice: zeros, with the given values in the slice's places. */
const embedOperation: Operation<{ readonly shape: Shape; readonly ranges: Ranges }> = {
  name: 'sliceBackward',
  forward: ([input], { shape, ranges }) => {
    const x = input as Tensor
    const out = empty(x.dtype, shape)
    const target = addressOf(out.storage)
    heap.uint8.fill(0, target, target + out.storage.bytes)
    const [offset, strides] = window(shape, contiguousStrides(shape), ranges, x.dtype)
    copyStrided(x.dtype, x.shape, addressOf(x.storage), x.strides, target + offset, strides)
    return out
  },
  derivatives: [{ saves: [], rule: (h, call) => apply(sliceOperation, [h], call.attributes.ranges) }],
}

/**
 * Along each axis the elements from `start` up to, not including, `end`, every `step`-th. Negative positions count
 * from the end, as in `Array.prototype.slice`; positions beyond it are cut to it. Axes behind the given ones stay
 * whole. A single number speaks of the first axis.
 *
 * @throws ArgumentError for a step below 1 or a position that is no whole number, ShapeError for too many axes
 */
export function slice(
  x: Tensor,
  start: number | readonly number[],
  end?: number | readonly number[],
  step: number | readonly number[] = [],
): Tensor {
  checkTensor('slice', x)
  const from = listOf('start', start)
  const until = end === undefined ? [] : listOf('end', end)
  const by = listOf('step', step)
  const given = Math.max(from.length, until.length, by.length)
  if (given > x.ndim) throw new ShapeError(`slice: ${given} ranges for ${x.ndim} axes of ${showShape(x.shape)}`)
  const ranges = x.shape.map((size, axis) => {
    const first = positionIn(size, from[axis] ?? 0, 'start')
    const stop = positionIn(size, until[axis] ?? size, 'end')
    const stride = by[axis] ?? 1
    checkInteger('slice', 'step', stride, 1)
    return { first, stride, length: Math.max(0, Math.ceil((stop - first) / stride)) }
  })
  return apply(sliceOperation, [x], {
    starts: ranges.map(({ first }) => first),
    lengths: ranges.map(({ length }) => length),
    steps: ranges.map(({ stride }) => stride),
  })
}

function listOf(name: string, value: number | readonly number[]): readonly number[] {
  if (typeof value === 'number') return [value]
  if (!Array.isArray(value)) {
    throw new ArgumentError(`slice: ${name} must be a whole number or an array of them, got ${String(value)}`)
  }
  return value
}

function positionIn(size: number, position: number, name: string): number {
  if (position !== Number.POSITIVE_INFINITY) checkInteger('slice', name, position)
  return Math.min(size, Math.max(0, position < 0 ? position + size : position))
}

/** One range along one axis. */
function range(x: Tensor, axis: number, start: number, end: number): Tensor {
  return apply(sliceOperation, [x], {
    starts: x.shape.map((_, a) => (a === axis ? start : 0)),
    lengths: x.shape.map((size, a) => (a === axis ? end - start : size)),
    steps: x.shape.map(() => 1),
  })
}

/**
 * Parts of `x` along an axis (default 0): of the given size each, the last one smaller where it does not divide, or of
 * the sizes listed, which must fill the axis. The inverse of `concat`.
 *
 * @throws ShapeError where listed sizes do not add up to the axis, ArgumentError for a size below 1
 */
export function split(x: Tensor, sizes: number | readonly number[], axis = 0): Tensor[] {
  checkTensor('split', x)
  const place = normalizeAxis('split', axis, x.ndim)
  const length = x.shape[place] as number
  let parts: readonly number[]
  if (typeof sizes === 'number') {
    checkInteger('split', 'the size', sizes, 1)
    const count = Math.max(1, Math.ceil(length / sizes))
    parts = Array.from({ length: count }, (_, i) => Math.min(sizes, length - i * sizes))
  } else {
    if (!Array.isArray(sizes)) {
      throw new ArgumentError(`split: sizes must be a whole number or an array of them, got ${String(sizes)}`)
    }
    for (const size of sizes) checkInteger('split', 'a size', size, 0)
    const total = sizes.reduce((a, b) => a + b, 0)
    if (total !== length) {
      throw new ShapeError(
        `split: sizes [${sizes.join(', ')}] add up to ${total}, axis ${place} of ${showShape(x.shape)} has ${length}`,
      )
    }
    parts = sizes
  }
  let start = 0
  return parts.map((size) => {
    start += size
    return range(x, place, start - size, start)
  })
}

/** The sub-tensors along an axis (default 0), without that axis. The inverse of `stack`. */
export function unstack(x: Tensor, axis = 0): Tensor[] {
  checkTensor('unstack', x)
  const place = normalizeAxis('unstack', axis, x.ndim)
  return Array.from({ length: x.shape[place] as number }, (_, i) => squeeze(range(x, place, i, i + 1), place))
}

/**
 * `x` cut into `chunks` parts along an axis (default 0), all of the same size but the last, which may be smaller; fewer
 * parts where the axis is too short.
 *
 * @throws ArgumentError unless chunks is a whole number of at least 1
 */
export function chunk(x: Tensor, chunks: number, axis = 0): Tensor[] {
  checkTensor('chunk', x)
  checkInteger('chunk', 'the number of chunks', chunks, 1)
  const place = normalizeAxis('chunk', axis, x.ndim)
  return split(x, Math.max(1, Math.ceil((x.shape[place] as number) / chunks)), place)
}
