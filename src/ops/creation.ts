// Making tensors from numbers.

import { empty } from '../core/contiguous.js'
import { checkDType, type DType, promoteTypes, type TypedArray } from '../core/dtype.js'
import { ArgumentError, DTypeError, IndexError, MemoryError, ShapeError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, checkShape, type Shape, showShape, sizeOf } from '../core/shape.js'
import { isTensor, type NestedArray, type Tensor } from '../core/tensor.js'
import { addressOf, tick } from '../memory/arena.js'
import { viewOf } from '../memory/heap.js'
import { checkTensor } from './arguments.js'

/** Options of the functions that make tensors. */
export interface TensorOptions {
  readonly dtype?: DType | undefined
  /** Whether the new tensor is a leaf whose gradient `backward` gathers (floating dtypes only); default false. */
  readonly requiresGrad?: boolean | undefined
}

const TENSOR_OPTIONS = ['dtype', 'requiresGrad']

/** Throws unless these are options of a new tensor. */
export function checkTensorOptions(op: string, options: unknown): void {
  checkOptions(op, options, TENSOR_OPTIONS)
}

/** What `tensor` takes: a number or boolean, nested arrays of them, or a typed array. */
export type TensorData = NestedArray | readonly TensorData[] | ArrayBufferView

/** Numbers in row-major order with their shape and the dtype that they suggest. */
interface Flat {
  readonly values: ArrayLike<number>
  readonly shape: Shape
  readonly dtype: DType
}

/**
 * A tensor of the given numbers. The dtype is, unless given: that of a Float32Array, Float64Array or Int32Array; int32
 * for arrays of smaller whole numbers (bytes of an image, say); bool for booleans; float32 for plain numbers.
 *
 * @param data a number, a boolean, nested arrays of equal lengths, or a typed array; `[]` has shape (0,)
 * @param options `shape` arranges the numbers, which must fill it
 * @throws ShapeError for ragged arrays or a shape that is not filled
 * @throws DTypeError for a number that the dtype cannot hold (a fraction or NaN as int32), BigInt arrays
 * @throws ArgumentError for anything else in the arrays
 */
export function tensor(data: TensorData, options: TensorOptions & { readonly shape?: Shape } = {}): Tensor {
  checkOptions('tensor', options, [...TENSOR_OPTIONS, 'shape'])
  const flat = flatten(data)
  const { dtype = flat.dtype, shape = flat.shape } = options
  checkDType('tensor', dtype)
  checkShape('tensor', shape)
  if (sizeOf(shape) !== flat.values.length) {
    throw new ShapeError(
      `tensor: ${flat.values.length} numbers do not fill shape ${showShape(shape)}, which has ${sizeOf(shape)}`,
    )
  }
  if (dtype === 'int32' && flat.dtype !== 'int32') checkWhole('tensor', flat.values)
  return finish(
    make(dtype, [...shape], (view, start, length) => {
      if (dtype === 'bool') for (let i = 0; i < length; i++) view[start + i] = flat.values[i] === 0 ? 0 : 1
      else view.set(flat.values, start)
    }),
    options,
  )
}

const DEEPEST = 200

function checkWhole(op: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if ((values[i] as number) !== ((values[i] as number) | 0)) {
      throw new DTypeError(
        `${op}: ${values[i]} is no 32-bit whole number; make a float tensor, and truncate with .to('int32') if that is meant`,
      )
    }
  }
}

function flatten(data: TensorData): Flat {
  if (typeof data === 'number') return { values: [data], shape: [], dtype: 'float32' }
  if (typeof data === 'boolean') return { values: [Number(data)], shape: [], dtype: 'bool' }
  if (ArrayBuffer.isView(data)) {
    const values = typedArray(data)
    return { values, shape: [values.length], dtype: dtypeOf(values) }
  }
  if (!Array.isArray(data)) throw notNumbers(data)
  const values: number[] = []
  const shape: number[] = []
  let booleans = 0
  let typed: DType | undefined
  const visit = (value: TensorData, axis: number): void => {
    const list = ArrayBuffer.isView(value) ? typedArray(value) : value
    if (Array.isArray(list) || ArrayBuffer.isView(list)) {
      if (axis > DEEPEST) throw new ShapeError(`tensor: lists are nested deeper than ${DEEPEST}, or contain themselves`)
      if (ArrayBuffer.isView(list)) typed = promoteTypes(typed ?? 'bool', dtypeOf(list))
      const items = list as ArrayLike<TensorData>
      if (values.length === 0 && shape.length === axis && !closed) shape.push(items.length)
      if (shape.length <= axis || shape[axis] !== items.length) {
        throw new ShapeError(
          `tensor: ragged array: a list of length ${items.length} at depth ${axis + 1} where ${shape.length <= axis ? 'a number' : `length ${shape[axis]}`} is expected`,
        )
      }
      for (let i = 0; i < items.length; i++) visit(items[i] as TensorData, axis + 1)
      if (axis + 1 === shape.length) closed = true
      return
    }
    if (typeof list !== 'number' && typeof list !== 'boolean') throw notNumbers(list)
    if (axis !== shape.length) {
      throw new ShapeError(
        `tensor: ragged array: a number at depth ${axis} where a list of length ${shape[axis]} is expected`,
      )
    }
    if (typeof list === 'boolean') booleans++
    values.push(Number(list))
  }
  let closed = false
  visit(data, 0)
  const plain = booleans > 0 && booleans === values.length ? 'bool' : 'float32'
  return { values, shape, dtype: typed ?? plain }
}

