import { checkFloating, type DType } from '../core/dtype.js'
import { checkFlag, checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { linear } from '../ops/matmul.js'
import { linearUniform } from './initialisation.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'
import type { Parameter } from './parameter.js'

/** Options of `Linear`. */
export interface LinearOptions {
  /** Whether a bias is added; default true. */
  readonly bias?: boolean
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * `y = x Wᵀ + b` along the last axis: (…, in) to (…, out). Weight (out, in) and bias (out,) start uniform on ±1/√in, as
 * PyTorch's.
 */
export class Linear extends Module {
  readonly weight: Parameter
  /** null without. */
  readonly bias: Parameter | null
  readonly inFeatures: number
  readonly outFeatures: number

  /** @throws ArgumentError where a number of features is no whole number of at least 1 */
  constructor(inFeatures: number, outFeatures: number, options: LinearOptions = {}) {
    super()
    checkInteger('Linear', 'inFeatures', inFeatures, 1)
    checkInteger('Linear', 'outFeatures', outFeatures, 1)
    checkOptions('Linear', options, ['bias', 'dtype'])
    const { bias = true, dtype = 'float32' } = options
    checkFlag('Linear', 'bias', bias)
    checkFloating('Linear', dtype)
    this.inFeatures = inFeatures
    this.outFeatures = outFeatures
    this.weight = linearUniform([outFeatures, inFeatures], inFeatures, dtype)
    this.bias = bias ? linearUniform([outFeatures], inFeatures, dtype) : null
  }

  /** (…, out) for x (…, in). */
  forward(x: Tensor): Tensor {
    return linear(x, this.weight, this.bias ?? undefined)
  }
}
keepsNothing(Linear)
