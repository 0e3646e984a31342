// Making elementwise operations from a kernel and a derivative.
import { contiguous, empty } from '../core/contiguous.js'
import { bytesOf, checkFloating, type DType, promoteTypes, suffixOf } from '../core/dtype.js'
import type { TapeNode } from '../core/node.js'
import { apply, type Operation } from '../core/operation.js'
import { broadcastShapes, sameShape } from '../core/shape.js'
import { planRows } from '../core/strides.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { walkInPieces } from '../core/walk-pieces.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { checkTensor, constant, type Operand, weakScalar } from './arguments.js'
import { to } from './convert.js'
import { mapBoth, mapElements } from './pieces.js'
import { sumTo } from './sum.js'

type Rule = (cotangent: Tensor, call: TapeNode<undefined>) => Tensor

/** A derivative as a table writes it: the values it reads (input positions or OUTPUT), then the rule. */
export type TableEntry = readonly [saves: readonly number[], rule: Rule]

/** A function of one tensor, element by element. `dtypes` other than floating ones are named. */
export function unary(name: string, derivative: TableEntry, integers = false): (x: Tensor) => Tensor {
  const family = new KernelFamily(name)
  const [saves, rule] = derivative
  const operation: Operation<undefined> = {
    name,
    forward: (inputs) => {
      const x = contiguous(inputs[0] as Tensor)
      const out = empty(x.dtype, x.shape)
      mapElements(family, suffixOf(x.dtype), x, out)
      return out
    },
    derivatives: [{ saves, rule }],
  }
  return (x) => {
    checkTensor(name, x)
    if (!(integers && x.dtype === 'int32')) checkFloating(name, x.dtype)
    return apply(operation, [x], undefined)
  }
}

/**
 * The backward pass `g · f′(x)` of a function of one tensor as one kernel, 0 where g is 0 whatever the derivative. Its
 * derivative towards g is the same pass; `towardsX` is the one towards x. Both have the shape and the dtype of x.
 */
export function backwardPass(name: string, towardsX: TableEntry): (g: Tensor, x: Tensor) => Tensor {
  const family = new KernelFamily(name)
  const [saves, rule] = towardsX
  const operation: Operation<undefined> = {
    name,
    forward: (inputs) => {
      const x = contiguous(inputs[1] as Tensor)
      const out = empty(x.dtype, x.shape)
      mapBoth(family, contiguous(inputs[0] as Tensor), x, out)
      return out
    },
    derivatives: [
      { saves: [1], rule: (h, call) => pass(h, call.input(1)) },
      { saves, rule },
    ],
  }
  const pass = (g: Tensor, x: Tensor) => apply(operation, [g, x], undefined)
  return pass
}

/** What `binary` may be told beside its derivatives. */
interface BinaryOptions {
  /** The dtypes' common promotion is at least this; `float32` for functions of floats that accept any numbers. */
  readonly atLeast?: DType
  /** The result's dtype where it is not the operands'. */
  readonly result?: DType
  /** Whether the kernel takes the second operand first. */
  readonly swapped?: boolean
  /** Whether operands must be floating after promotion. */
  readonly floating?: boolean
}

/** A function of two operands, element by element, with broadcasting and promotion. */
export function binary(
  name: string,
  kernelName: string,
  derivatives: readonly [TableEntry, TableEntry] | null,
  options: BinaryOptions = {},
): (a: Operand, b: Operand) => Tensor {
  const { atLeast = 'bool', result, swapped = false, floating = false } = options
  const family = new KernelFamily(kernelName)
  const operation: Operation<undefined> = {
    name,
    forward: (inputs) => {
      const a = inputs[0] as Tensor
      const b = inputs[1] as Tensor
      const out = empty(result ?? a.dtype, broadcastShapes(name, a.shape, b.shape))
      return swapped ? walkBoth(family, b, a, out) : walkBoth(family, a, b, out)
    },
    derivatives:
      derivatives?.map(([saves, rule], position) => ({
        saves,
        rule: (g, call) => sumTo(rule(g, call), call.inputShape(position)),
      })) ?? null,
  }
  return (a, b) => {
    const pair = operands(name, a, b, atLeast)
    if (floating) checkFloating(name, pair[0].dtype)
    return apply(operation, pair, undefined)
  }
}

/** Two operands as tensors of their common dtype, at least `atLeast`. */
export function operands(name: string, a: Operand, b: Operand, atLeast: DType): [Tensor, Tensor] {
  if (isTensor(a) && isTensor(b) && a.dtype === b.dtype && promoteTypes(a.dtype, atLeast) === a.dtype) return [a, b]
  let x: Tensor
  let y: Tensor
  if (typeof a === 'number') {
    if (typeof b === 'number') {
      x = constant(a, 'float32')
      y = constant(b, 'float32')
    } else {
      checkTensor(name, b, 'the second operand')
      x = weakScalar(name, a, promoteTypes(b.dtype, atLeast))
      y = b
    }
  } else {
    checkTensor(name, a, 'the first operand')
    x = a
    if (typeof b === 'number') y = weakScalar(name, b, promoteTypes(a.dtype, atLeast))
    else {
      checkTensor(name, b, 'the second operand')
      y = b
    }
  }
  const dtype = promoteTypes(promoteTypes(x.dtype, y.dtype), atLeast)
  return [to(x, dtype), to(y, dtype)]
}

/** Fills `out` by a kernel over two operands that broadcast to it. */
function walkBoth(family: KernelFamily, a: Tensor, b: Tensor, out: Tensor): Tensor {
  const { shape } = out
  const n = out.storage.length
  if (n === 0) return out
  const suffix = suffixOf(a.dtype)
  const to = addressOf(out.storage)
  const first = addressOf(a.storage)
  const second = addressOf(b.storage)
  const bytes = bytesOf(a.dtype)
  if (isShared(family.nanosecondsPerByte * bytes * n)) {
    const operands = [
      { address: first, bytes },
      { address: second, bytes },
    ]
    walkInPieces(family, suffix, planRows(shape, a, b, null), operands, { address: to, bytes: bytesOf(out.dtype) })
    return out
  }
  const kernel = family.get(suffix)
  if (a.strides === null && b.strides === null) {
    if (sameShape(a.shape, b.shape)) {
      kernel(first, second, to, n, 1, 1, 0)
      return out
    }
    if (a.storage.length === 1 || b.storage.length === 1) {
      kernel(first, second, to, n, a.storage.length === 1 ? 0 : 1, b.storage.length === 1 ? 0 : 1, 0)
      return out
    }
  }
  const { length, strideA, strideB, layout } = planRows(shape, a, b, null)
  kernel(first, second, to, length, strideA, strideB, layout)
  return out
}