function typedArray(view: ArrayBufferView): TypedArray {
  if (view instanceof BigInt64Array || view instanceof BigUint64Array) {
    throw new DTypeError('tensor: 64-bit whole numbers have no dtype here; convert them to Int32Array or Float64Array')
  }
  if (view instanceof DataView) throw new ArgumentError('tensor: a DataView has no kind of number; pass a typed array')
  return view as TypedArray
}

function dtypeOf(array: ArrayBufferView): DType {
  if (array instanceof Float64Array) return 'float64'
  if (array instanceof Float32Array || array instanceof Uint32Array) return 'float32'
  // Not every engine has Float16Array, so its name decides.
  return Object.prototype.toString.call(array) === '[object Float16Array]' ? 'float32' : 'int32'
}

function notNumbers(value: unknown): ArgumentError {
  const hint = isTensor(value) ? '; use stack or concat to join tensors, clone to copy one' : ''
  const shown = value === null ? 'null' : isTensor(value) ? 'a tensor' : typeof value
  return new ArgumentError(`tensor: expected numbers, booleans or nested arrays of them, got ${shown}${hint}`)
}

/** A tensor whose numbers `write` puts into linear memory. */
function make(dtype: DType, shape: Shape, write: (view: TypedArray, start: number, length: number) => void): Tensor {
  tick()
  const result = empty(dtype, shape)
  const address = addressOf(result.storage)
  const view = viewOf(dtype)
  write(view, address / view.BYTES_PER_ELEMENT, result.storage.length)
  return result
}

/** Applies what the options say of the finished tensor. */
export function finish(result: Tensor, options: TensorOptions): Tensor {
  const { requiresGrad = false } = options
  return result.requiresGrad_(requiresGrad)
}

function filled(op: string, shape: Shape, value: number, options: TensorOptions = {}): Tensor {
  checkShape(op, shape)
  checkTensorOptions(op, options)
  if (typeof value !== 'number') throw new ArgumentError(`${op}: the value must be a number, got ${typeof value}`)
  const { dtype = 'float32' } = options
  checkDType(op, dtype)
  if (dtype === 'int32') checkWhole(op, [value])
  const stored = dtype === 'bool' ? Number(value !== 0) : value
  return finish(
    make(dtype, [...shape], (view, start, length) => void view.fill(stored, start, start + length)),
    options,
  )
}

function filledLike(op: string, x: Tensor, value: number, options: TensorOptions = {}): Tensor {
  checkTensor(op, x)
  checkTensorOptions(op, options)
  return filled(op, x.shape, value, { ...options, dtype: options.dtype ?? x.dtype })
}

/** A tensor of one number repeated. */
export function full(shape: Shape, value: number, options?: TensorOptions): Tensor {
  return filled('full', shape, value, options)
}

/** A tensor of zeros. */
export function zeros(shape: Shape, options?: TensorOptions): Tensor {
  return filled('zeros', shape, 0, options)
}

/** A tensor of ones. */
export function ones(shape: Shape, options?: TensorOptions): Tensor {
  return filled('ones', shape, 1, options)
}

/** Like `x` in shape and, unless given, dtype, filled with one number. */
export function fullLike(x: Tensor, value: number, options?: TensorOptions): Tensor {
  return filledLike('fullLike', x, value, options)
}

/** Zeros like `x` in shape and, unless given, dtype. */
export function zerosLike(x: Tensor, options?: TensorOptions): Tensor {
  return filledLike('zerosLike', x, 0, options)
}

/** Ones like `x` in shape and, unless given, dtype. */
export function onesLike(x: Tensor, options?: TensorOptions): Tensor {
  return filledLike('onesLike', x, 1, options)
}

