// What all reductions share: which axes go, which stay, and one call of a kernel that walks (outer, count, inner).

import { contiguous, empty } from '../core/contiguous.js'
import { bytesOf, type DType, suffixOf } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkCount, contiguousStrides, normalizeAxes, type Shape } from '../core/shape.js'
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
export function reducedCount(shape: Shape, axes: readonly number[]): number {
  let count = 1
  for (let i = 0; i < axes.length; i++) count *= shape[axes[i] as number] as number
  return count
}

/** The result's shape. */
export function reducedShape(shape: Shape, { axes, keepDims }: ReducedAxes): Shape {
  const result: number[] = []
  for (let axis = 0; axis < shape.length; axis++) {
    if (!axes.includes(axis)) result.push(shape[axis] as number)
    else if (keepDims) result.push(1)
  }
  return result
}

/** The shape in which a reduction's result broadcasts against its input. */
export function keptShape(shape: Shape, axes: readonly number[]): Shape {
  return reducedShape(shape, { axes, keepDims: true })
}

/**
 * Reduces with a kernel `(x, out, outer, count, inner, outerStride, countStride, innerStride)`, which may take one more
 * number.
 */
export function reduceWith(family: KernelFamily, x: Tensor, reduced: ReducedAxes, dtype: DType, more?: number): Tensor {
  const out = empty(dtype, reducedShape(x.shape, reduced))
  if (out.storage.length === 0) return out
  if (x.strides !== null) checkCount(family.name, x.shape)
  const { axes } = reduced
  let source = x
  let kept = linesOf(x, axes, false)
  let gone = linesOf(x, axes, true)
  if (gone.count > 1 || kept.count > 2) {
    // The walk has more loops than the kernel: bring the reduced axes together at the end.
    const count = reducedCount(x.shape, axes)
    source = contiguous(reducedLast(x, axes))
    kept = { count: 1, outer: 1, outerStride: 0, inner: out.storage.length, innerStride: count }
    gone = { count: 1, outer: 1, outerStride: 0, inner: count, innerStride: 1 }
  }
  const from = addressOf(source.storage)
  const to = addressOf(out.storage)
  const { outer, inner, outerStride, innerStride } = kept
  const { inner: count, innerStride: countStride } = gone
  const suffix = suffixOf(x.dtype)
  const bytes = bytesOf(x.dtype)
  const nanoseconds = family.nanosecondsPerByte * bytes * outer * count * inner
  if (isShared(nanoseconds)) {
    const outBytes = bytesOf(dtype)
    const rest = more === undefined ? [] : [more]
    const strides = [outerStride, countStride, innerStride, ...rest] as const
    const byInner = (start: number, end: number) => [
      ...[from + start * innerStride * bytes, to + start * outBytes, 1, count, end - start],
      ...strides,
    ]
    const byOuter = (start: number, end: number) => [
      ...[from + start * outerStride * bytes, to + start * inner * outBytes, end - start, count, inner],
      ...strides,
    ]
    if (outer === 1) inPieces(family, suffix, { units: inner, multiple: ELEMENTS, nanoseconds, piece: byInner })
    else inPieces(family, suffix, { units: outer, nanoseconds, piece: byOuter })
    return out
  }
  const kernel = family.get(suffix)
  if (more === undefined) kernel(from, to, outer, count, inner, outerStride, countStride, innerStride)
  else kernel(from, to, outer, count, inner, outerStride, countStride, innerStride, more)
  return out
}

/** The innermost two of the loops over some axes, neighbours joined that lie in memory as one. */
interface Lines {
  /** How many loops there are. */
  readonly count: number
  readonly outer: number
  readonly outerStride: number
  readonly inner: number
  readonly innerStride: number
}

/** The loops over the axes that are reduced, or over the others. */
function linesOf(x: Tensor, axes: readonly number[], reduced: boolean): Lines {
  let count = 0
  let outer = 1
  let outerStride = 0
  let inner = 1
  let innerStride = 0
  let plain = 1
  for (let axis = x.ndim - 1; axis >= 0; axis--) {
    const size = x.shape[axis] as number
    const stride = x.strides === null ? plain : (x.strides[axis] as number)
    plain *= size
    if (size === 1 || axes.includes(axis) !== reduced) continue
    if (count === 0) {
      count = 1
      inner = size
      innerStride = stride
    } else if (count === 1) {
      if (stride === innerStride * inner) inner *= size
      else {
        count = 2
        outer = size
        outerStride = stride
      }
    } else if (stride === outerStride * outer) outer *= size
    else count++
  }
  return { count, outer, outerStride, inner, innerStride }
}

/** A view of x in which the reduced axes come last. */
function reducedLast(x: Tensor, gone: readonly number[]): Tensor {
  const strides = x.strides ?? contiguousStrides(x.shape)
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !gone.includes(axis))
  const order = [...kept, ...gone]
  return new Tensor(
    x.storage,
    order.map((axis) => x.shape[axis] as number),
    order.map((axis) => strides[axis] as number),
  )
}
