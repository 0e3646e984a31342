import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, ShapeError, showValue } from '../core/errors.js'
import { checkFlag, checkOptions } from '../core/options.js'
import { checkShape, type Shape, sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { ones, zeros } from '../ops/creation.js'
import { layerNorm, rmsNorm } from '../ops/normalisation.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'
import { Parameter } from './parameter.js'

/** Options of `RMSNorm`. */
export interface RMSNormOptions {
  /** Added to the mean square; by default the distance from 1 to the next number of x's dtype. */
  readonly eps?: number
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/** Options of `LayerNorm`. */
export interface LayerNormOptions {
  /** Added to the variance; default 1e-5. */
  readonly eps?: number
  /** Whether a bias is added; default true. */
  readonly bias?: boolean
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * `(x − mean)/√(variance + eps) · weight + bias` over the last axes; the weight starts at 1, the bias at 0.
 *
 * Source: Ba et al., "Layer Normalization", arXiv 1607.06450.
 */
export class LayerNorm extends Module {
  readonly weight: Parameter
  /** null without. */
  readonly bias: Parameter | null
  /** The sizes of the axes over which is normalised. */
  readonly normalizedShape: Shape
  readonly eps: number

  /**
   * @param normalizedShape the sizes of the last axes, over which is normalised together; a number for one
   * @throws ShapeError where they are no sizes of at least 1; ArgumentError for a negative eps
   */
  constructor(normalizedShape: number | Shape, options: LayerNormOptions = {}) {
    super()
    checkOptions('LayerNorm', options, ['eps', 'bias', 'dtype'])
    const { eps = 1e-5, bias = true, dtype = 'float32' } = options
    const shape = checkRow('LayerNorm', normalizedShape)
    checkEps('LayerNorm', eps)
    checkFlag('LayerNorm', 'bias', bias)
    checkFloating('LayerNorm', dtype)
    this.normalizedShape = shape
    this.eps = eps
    this.weight = new Parameter(ones(shape, { dtype }))
    this.bias = bias ? new Parameter(zeros(shape, { dtype })) : null
  }

  /** Of the shape of x, whose last axes must be normalizedShape. */
  forward(x: Tensor): Tensor {
    checkEnd('LayerNorm', x, this.normalizedShape)
    return layerNorm(x, this.weight, this.bias ?? undefined, { eps: this.eps })
  }
}
keepsNothing(LayerNorm)

/**
 * `x/√(mean(x²) + eps) · weight` over the last axes; the weight starts at 1.
 *
 * Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467.
 */
export class RMSNorm extends Module {
  readonly weight: Parameter
  /** The sizes of the axes over which is normalised. */
  readonly normalizedShape: Shape
  /** undefined for that of x's dtype. */
  readonly eps: number | undefined

  /**
   * @param normalizedShape the sizes of the last axes, over which is normalised together; a number for one
   * @throws ShapeError where they are no sizes of at least 1; ArgumentError for a negative eps
   */
  constructor(normalizedShape: number | Shape, options: RMSNormOptions = {}) {
    super()
    checkOptions('RMSNorm', options, ['eps', 'dtype'])
    const { eps, dtype = 'float32' } = options
    const shape = checkRow('RMSNorm', normalizedShape)
    if (eps !== undefined) checkEps('RMSNorm', eps)
    checkFloating('RMSNorm', dtype)
    this.normalizedShape = shape
    this.eps = eps
    this.weight = new Parameter(ones(shape, { dtype }))
  }

  /** Of the shape of x, whose last axes must be normalizedShape. */
  forward(x: Tensor): Tensor {
    checkEnd('RMSNorm', x, this.normalizedShape)
    return rmsNorm(x, this.weight, { eps: this.eps })
  }
}
keepsNothing(RMSNorm)

function checkRow(op: string, given: number | Shape): Shape {
  const shape = typeof given === 'number' ? [given] : given
  checkShape(op, shape)
  if (shape.length === 0 || shape.includes(0)) {
    throw new ShapeError(`${op}: needs the sizes of one or more last axes, each at least 1, got ${showShape(shape)}`)
  }
  return [...shape]
}

function checkEps(op: string, eps: unknown): void {
  if (typeof eps === 'number' && eps >= 0) return
  throw new ArgumentError(`${op}: eps must be a number of at least 0, got ${showValue(eps)}`)
}

function checkEnd(op: string, x: Tensor, shape: Shape): void {
  checkTensor(op, x)
  if (x.ndim < shape.length || !sameShape(x.shape.slice(x.ndim - shape.length), shape)) {
    throw new ShapeError(`${op}: the last axes of the input must be ${showShape(shape)}, got ${showShape(x.shape)}`)
  }
}
