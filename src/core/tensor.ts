import { read, readOne, tick } from '../memory/arena.js'
import { disown, own } from '../memory/scope.js'
import type { Storage } from '../memory/storage.js'
import type { TensorMethods } from '../methods.js'
import { arrayOf, checkFloating, type DType, type TypedArray } from './dtype.js'
import { ArgumentError, DTypeError, GradientError, ShapeError } from './errors.js'
import { formatTensor } from './format.js'
import { TapeNode } from './node.js'
import { checkCount, contiguousStrides, type Shape, sameShape, showShape, sizeOf } from './shape.js'

/** Numbers nested as deep as a tensor has axes; booleans where the dtype is `bool`. */
export type NestedArray = number | boolean | NestedArray[]

/**
 * An array of numbers of one dtype, and, where it needs a gradient, its place on the tape. Tensors are values:
 * operations make new ones, and there is nothing to free. Made by `tensor`, `zeros`, `randn` and the like, never by
 * `new`. Only a leaf's numbers can be changed in place (`copy_`).
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: core knows no operation, so methods.ts declares and installs them
export class Tensor {
  /** Sizes of the axes, outermost first; `[]` for a scalar. */
  readonly shape: Shape
  /** @internal Where the numbers live. */
  readonly storage: Storage
  /** @internal Element strides of a view that is not row-major without gaps; null where it is. */
  readonly strides: readonly number[] | null
  /** @internal The entry on the tape; null where no gradient is needed. */
  node: TapeNode | null = null
  /** @internal What `grad` shows. */
  gradient: Tensor | null = null
  /** @internal Tangents of the forward passes under way, by their tags; null where there are none. */
  tangents: Map<number, Tensor> | null = null

  /** @internal */
  constructor(storage: Storage, shape: Shape, strides: readonly number[] | null) {
    this.storage = storage
    this.shape = shape
    this.strides = strides
  }

  /** The kind of the numbers. */
  get dtype(): DType {
    return this.storage.dtype
  }

  /** Number of elements: the product of the sizes. */
  get size(): number {
    return sizeOf(this.shape)
  }

  /** Number of axes. */
  get ndim(): number {
    return this.shape.length
  }

  /** Whether operations on this tensor are recorded for `backward`. */
  get requiresGrad(): boolean {
    return this.node !== null
  }

  /** Whether this tensor is an input of the tape (or not on it), not the result of a recorded operation. */
  get isLeaf(): boolean {
    return this.node === null || this.node.operation === null
  }

  /**
   * The gradient that `backward` has gathered in this leaf, or in this result after `retainGrad`: null until one reaches
   * it. Further ones are added to it. Set it to null to start over.
   */
  get grad(): Tensor | null {
    if (this.gradient !== null) this.gradient.storage.escaped = true
    return this.gradient
  }

  set grad(value: Tensor | null) {
    if (value !== null) {
      if (!isTensor(value)) throw new ArgumentError(`grad: must be a tensor or null, got ${typeof value}`)
      if (!sameShape(value.shape, this.shape)) {
        throw new ShapeError(`grad: its tensor has shape ${showShape(this.shape)}, got ${showShape(value.shape)}`)
      }
      if (value.dtype !== this.dtype) {
        throw new DTypeError(`grad: its tensor is ${this.dtype}, got ${value.dtype}; convert with .to('${this.dtype}')`)
      }
    }
    this.setGradient(value)
  }

  /** @internal Replaces the gradient and gives the old one up. */
  setGradient(value: Tensor | null): void {
    if (value !== null) own(value.storage)
    if (this.gradient !== null) disown(this.gradient.storage)
    this.gradient = value
  }

  /**
   * Makes this tensor a leaf whose gradient `backward` gathers, or no longer.
   *
   * @throws DTypeError where the dtype is not a floating one
   * @throws GradientError on the result of a recorded operation, which always needs its gradient
   */
  requiresGrad_(requiresGrad = true): this {
    if (typeof requiresGrad !== 'boolean') {
      throw new ArgumentError(`requiresGrad: must be true or false, got ${String(requiresGrad)}`)
    }
    if (!this.isLeaf) {
      if (requiresGrad) return this
      throw new GradientError('requiresGrad_: this is the result of a recorded operation; use detach() to cut it off')
    }
    if (!requiresGrad) this.node = null
    else if (this.node === null) {
      checkFloating('requiresGrad', this.dtype)
      this.node = new TapeNode<unknown>(tick(), null, null, [], [], [], this.shape, this)
    }
    return this
  }

  /** The only number of a tensor with one element; `bool` as 0 or 1. */
  item(): number {
    if (this.size !== 1) {
      throw new ShapeError(
        `item: needs a tensor with one element, got ${showShape(this.shape)}; use toArray() or data for more`,
      )
    }
    return readOne(this.storage, 0)
  }

  /** A copy of the numbers in row-major order; `bool` as bytes 0 and 1. */
  get data(): TypedArray {
    const numbers = read(this.storage)
    if (this.strides === null) return numbers
    checkCount('data', this.shape)
    return gather(numbers, this.shape, this.strides, new (arrayOf(this.dtype))(this.size))
  }

  /** A copy of the numbers as nested arrays; a plain number for a scalar; booleans for `bool`. */
  toArray(): NestedArray {
    const { data, shape } = this
    const convert = this.dtype === 'bool' ? (value: number) => value !== 0 : (value: number) => value
    const nest = (axis: number, offset: number, block: number): NestedArray => {
      if (axis === shape.length) return convert(data[offset] as number)
      const size = shape[axis] as number
      const step = size === 0 ? 0 : block / size
      return Array.from({ length: size }, (_, index) => nest(axis + 1, offset + index * step, step))
    }
    return nest(0, 0, this.size)
  }

  /**
   * The numbers as text, aligned and nested as the axes are, with shape and dtype. Of more than 1,000 numbers, the
   * first and last three along each axis.
   */
  toString(): string {
    return formatTensor(this)
  }

  /** @internal What `console.log` shows in Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return formatTensor(this)
  }
}

export interface Tensor extends TensorMethods {}

/** Whether a value is a tensor. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor
}

function gather(from: TypedArray, shape: Shape, strides: readonly number[], to: TypedArray): TypedArray {
  const index = contiguousStrides(shape)
  for (let place = 0; place < to.length; place++) {
    let rest = place
    let offset = 0
    for (let axis = 0; axis < shape.length; axis++) {
      const step = index[axis] as number
      const position = Math.floor(rest / step)
      rest -= position * step
      offset += position * (strides[axis] as number)
    }
    to[place] = from[offset] as number
  }
  return to
}
