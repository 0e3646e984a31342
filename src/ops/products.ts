// Products of vectors.
import { ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { mul } from './arithmetic.js'
import { matmul } from './matmul.js'
import { unsqueeze } from './views.js'

function checkVectors(op: string, a: Tensor, b: Tensor): void {
  checkTensor(op, a, 'the first operand')
  checkTensor(op, b, 'the second operand')
  if (a.ndim !== 1 || b.ndim !== 1) {
    throw new ShapeError(
      `${op}: needs two vectors, got ${showShape(a.shape)} and ${showShape(b.shape)}; see matmul and einsum for more axes`,
    )
  }
}

/**
 * The inner product `Σᵢ aᵢ bᵢ` of two vectors, a scalar. Derivatives: `g b` and `g a`. Promotes.
 *
 * @throws ShapeError unless both are vectors of one length, DTypeError where neither is floating
 */
export function dot(a: Tensor, b: Tensor): Tensor {
  checkVectors('dot', a, b)
  if (a.shape[0] !== b.shape[0]) {
    throw new ShapeError(`dot: the vectors have lengths ${a.shape[0]} and ${b.shape[0]}`)
  }
  return matmul(a, b)
}

/**
 * The outer product `yᵢⱼ = aᵢ bⱼ` of two vectors, a matrix. Derivatives: `g b` and `gᵀ a`. Promotes.
 *
 * @throws ShapeError unless both are vectors
 */
export function outer(a: Tensor, b: Tensor): Tensor {
  checkVectors('outer', a, b)
  return composite(() => mul(unsqueeze(a, 1), b))
}