/** The identity matrix of n rows, or n × m with ones on the main diagonal. */
export function eye(n: number, m: number = n, options: TensorOptions = {}): Tensor {
  checkShape('eye', [n, m])
  checkTensorOptions('eye', options)
  const { dtype = 'float32' } = options
  checkDType('eye', dtype)
  return finish(
    make(dtype, [n, m], (view, start, length) => {
      view.fill(0, start, start + length)
      for (let i = 0; i < Math.min(n, m); i++) view[start + i * m + i] = 1
    }),
    options,
  )
}

/**
 * `start, start + step, …` up to, not including, `end`. With one number: 0 up to it. The dtype is int32 where all
 * numbers are whole, else float32.
 *
 * @throws ArgumentError for a step of 0 or a number that is not finite
 */
export function arange(end: number, options?: TensorOptions): Tensor
export function arange(start: number, end: number, options?: TensorOptions): Tensor
export function arange(start: number, end: number, step: number, options?: TensorOptions): Tensor
export function arange(first: number, ...rest: (number | TensorOptions | undefined)[]): Tensor {
  const numbers = [first, ...rest].filter((value): value is number => typeof value === 'number')
  const options = rest.find((value): value is TensorOptions => typeof value === 'object' && value !== null) ?? {}
  const [start, end, step = 1] = numbers.length === 1 ? [0, first] : (numbers as [number, number, number?])
  if (typeof first !== 'number' || rest.some(isNoArgument) || !numbers.every(Number.isFinite) || step === 0) {
    throw new ArgumentError(
      `arange: needs finite numbers and a step other than 0, got ${[first, ...rest].map(String).join(', ')}`,
    )
  }
  checkTensorOptions('arange', options)
  const count = Math.max(0, Math.ceil((end - start) / step))
  const { dtype = numbers.every(Number.isInteger) ? 'int32' : 'float32' } = options
  checkDType('arange', dtype)
  const values = sequence('arange', count, (i) => start + i * step)
  return tensor(values, { ...options, dtype })
}

const LONGEST_SEQUENCE = 2 ** 29

function sequence(op: string, count: number, value: (index: number) => number): Float64Array {
  if (count > LONGEST_SEQUENCE) {
    throw new MemoryError(`${op}: ${count} numbers are more than the ${LONGEST_SEQUENCE} that fit`)
  }
  return Float64Array.from({ length: count }, (_, i) => value(i))
}

function isNoArgument(value: unknown): boolean {
  return typeof value !== 'number' && typeof value !== 'object' && value !== undefined
}

/**
 * `steps` numbers evenly spaced from `start` to `end`, both included.
 *
 * @throws ArgumentError unless steps is a whole number of at least 0 and the ends are finite
 */
export function linspace(start: number, end: number, steps: number, options: TensorOptions = {}): Tensor {
  checkInteger('linspace', 'steps', steps, 0)
  checkTensorOptions('linspace', options)
  if (!Number.isFinite(start) || !Number.isFinite(end)) {
    throw new ArgumentError(`linspace: the ends must be finite, got ${start} and ${end}`)
  }
  const last = Math.max(1, steps - 1)
  // Weighting both ends hits them exactly and is symmetric.
  const values = sequence('linspace', steps, (i) => (start * (last - i) + end * i) / last)
  return tensor(values, { ...options, dtype: options.dtype ?? 'float32' })
}

/**
 * For each class number a row of zeros with a one at its place, as a new last axis.
 *
 * @param indices int32 of any shape
 * @throws IndexError for a number outside 0 … classes − 1
 */
export function oneHot(indices: Tensor, classes: number, options: TensorOptions = {}): Tensor {
  checkTensor('oneHot', indices, 'the indices')
  checkTensorOptions('oneHot', options)
  checkInteger('oneHot', 'classes', classes, 1)
  if (indices.dtype !== 'int32') throw new DTypeError(`oneHot: indices must be int32, got ${indices.dtype}`)
  const { dtype = 'float32' } = options
  checkDType('oneHot', dtype)
  const labels = indices.data
  const wrong = labels.findIndex((label) => label < 0 || label >= classes)
  if (wrong >= 0) throw new IndexError(`oneHot: ${labels[wrong]} (at place ${wrong}) lies outside 0 … ${classes - 1}`)
  return finish(
    make(dtype, [...indices.shape, classes], (view, start, length) => {
      view.fill(0, start, start + length)
      labels.forEach((label, row) => {
        view[start + row * classes + label] = 1
      })
    }),
    options,
  )
}
