import { checkFloating, isFloating, promoteTypes } from '../core/dtype.js'
import { ArgumentError, DTypeError, IndexError, ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { softplus } from './activations.js'
import { checkTensor } from './arguments.js'
import { add, annihilate, scale, sub } from './arithmetic.js'
import { classEntropy } from './class-entropy.js'
import { to } from './convert.js'
import { mean } from './reductions.js'
import { logSoftmax } from './softmax.js'
import { sum } from './sum.js'
import { neg, square } from './unary.js'

/** How a loss over many elements becomes one: their mean (the default), their sum, or not at all. */
export type Reduction = 'mean' | 'sum' | 'none'

function reduceLoss(op: string, losses: Tensor, reduction: Reduction): Tensor {
  if (reduction === 'mean') return mean(losses)
  if (reduction === 'sum') return sum(losses)
  if (reduction === 'none') return losses
  throw new ArgumentError(`${op}: reduction must be 'mean', 'sum' or 'none', got ${String(reduction)}`)
}

/**
 * The squared error `(input − target)²`, reduced.
 *
 * @throws ShapeError where the shapes differ (a silent broadcast would average the wrong pairs)
 */
export function mseLoss(input: Tensor, target: Tensor, options: { readonly reduction?: Reduction } = {}): Tensor {
  checkOptions('mseLoss', options, ['reduction'])
  checkTensor('mseLoss', input, 'the input')
  checkTensor('mseLoss', target, 'the target')
  if (!sameShape(input.shape, target.shape)) {
    throw new ShapeError(
      `mseLoss: input ${showShape(input.shape)} and target ${showShape(target.shape)} must have the same shape`,
    )
  }
  checkFloating('mseLoss', promoteTypes(input.dtype, target.dtype))
  const { reduction = 'mean' } = options
  return composite(() => reduceLoss('mseLoss', square(sub(input, target)), reduction))
}

/** Options of `binaryCrossEntropyWithLogits`. */
export interface BinaryCrossEntropyOptions {
  readonly reduction?: Reduction
  /** Weight of the positive class: the targets' part of the loss is multiplied with it; 1 by default. */
  readonly posWeight?: number
}

/**
 * `−t log σ(x) − (1 − t) log(1 − σ(x))` for logits x and targets t in [0, 1], σ the sigmoid, reduced; computed as
 * `t softplus(−x) + (1 − t) softplus(x)`, which neither overflows nor rounds small losses away.
 *
 * Derivative towards x: σ(x) − t.
 *
 * @throws ShapeError where the shapes differ; DTypeError unless the logits are floating; ArgumentError for an option
 */
export function binaryCrossEntropyWithLogits(
  logits: Tensor,
  target: Tensor,
  options: BinaryCrossEntropyOptions = {},
): Tensor {
  const op = 'binaryCrossEntropyWithLogits'
  checkTensor(op, logits, 'the logits')
  checkTensor(op, target, 'the target')
  checkFloating(op, logits.dtype)
  checkOptions(op, options, ['reduction', 'posWeight'])
  const { reduction = 'mean', posWeight = 1 } = options
  if (!(posWeight >= 0)) {
    throw new ArgumentError(`${op}: posWeight must be a number of at least 0, got ${String(posWeight)}`)
  }
  if (!sameShape(logits.shape, target.shape)) {
    throw new ShapeError(
      `${op}: logits ${showShape(logits.shape)} and target ${showShape(target.shape)} must have the same shape`,
    )
  }
  return composite(() => {
    const goal = to(target, promoteTypes(logits.dtype, target.dtype))
    const positive = annihilate(goal, softplus(neg(logits)))
    const negative = annihilate(sub(1, goal), softplus(logits))
    return reduceLoss(op, add(posWeight === 1 ? positive : scale(positive, posWeight), negative), reduction)
  })
}

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  readonly reduction?: Reduction
  /** Targets of this class count neither in the loss nor in the mean's divisor; −100 by default, as in PyTorch. */
  readonly ignoreIndex?: number
  /** ε in [0, 1): the target distribution becomes (1 − ε) · target + ε / classes. */
  readonly labelSmoothing?: number
}

