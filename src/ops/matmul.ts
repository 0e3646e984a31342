import { empty } from '../core/contiguous.js'
import { checkFloating, type DType, promoteTypes, suffixOf } from '../core/dtype.js'
import { ShapeError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { broadcastShapes, broadcastTogether, checkCount, sameShape, showShape, sizeOf } from '../core/shape.js'
import { layoutFits, mergeAxes, writeLayout } from '../core/strides.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, workspaceAddress } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { checkTensor } from './arguments.js'
import { add } from './arithmetic.js'
import { to } from './convert.js'
import { costOf, matrices, multiplyInPieces } from './matmul-pieces.js'
import { sumTo } from './sum.js'
import { reshape, transpose, unsqueeze } from './views.js'

const product = new KernelFamily('matmul')

const matmulOperation: Operation<undefined> = {
  name: 'matmul',
  forward: ([a, b]) => multiply(a as Tensor, b as Tensor),
  derivatives: [
    { saves: [1], rule: (g, call) => sumTo(matmul(g, transpose(call.input(1))), call.inputShape(0)) },
    {
      saves: [0],
      rule: (g, call) => {
        const a = call.input(0)
        // One matrix under a batch: its gradient is one product over all rows of the batch.
        if (call.inputShape(1).length === 2 && a.ndim > 2) return matmul(transpose(asRows(a)), asRows(g))
        return sumTo(matmul(transpose(a), g), call.inputShape(1))
      },
    },
  ],
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
    ? multiplyMatrices(a, b)
    : composite(() => multiplyAny(a, b, dtype))
}

function multiplyAny(a: Tensor, b: Tensor, dtype: DType): Tensor {
  const left = a.ndim === 1 ? unsqueeze(a, 0) : a
  const right = b.ndim === 1 ? unsqueeze(b, 1) : b
  const result = multiplyMatrices(to(left, dtype), to(right, dtype))
  const { shape, ndim } = result
  return reshape(
    result,
    shape.filter((_, axis) => !((a.ndim === 1 && axis === ndim - 2) || (b.ndim === 1 && axis === ndim - 1))),
  )
}

function multiplyMatrices(a: Tensor, b: Tensor): Tensor {
  checkCount('matmul', a.shape)
  checkCount('matmul', b.shape)
  const [left, right] = [a.shape[a.ndim - 1], b.shape[b.ndim - 2]]
  if (left !== right) {
    throw new ShapeError(
      `matmul: ${showShape(a.shape)} and ${showShape(b.shape)} do not multiply: the inner sizes ${left} and ${right} differ`,
    )
  }
  const batch = [a.shape.slice(0, -2), b.shape.slice(0, -2)] as const
  if (!broadcastTogether(...batch)) {
    throw new ShapeError(
      `matmul: the batches of ${showShape(a.shape)} and ${showShape(b.shape)} do not broadcast; aligned at the end, the axes before the last two must be equal or 1`,
    )
  }
  return apply(matmulOperation, [a, b], undefined)
}

/** The product of tensors of equal dtype and at least two axes. */
function multiply(a: Tensor, b: Tensor): Tensor {
  return a.ndim === 2 && b.ndim === 2 ? multiplyPair(a, b) : multiplyBatch(a, b)
}

/** The product of two matrices. */
function multiplyPair(a: Tensor, b: Tensor): Tensor {
  const rows = a.shape[0] as number
  const inner = a.shape[1] as number
  const columns = b.shape[1] as number
  const out = empty(a.dtype, [rows, columns])
  if (out.storage.length === 0) return out
  if (isShared(costOf(a.dtype, rows * columns, inner))) {
    const views = [matrices(a, []), matrices(b, []), matrices(out, [])] as const
    multiplyInPieces(product, [a, b, out], views, rows, { sizes: [], strides: [] })
    return out
  }
  product.get(suffixOf(a.dtype))(
    addressOf(a.storage),
    addressOf(b.storage),
    addressOf(out.storage),
    rows,
    columns,
    inner,
    a.strides === null ? inner : (a.strides[0] as number),
    a.strides === null ? 1 : (a.strides[1] as number),
    b.strides === null ? columns : (b.strides[0] as number),
    b.strides === null ? 1 : (b.strides[1] as number),
    columns,
    0,
    workspaceAddress,
  )
  return out
}

/** The products of two batches of matrices, broadcast against each other. */
function multiplyBatch(a: Tensor, b: Tensor): Tensor {
  const batch = broadcastShapes('matmul', a.shape.slice(0, -2), b.shape.slice(0, -2))
  const rows = a.shape[a.ndim - 2] as number
  const inner = a.shape[a.ndim - 1] as number
  const columns = b.shape[b.ndim - 1] as number
  const shape = [...batch, rows, columns]
  const out = empty(a.dtype, shape)
  if (out.storage.length === 0) return out
  const left = matrices(a, batch)
  const right = matrices(b, batch)
  const target = matrices(out, batch)
  const strides = [left.batch, right.batch, target.batch]
  // The rows of all matrices in a batch are the rows of one, where they follow each other evenly.
  const merged = mergeAxes(batch, strides)
  let m = rows
  let batches = merged.sizes.length
  const [leftBatch, rightBatch, targetBatch] = merged.strides as [number[], number[], number[]]
  if (batches === 1 && rightBatch[0] === 0 && (leftBatch[0] === rows * left.row || rows === 1)) {
    m = rows * (merged.sizes[0] as number)
    if (rows === 1) {
      left.row = leftBatch[0] as number
      target.row = targetBatch[0] as number
    }
    batches = 0
  }
  if (isShared(costOf(a.dtype, out.storage.length, inner)) && layoutFits(merged.sizes.length)) {
    const axes = batches === 0 ? { sizes: [], strides: [] } : merged
    multiplyInPieces(product, [a, b, out], [left, right, target], m, axes)
    return out
  }
  const layout = batches === 0 ? 0 : writeLayout(merged.sizes, merged.strides, batches)
  const addresses = [addressOf(a.storage), addressOf(b.storage), addressOf(out.storage)] as const
  product.get(suffixOf(a.dtype))(
    ...addresses,
    m,
    columns,
    inner,
    left.row,
    left.column,
    right.row,
    right.column,
    target.row,
    layout,
    workspaceAddress,
  )
  return out
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
    const product = matmul(x, transpose(weight))
    return bias === undefined ? product : add(product, bias)
  })
}
