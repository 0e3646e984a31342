// Taking single elements by position, and rows of a table.
import { DTypeError, IndexError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { contiguousStrides, normalizeAxis, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { tensor } from './creation.js'
import { indexSelect } from './indexing.js'
import { reshape } from './views.js'

/**
 * One element of x for each index: `y[i, j, …] = x[index at (i, j, …), j, …]` for axis 0, likewise for others. Negative
 * indices count from the end. Derivative: each element's cotangent added back at its place.
 *
 * @param indices int32, with as many axes as x, none but `axis` longer than in x
 * @throws IndexError for an index out of range, DTypeError unless indices are int32, ShapeError where shapes do not fit
 */
export function gather(x: Tensor, axis: number, indices: Tensor): Tensor {
  checkTensor('gather', x)
  checkIndices('gather', indices)
  const place = normalizeAxis('gather', axis, x.ndim)
  const { shape } = indices
  if (shape.length !== x.ndim || shape.some((size, a) => a !== place && size > (x.shape[a] as number))) {
    throw new ShapeError(
      `gather: indices ${showShape(shape)} must have the axes of x ${showShape(x.shape)}, none but axis ${place} longer`,
    )
  }
  return composite(() => reshape(indexSelect(reshape(x, [x.size]), 0, placesOf(x, place, indices)), shape))
}

/** Positions in x, read row by row, of the elements that the indices name. */
function placesOf(x: Tensor, axis: number, indices: Tensor): Tensor {
  const numbers = indices.data
  const { shape } = indices
  const length = x.shape[axis] as number
  const strides = contiguousStrides(x.shape)
  const along = strides[axis] as number
  const position = new Array<number>(shape.length).fill(0)
  // Where the other axes stand, updated as the position counts up.
  let base = 0
  const places = new Int32Array(numbers.length)
  for (let i = 0; i < places.length; i++) {
    const index = numbers[i] as number
    if (index < -length || index >= length) {
      throw new IndexError(
        `gather: index ${index} (at place ${i}) is out of range; axis ${axis} of ${showShape(x.shape)} takes ${-length} to ${length - 1}`,
      )
    }
    places[i] = base + (index < 0 ? index + length : index) * along
    for (let a = shape.length - 1; a >= 0; a--) {
      const stride = a === axis ? 0 : (strides[a] as number)
      const next = (position[a] as number) + 1
      if (next < (shape[a] as number)) {
        position[a] = next
        base += stride
        break
      }
      position[a] = 0
      base -= stride * (next - 1)
    }
  }
  return tensor(places)
}

/**
 * Rows of a table by number: `y[…] = weight[indices at …]`. Derivative: each row's cotangent added back to its row.
 *
 * @param indices int32 of any shape
 * @param weight (rows, …)
 * @returns (…indices, …) with the axes of a row behind those of the indices
 * @throws IndexError for a number out of range, DTypeError unless indices are int32, ShapeError for a scalar weight
 */
export function embedding(indices: Tensor, weight: Tensor): Tensor {
  checkIndices('embedding', indices)
  checkTensor('embedding', weight, 'the weight')
  if (weight.ndim === 0) throw new ShapeError('embedding: the weight needs an axis of rows, got a scalar')
  const rows = weight.shape[0] as number
  const wrong = indices.data.findIndex((index) => index < 0 || index >= rows)
  if (wrong >= 0) {
    throw new IndexError(
      `embedding: ${indices.data[wrong]} (at place ${wrong}) is out of range; the weight ${showShape(weight.shape)} has ${rows} rows`,
    )
  }
  return composite(() =>
    reshape(indexSelect(weight, 0, reshape(indices, [indices.size])), [...indices.shape, ...weight.shape.slice(1)]),
  )
}

function checkIndices(op: string, indices: Tensor): void {
  checkTensor(op, indices, 'the indices')
  if (indices.dtype !== 'int32') {
    throw new DTypeError(`${op}: indices must be int32, got ${indices.dtype}; convert with .to('int32')`)
  }
}