/**
 * `−log softmax(logits)[target]`, reduced. The classes are the LAST axis of logits; targets are int32 class numbers of
 * the shape before it, or probabilities of the logits' own shape. The mean is over the targets that are not ignored;
 * it is NaN where all are.
 *
 * Derivative: softmax(logits) − target distribution.
 *
 * @throws IndexError for a class out of range; ShapeError, DTypeError where logits and targets do not fit
 */
export function crossEntropy(logits: Tensor, target: Tensor, options: CrossEntropyOptions = {}): Tensor {
  checkOptions('crossEntropy', options, ['reduction', 'ignoreIndex', 'labelSmoothing'])
  checkTensor('crossEntropy', logits, 'the logits')
  checkTensor('crossEntropy', target, 'the target')
  checkFloating('crossEntropy', logits.dtype)
  const { reduction = 'mean', ignoreIndex = -100, labelSmoothing = 0 } = options
  if (!(labelSmoothing >= 0 && labelSmoothing < 1)) {
    throw new ArgumentError(`crossEntropy: labelSmoothing must lie in [0, 1), got ${String(labelSmoothing)}`)
  }
  if (logits.ndim === 0) throw new ShapeError('crossEntropy: logits need at least the axis of classes, got a scalar')
  const settings = { reduction, ignoreIndex, labelSmoothing }
  if (isFloating(target.dtype)) return composite(() => againstProbabilities(logits, target, settings))
  if (target.dtype === 'int32') return composite(() => againstClasses(logits, target, settings))
  throw new DTypeError(`crossEntropy: targets are int32 classes or floating probabilities, got ${target.dtype}`)
}

function againstProbabilities(logits: Tensor, target: Tensor, settings: Required<CrossEntropyOptions>): Tensor {
  if (!sameShape(target.shape, logits.shape)) {
    throw new ShapeError(
      `crossEntropy: probabilities must have the logits' shape ${showShape(logits.shape)}, got ${showShape(target.shape)}`,
    )
  }
  const { labelSmoothing, reduction } = settings
  const uniform = labelSmoothing / (logits.shape[logits.ndim - 1] as number)
  const goal = labelSmoothing === 0 ? target : add(scale(target, 1 - labelSmoothing), uniform)
  return reduceLoss('crossEntropy', neg(sum(annihilate(goal, logSoftmax(logits)), { axis: -1 })), reduction)
}

function againstClasses(logits: Tensor, target: Tensor, settings: Required<CrossEntropyOptions>): Tensor {
  const { ignoreIndex, labelSmoothing, reduction } = settings
  const classes = logits.shape[logits.ndim - 1] as number
  const outer = logits.shape.slice(0, -1)
  if (!sameShape(target.shape, outer)) {
    throw new ShapeError(
      `crossEntropy: logits ${showShape(logits.shape)} (classes last) need targets of shape ${showShape(outer)}, got ${showShape(target.shape)}`,
    )
  }
  let counted = 0
  target.data.forEach((label, row) => {
    if (label === ignoreIndex) return
    counted++
    if (label < 0 || label >= classes) {
      throw new IndexError(
        `crossEntropy: class ${label} (at place ${row}) is out of range; there are ${classes} classes`,
      )
    }
  })
  // No class is -1; a number that cannot be a class ignores nothing.
  const ignored = (ignoreIndex | 0) === ignoreIndex ? ignoreIndex : -1
  const losses = classEntropy(logits, target, { ignoreIndex: ignored, labelSmoothing })
  return reduction === 'mean' ? scale(sum(losses), 1 / counted) : reduceLoss('crossEntropy', losses, reduction)
}
