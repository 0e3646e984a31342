// What all reductions share: which axes go, which stay, and one call of a kernel that walks (outer, count, inner).

import { contiguous, empty } from '../core/contiguous.js'
import { bytesOf, type DType, suffixOf } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkCount, contiguousStrides, normalizeAxes, sizeOf } from '../core/shape.js'
import { mergeAxes } from '../core/strides.js'
import { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import type { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces, isShared } from '../runtime/threads.js'

/** Which axes a reduction takes and whether they stay with size 1. */
export interface ReductionOptions {
  /** The axes to reduce, negative ones counted from the end; all of them by default. */
  readonly axis?: number | readonly number[] | undefined
  /** Whether reduced axes stay, with size 1. */
  readonly keepDims?: boolean | undefined
}

const REDUCTION_OPTIONS = ['axis', 'keepDims']

/** The axes that a reduction takes, counted from 0, and whether they stay. */
export interface ReducedAxes {
  readonly axes: readonly number[]
  readonly keepDims: boolean
}

export function reducedAxes(
  op: string,
  x: Tensor,
  options: ReductionOptions = {},
  known: readonly string[] = REDUCTION_OPTIONS,
): ReducedAxes {
  checkOptions(op, options, known)
  const { axis, keepDims = false } = options
  if (typeof keepDims !== 'boolean')
    throw new ArgumentError(`${op}: keepDims must be true or false, got ${String(keepDims)}`)
  return { axes: normalizeAxes(op, axis, x.ndim), keepDims }
}

/** Number of values that go into each result. */
export function reducedCount(shape: readonly number[], axes: readonly number[]): number {
  return axes.reduce((product, axis) => product * (shape[axis] as number), 1)
}

/** The result's shape. */
export function reducedShape(shape: readonly number[], { axes, keepDims }: ReducedAxes): number[] {
  return keepDims
    ? shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    : shape.filter((_, axis) => !axes.includes(axis))
}

/** The shape in which a reduction's result broadcasts against its input. */
export function keptShape(shape: readonly number[], axes: readonly number[]): number[] {
  return reducedShape(shape, { axes, keepDims: true })
}

/** Reduces with a kernel `(x, out, outer, count, inner, outerStride, countStride, innerStride, ...more)`. */
export function reduceWith(
  family: KernelFamily,
  x: Tensor,
  reduced: ReducedAxes,
  dtype: DType,
  ...more: number[]
): Tensor {
  const out = empty(dtype, reducedShape(x.shape, reduced))
  if (out.storage.length === 0) return out
  checkCount(family.name, x.shape)
  const gone = reduced.axes
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !gone.includes(axis))
  let source = x
  let stays = pick(x, kept)
  let goes = pick(x, gone)
  if (stays.sizes.length > 2 || goes.sizes.length > 1) {
    // The walk has more loops than the kernel: bring the reduced axes together at the end.
    const order = [...kept, ...gone]
    const strides = x.strides ?? contiguousStrides(x.shape)
    const view = new Tensor(
      x.storage,
      order.map((axis) => x.shape[axis] as number),
      order.map((axis) => strides[axis] as number),
    )
    source = contiguous(view)
    const count = reducedCount(x.shape, gone)
    stays = { sizes: [sizeOf(out.shape)], strides: [[count]] }
    goes = { sizes: [count], strides: [[1]] }
  }
  const [outer = 1, inner = 1] = stays.sizes.length === 1 ? [1, stays.sizes[0]] : stays.sizes
  const lengths = stays.strides[0] as number[]
  const [outerStride = 0, innerStride = 0] = lengths.length === 1 ? [0, lengths[0]] : lengths
  const count = goes.sizes[0] ?? 1
  const countStride = goes.strides[0]?.[0] ?? 0
  const from = addressOf(source.storage)
  const to = addressOf(out.storage)
  const suffix = suffixOf(x.dtype)
  const bytes = bytesOf(x.dtype)
  const nanoseconds = family.nanosecondsPerByte * bytes * outer * count * inner
  const strides = [outerStride, countStride, innerStride] as const
  if (isShared(nanoseconds)) {
    const outBytes = bytesOf(dtype)
    if (outer === 1) {
      inPieces(family, suffix, {
        units: inner,
        multiple: ELEMENTS,
        nanoseconds,
        piece: (start, end) => [
          ...[from + start * innerStride * bytes, to + start * outBytes, 1, count, end - start],
          ...[...strides, ...more],
        ],
      })
    } else {
      inPieces(family, suffix, {
        units: outer,
        nanoseconds,
        piece: (start, end) => [
          ...[from + start * outerStride * bytes, to + start * inner * outBytes, end - start, count, inner],
          ...[...strides, ...more],
        ],
      })
    }
  } else family.get(suffix)(from, to, outer, count, inner, ...strides, ...more)
  return out
}

function pick(x: Tensor, axes: readonly number[]): { sizes: number[]; strides: number[][] } {
  const strides = x.strides ?? contiguousStrides(x.shape)
  return mergeAxes(
    axes.map((axis) => x.shape[axis] as number),
    [axes.map((axis) => strides[axis] as number)],
  )
}
