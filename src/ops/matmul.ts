import { empty } from '../core/contiguous.js'
import { checkFloating, type DType, promoteTypes, suffixOf } from '../core/dtype.js'
import { ShapeError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import {
  broadcastShapes,
  broadcastTogether,
  checkCount,
  type Shape,
  sameShape,
  showShape,
  sizeOf,
} from '../core/shape.js'
import { planMatrices } from '../core/strides.js'
import { Tensor } from '../core/tensor.js'
import { layoutFits } from '../core/walk-pieces.js'
import { addressOf, workspaceAddress } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { checkTensor } from './arguments.js'
import { add } from './arithmetic.js'
import { to } from './convert.js'
import { inPieces, isLong } from './long-product.js'
import { costOf, multiplyInPieces } from './matmul-pieces.js'
import { sumTo } from './sum.js'
import { reshape, transpose, unsqueeze } from './views.js'

const product = new KernelFamily('matmul')

// Three forms of the product are closed under differentiation, so that no rule transposes anything.

const matmulOperation: Operation<undefined> = {
  name: 'matmul',
  forward: (inputs) => multiply(inputs[0] as Tensor, inputs[1] as Tensor, false, false),
  derivatives: [
    { saves: [1], rule: (g, call) => sumTo(timesTransposed(g, call.input(1)), call.inputShape(0)) },
    { saves: [0], rule: (g, call) => transposedOverRows(call.input(0), g, call.inputShape(1)) },
  ],
}

/** `a · bᵀ`. Derivatives: `g · b` and `gᵀ · a`. */
function timesTransposed(a: Tensor, b: Tensor): Tensor {
  return apply(timesTransposedOperation, [a, b], undefined)
}

const timesTransposedOperation: Operation<undefined> = {
  name: 'linear',
  forward: (inputs) => multiply(inputs[0] as Tensor, inputs[1] as Tensor, false, true),
  derivatives: [
    { saves: [1], rule: (g, call) => sumTo(apply(matmulOperation, [g, call.input(1)], undefined), call.inputShape(0)) },
    { saves: [0], rule: (g, call) => transposedOverRows(g, call.input(0), call.inputShape(1)) },
  ],
}

/** `aᵀ · b`. Derivatives: `b · gᵀ` and `a · g`. */
function transposedTimes(a: Tensor, b: Tensor): Tensor {
  return apply(transposedTimesOperation, [a, b], undefined)
}

const transposedTimesOperation: Operation<undefined> = {
  name: 'matmulTransposed',
  forward: (inputs) => multiply(inputs[0] as Tensor, inputs[1] as Tensor, true, false),
  derivatives: [
    { saves: [1], rule: (g, call) => sumTo(timesTransposed(call.input(1), g), call.inputShape(0)) },
    { saves: [0], rule: (g, call) => sumTo(apply(matmulOperation, [call.input(0), g], undefined), call.inputShape(1)) },
  ],
}

/** `aᵀ · b`, summed over the axes that broadcasting from `shape` repeats. */
function transposedOverRows(a: Tensor, b: Tensor, shape: Shape): Tensor {
  // One matrix under a batch: its gradient is one product over all rows of the batch.
  return shape.length === 2 && a.ndim > 2 && a.ndim === b.ndim
    ? transposedTimes(asRows(a), asRows(b))
    : sumTo(transposedTimes(a, b), shape)
}

/** All axes but the last joined into one. */
function asRows(x: Tensor): Tensor {
  return reshape(x, [sizeOf(x.shape.slice(0, -1)), x.shape[x.ndim - 1] as number])
}

/**
 * The matrix product, by PyTorch's rank rules: matrices multiply in the last two axes and broadcast in the others, a
 * vector on the left is a row and on the right a column, and that axis is gone from the result. Operands promote to
 * their common floating dtype. Transposed operands (`transpose`, `permute`) are not copied.
 *
 * Derivatives: `g · bᵀ` and `aᵀ · g`, summed over broadcast axes. Products of ∞ or NaN with a zero cotangent are NaN
 * here, unlike in elementwise rules.
 *
 * @throws ShapeError where the inner sizes differ, an operand is a scalar, or the batches do not broadcast
 * @throws DTypeError where neither operand is floating
 */
export function matmul(a: Tensor, b: Tensor): Tensor {
  checkTensor('matmul', a, 'the first operand')
  checkTensor('matmul', b, 'the second operand')
  const dtype = promoteTypes(a.dtype, b.dtype)
  checkFloating('matmul', dtype)
  if (a.ndim === 0 || b.ndim === 0) {
    throw new ShapeError(
      `matmul: needs at least vectors, got ${showShape(a.shape)} and ${showShape(b.shape)}; use mul for scalars`,
    )
  }
  return a.ndim > 1 && b.ndim > 1 && a.dtype === b.dtype
    ? apply(matmulOperation, [a, b], undefined)
    : composite(() => multiplyAny(a, b, dtype))
}

function multiplyAny(a: Tensor, b: Tensor, dtype: DType): Tensor {
  const left = a.ndim === 1 ? unsqueeze(a, 0) : a
  const right = b.ndim === 1 ? unsqueeze(b, 1) : b
  const result = apply(matmulOperation, [to(left, dtype), to(right, dtype)], undefined)
  const { shape, ndim } = result
  return reshape(
    result,
    shape.filter((_, axis) => !((a.ndim === 1 && axis === ndim - 2) || (b.ndim === 1 && axis === ndim - 1))),
  )
}

/** The product of tensors of equal dtype and at least two axes, of which either may be transposed. */
function multiply(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Tensor {
  const shape = productShape(a, b, transposeA, transposeB)
  const inner = a.shape[a.ndim - (transposeA ? 2 : 1)] as number
  if (isLong(a.dtype, shape, inner)) return inPieces(turned(a, transposeA), turned(b, transposeB), multiplyPlain)
  const out = empty(a.dtype, shape)
  if (out.storage.length === 0) return out
  const columns = shape[shape.length - 1] as number
  let rows = shape[shape.length - 2] as number
  let rowA = strideFromEnd(a, transposeA ? 1 : 2)
  let rowOut = columns
  let layout = 0
  if (shape.length > 2) {
    const walk = planMatrices(shape, a, b, out)
    if (walk.loops === 1 && walk.strideB === 0 && (walk.strideA === rows * rowA || rows === 1)) {
      // The rows of all matrices follow each other evenly: they are the rows of one.
      if (rows === 1) {
        rowA = walk.strideA
        rowOut = walk.strideC
      }
      rows *= walk.length
    } else layout = walk.layout
  }
  const [first, second, target] = [addressOf(a.storage), addressOf(b.storage), addressOf(out.storage)]
  const columnA = strideFromEnd(a, transposeA ? 2 : 1)
  const rowB = strideFromEnd(b, transposeB ? 1 : 2)
  const columnB = strideFromEnd(b, transposeB ? 2 : 1)
  if (isShared(costOf(a.dtype, out.storage.length, inner)) && layoutFits(layout)) {
    multiplyInPieces(product, a.dtype, {
      a: first,
      b: second,
      out: target,
      layout,
      rows,
      columns,
      inner,
      rowA,
      columnA,
      rowB,
      columnB,
      rowOut,
    })
    return out
  }
  const kernel = product.get(suffixOf(a.dtype))
  kernel(first, second, target, rows, columns, inner, rowA, columnA, rowB, columnB, rowOut, layout, workspaceAddress)
  return out
}

function multiplyPlain(a: Tensor, b: Tensor): Tensor {
  return multiply(a, b, false, false)
}

/** A matrix, or its transpose as a view; not recorded. */
function turned(x: Tensor, transposed: boolean): Tensor {
  if (!transposed) return x
  return new Tensor(x.storage, [...x.shape].reverse(), [strideFromEnd(x, 1), strideFromEnd(x, 2)])
}

/** The shape of a product; throws where the operands do not multiply. */
function productShape(a: Tensor, b: Tensor, transposeA: boolean, transposeB: boolean): Shape {
  // Only a broadcast view is ever too large.
  if (a.strides !== null) checkCount('matmul', a.shape)
  if (b.strides !== null) checkCount('matmul', b.shape)
  const left = a.shape[a.ndim - (transposeA ? 2 : 1)]
  const right = b.shape[b.ndim - (transposeB ? 1 : 2)]
  if (left !== right) {
    throw new ShapeError(
      `matmul: ${showShape(a.shape)} and ${showShape(b.shape)} do not multiply: the inner sizes ${left} and ${right} differ`,
    )
  }
  const rows = a.shape[a.ndim - (transposeA ? 1 : 2)] as number
  const columns = b.shape[b.ndim - (transposeB ? 2 : 1)] as number
  if (a.ndim === 2 && b.ndim === 2) return [rows, columns]
  const batch = [a.shape.slice(0, -2), b.shape.slice(0, -2)] as const
  if (!broadcastTogether(...batch)) {
    throw new ShapeError(
      `matmul: the batches of ${showShape(a.shape)} and ${showShape(b.shape)} do not broadcast; aligned at the end, the axes before the last two must be equal or 1`,
    )
  }
  return [...broadcastShapes('matmul', ...batch), rows, columns]
}

/** Element stride along the last axis (1) or the one before it (2). */
function strideFromEnd({ shape, strides }: Tensor, place: 1 | 2): number {
  if (strides !== null) return strides[strides.length - place] as number
  return place === 1 ? 1 : (shape[shape.length - 1] as number)
}

/** `x Wᵀ + b`, row by row: x is (…, in), the weight (out, in), the bias (out,), the result (…, out). */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor): Tensor {
  checkTensor('linear', x)
  checkTensor('linear', weight, 'the weight')
  if (weight.ndim !== 2 || x.ndim === 0 || x.shape[x.ndim - 1] !== weight.shape[1]) {
    throw new ShapeError(
      `linear: ${showShape(x.shape)} and a weight of ${showShape(weight.shape)} do not fit; the weight is (out, in) and the last axis of x is in`,
    )
  }
  checkFloating('linear', promoteTypes(x.dtype, weight.dtype))
  if (bias !== undefined) {
    checkTensor('linear', bias, 'the bias')
    if (!sameShape(bias.shape, [weight.shape[0] as number])) {
      throw new ShapeError(
        `linear: a weight of ${showShape(weight.shape)} takes a bias of (${weight.shape[0]},), got ${showShape(bias.shape)}`,
      )
    }
  }
  return composite(() => {
    const product = x.ndim > 1 && x.dtype === weight.dtype ? timesTransposed(x, weight) : matmul(x, transpose(weight))
    return bias === undefined ? product : add(product, bias)
  })
}
