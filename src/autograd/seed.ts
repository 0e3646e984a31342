import { ArgumentError, DTypeError, GradientError, ShapeError } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import { Tensor } from '../core/tensor.js'
import { checkTensor, constant } from '../ops/arguments.js'

/** The cotangent to start with: the given one, or 1 for a root with one element. */
export function seedFor(op: string, root: Tensor, cotangent: Tensor | null | undefined): Tensor {
  if (cotangent === undefined || cotangent === null) {
    if (root.size === 1) return new Tensor(constant(1, root.dtype).storage, root.shape, null)
    throw new GradientError(
      `${op}: a root of shape ${showShape(root.shape)} is no scalar; reduce it first, for example with sum() or mean(), or pass a cotangent of its shape`,
    )
  }
  if (typeof cotangent === 'object' && !('shape' in cotangent)) {
    throw new ArgumentError(
      `${op}: the first argument is the cotangent; pass options second: backward(undefined, { … })`,
    )
  }
  checkTensor(op, cotangent, 'the cotangent')
  if (!sameShape(cotangent.shape, root.shape)) {
    throw new ShapeError(
      `${op}: the cotangent has shape ${showShape(cotangent.shape)}, the root ${showShape(root.shape)}; they must be equal`,
    )
  }
  if (cotangent.dtype !== root.dtype) {
    throw new DTypeError(`${op}: the cotangent is ${cotangent.dtype}, the root ${root.dtype}; they must be equal`)
  }
  return cotangent
}
