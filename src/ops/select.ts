// Choosing between values by a mask.
import { empty } from '../core/contiguous.js'
import { bytesOf } from '../core/dtype.js'
import { ArgumentError, DTypeError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { broadcastShapes, sameShape, showShape } from '../core/shape.js'
import { planRows } from '../core/strides.js'
import type { Tensor } from '../core/tensor.js'
import { walkInPieces } from '../core/walk-pieces.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { checkTensor, type Operand } from './arguments.js'
import { operands } from './elementwise.js'
import { sumTo } from './sum.js'

const select = new KernelFamily('select')

const whereOperation: Operation<undefined> = {
  name: 'where',
  forward: (inputs) => {
    const [condition, a, b] = inputs as [Tensor, Tensor, Tensor]
    const shape = broadcastShapes('where', broadcastShapes('where', a.shape, b.shape), condition.shape)
    const out = empty(a.dtype, shape)
    if (out.storage.length === 0) return out
    const to = addressOf(out.storage)
    const mask = addressOf(condition.storage)
    const first = addressOf(a.storage)
    const second = addressOf(b.storage)
    const bytes = bytesOf(a.dtype)
    const walk = planRows(shape, condition, a, b)
    if (isShared(select.nanosecondsPerByte * bytes * out.storage.length)) {
      const operands = [
        { address: mask, bytes: 1 },
        { address: first, bytes },
        { address: second, bytes },
      ]
      walkInPieces(select, String(bytes), walk, operands, { address: to, bytes })
      return out
    }
    const { length, strideA, strideB, strideC, layout } = walk
    select.get(String(bytes))(mask, first, second, to, length, strideA, strideB, strideC, layout)
    return out
  },
  derivatives: [
    null,
    { saves: [0], rule: (g, call) => sumTo(where(call.input(0), g, 0), call.inputShape(1)) },
    { saves: [0], rule: (g, call) => sumTo(where(call.input(0), 0, g), call.inputShape(2)) },
  ],
}

/**
 * `a` where the condition holds, else `b`. Broadcasts all three; promotes a and b. The cotangent goes to the chosen
 * operand; the other gets exactly 0, whatever its value.
 *
 * @param condition bool; other dtypes are an error
 */
export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  checkTensor('where', condition, 'the condition')
  if (condition.dtype !== 'bool') {
    throw new DTypeError(
      `where: the condition must be bool, got ${condition.dtype}; compare first, for example x.ne(0)`,
    )
  }
  return apply(whereOperation, [condition, ...operands('where', a, b, 'bool')], undefined)
}

/**
 * `x` with `value` in the places where the mask holds; the mask broadcasts to the shape of x. No cotangent passes
 * there.
 *
 * @param mask bool
 */
export function maskedFill(x: Tensor, mask: Tensor, value: number): Tensor {
  checkTensor('maskedFill', x)
  checkTensor('maskedFill', mask, 'the mask')
  if (mask.dtype !== 'bool') throw new DTypeError(`maskedFill: the mask must be bool, got ${mask.dtype}`)
  if (typeof value !== 'number') {
    throw new ArgumentError(`maskedFill: the value must be a number, got ${typeof value}; use where for tensors`)
  }
  const shape = broadcastShapes('maskedFill', x.shape, mask.shape)
  if (!sameShape(shape, x.shape)) {
    throw new ShapeError(
      `maskedFill: a mask of shape ${showShape(mask.shape)} does not broadcast to ${showShape(x.shape)}`,
    )
  }
  return apply(whereOperation, [mask, ...operands('maskedFill', value, x, 'bool')], undefined)
}
