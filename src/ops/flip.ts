// Elements in another order along their axes.
import { copyStrided, empty } from '../core/contiguous.js'
import { bytesOf } from '../core/dtype.js'
import { ArgumentError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkInteger, contiguousStrides, normalizeAxes, normalizeAxis } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { checkTensor } from './arguments.js'
import { concat, split } from './joining.js'
import { reshape } from './views.js'

const flipOperation: Operation<readonly number[]> = {
  name: 'flip',
  forward: ([input], axes) => {
    const x = input as Tensor
    const out = empty(x.dtype, x.shape)
    if (out.storage.length === 0) return out
    const own = x.strides ?? contiguousStrides(x.shape)
    // Read from the last element backwards.
    const start = axes.reduce((total, axis) => total + ((x.shape[axis] as number) - 1) * (own[axis] as number), 0)
    const from = own.map((stride, axis) => (axes.includes(axis) ? -stride : stride))
    const target = addressOf(out.storage)
    const source = addressOf(x.storage) + start * bytesOf(x.dtype)
    copyStrided(x.dtype, x.shape, source, from, target, null)
    return out
  },
  derivatives: [{ saves: [], rule: (g, call) => flip(g, call.attributes) }],
}

/**
 * The elements in reverse order along the given axes, all of them by default. Derivative: the cotangent, flipped.
 *
 * @throws ShapeError where an axis is out of range or named twice
 */
export function flip(x: Tensor, axes?: number | readonly number[]): Tensor {
  checkTensor('flip', x)
  return apply(flipOperation, [x], normalizeAxes('flip', axes, x.ndim))
}

/**
 * The elements moved on by `shift` places along an axis (towards the front where negative); those that leave it at one
 * end come in at the other. Several axes take as many shifts. Without an axis, the tensor rolls as if it were one line.
 * Derivative: the cotangent, rolled back.
 *
 * @throws ArgumentError unless shifts are whole numbers, one for each axis; ShapeError for an axis out of range
 */
export function roll(x: Tensor, shift: number | readonly number[], axis?: number | readonly number[]): Tensor {
  checkTensor('roll', x)
  const shifts = typeof shift === 'number' ? [shift] : shift
  for (const places of shifts) checkInteger('roll', 'a shift', places)
  const axes = axis === undefined ? [0] : typeof axis === 'number' ? [axis] : axis
  if (shifts.length !== axes.length) {
    throw new ArgumentError(`roll: ${shifts.length} shifts for ${axes.length} axes; give one shift for each axis`)
  }
  const places = axis === undefined ? [0] : axes.map((one) => normalizeAxis('roll', one, x.ndim))
  return composite(() => {
    let result = axis === undefined ? reshape(x, [x.size]) : x
    places.forEach((place, i) => {
      result = rollAxis(result, shifts[i] as number, place)
    })
    return reshape(result, x.shape)
  })
}

function rollAxis(x: Tensor, shift: number, axis: number): Tensor {
  const size = x.shape[axis] as number
  const places = size === 0 ? 0 : ((shift % size) + size) % size
  if (places === 0) return x
  const [front, back] = split(x, [size - places, places], axis) as [Tensor, Tensor]
  return concat([back, front], axis)
}
