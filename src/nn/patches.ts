import { checkFloating, type DType } from '../core/dtype.js'
import { ShapeError } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkFlag, checkOptions, requireOptions } from '../core/options.js'
import { checkInteger, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { linear } from '../ops/matmul.js'
import { permute, reshape } from '../ops/views.js'
import { type Pair, pairOf } from '../ops/windows.js'
import { linearUniform } from './initialisation.js'
import { keepsNothing } from './layer.js'
import { Module } from './module.js'
import type { Parameter } from './parameter.js'

/** Options of `PatchEmbed`. */
export interface PatchEmbedOptions {
  /** Height and width of a patch; one number for both. */
  readonly patchSize: Pair
  /** C, the number of channels; default 3. */
  readonly inChannels?: number
  /** D, the length of a patch's vector. */
  readonly embedDim: number
  /** Whether a bias is added; default true. */
  readonly bias?: boolean
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * Cuts images (…, C, H, W) into patches of p × q and maps each linearly to a vector: (…, N, D), the N patches row by
 * row. The weight (D, C, p, q) is that of the convolution of stride p × q that does the same, and starts as PyTorch's
 * does, uniform on ±1/√(C p q), like the bias.
 *
 * Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929.
 */
export class PatchEmbed extends Module {
  readonly weight: Parameter
  /** null without. */
  readonly bias: Parameter | null
  /** Height and width of a patch. */
  readonly patchSize: readonly [number, number]
  readonly inChannels: number
  readonly embedDim: number

  /** @throws ArgumentError where a size is no whole number of at least 1 */
  constructor(options: PatchEmbedOptions) {
    super()
    const op = 'PatchEmbed'
    requireOptions(op, options, 'patchSize: 8, embedDim: 32')
    checkOptions(op, options, ['patchSize', 'inChannels', 'embedDim', 'bias', 'dtype'])
    const { inChannels = 3, embedDim, bias = true, dtype = 'float32' } = options
    this.patchSize = pairOf(op, 'patchSize', options.patchSize, 1)
    checkInteger(op, 'inChannels', inChannels, 1)
    checkInteger(op, 'embedDim', embedDim, 1)
    checkFlag(op, 'bias', bias)
    checkFloating(op, dtype)
    this.inChannels = inChannels
    this.embedDim = embedDim
    const [p, q] = this.patchSize
    const fanIn = inChannels * p * q
    this.weight = linearUniform([embedDim, inChannels, p, q], fanIn, dtype)
    this.bias = bias ? linearUniform([embedDim], fanIn, dtype) : null
  }

  /**
   * (…, N, D) for images (…, C, H, W).
   *
   * @throws ShapeError unless there are C channels, and patches fill height and width
   */
  forward(x: Tensor): Tensor {
    const { weight, bias, inChannels, embedDim } = this
    const [p, q] = this.patchSize
    checkTensor('PatchEmbed', x)
    const [channels, height, width] = x.shape.slice(-3) as [number, number, number]
    if (x.ndim < 3 || channels !== inChannels || height % p !== 0 || width % q !== 0) {
      throw new ShapeError(
        `PatchEmbed: images must be (…, ${inChannels}, height, width), divisible into patches of ${p} × ${q}, got ${showShape(x.shape)}`,
      )
    }
    const batch = x.shape.slice(0, -3)
    const [rows, columns] = [height / p, width / q]
    return composite(() => {
      const split = reshape(x, [...batch, channels, rows, p, columns, q])
      const [C, R, P, S, Q] = [0, 1, 2, 3, 4].map((axis) => batch.length + axis) as [
        number,
        number,
        number,
        number,
        number,
      ]
      const patches = permute(split, [...batch.keys(), R, S, C, P, Q])
      const vectors = reshape(patches, [...batch, rows * columns, channels * p * q])
      return linear(vectors, reshape(weight, [embedDim, channels * p * q]), bias ?? undefined)
    })
  }
}
keepsNothing(PatchEmbed)
