// Making elementwise operations from a kernel and a derivative.
import { contiguous, empty } from '../core/contiguous.js'
import { bytesOf, checkFloating, type DType, promoteTypes, suffixOf } from '../core/dtype.js'
import type { TapeNode } from '../core/node.js'
import { apply, type Operation } from '../core/operation.js'
import { broadcastShapes, sameShape } from '../core/shape.js'
import { planRows, stridesOver, walkInPieces } from '../core/strides.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { isShared } from '../runtime/threads.js'
import { checkTensor, constant, type Operand, weakScalar } from './arguments.js'
import { to } from './convert.js'
import { mapElements } from './pieces.js'
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
    forward: ([input]) => {
      const x = contiguous(input as Tensor)
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
  const family = new KernelFamily(kernelName)
  const operation: Operation<undefined> = {
    name,
    forward: ([a, b]) => {
      const shape = broadcastShapes(name, (a as Tensor).shape, (b as Tensor).shape)
      const [first, second] = (options.swapped === true ? [b, a] : [a, b]) as [Tensor, Tensor]
      return walkBoth(family, first, second, empty(options.result ?? first.dtype, shape))
    },
    derivatives:
      derivatives?.map(([saves, rule], position) => ({
        saves,
        rule: (g, call) => sumTo(rule(g, call), call.inputShape(position)),
      })) ?? null,
  }
  return (a, b) => {
    const [x, y] = operands(name, a, b, options.atLeast ?? 'bool')
    if (options.floating === true) checkFloating(name, x.dtype)
    return apply(operation, [x, y], undefined)
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
      { address: first, bytes, strides: stridesOver(a, shape) },
      { address: second, bytes, strides: stridesOver(b, shape) },
    ]
    walkInPieces(family, suffix, shape, operands, { address: to, bytes: bytesOf(out.dtype) })
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
  const row = planRows(shape, [stridesOver(a, shape), stridesOver(b, shape)])
  kernel(first, second, to, row.length, row.strides[0] as number, row.strides[1] as number, row.layout)
  return out
}
