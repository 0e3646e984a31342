// Normalising the rows of activations.

import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { OUTPUT } from '../core/node.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { add, annihilate, mul, sub } from './arithmetic.js'
import { detach } from './copy.js'
import { mean, variance } from './reductions.js'
import { rsqrt, square } from './unary.js'

interface Normalisation {
  /** The axes over which a row extends. */
  readonly axes: readonly number[]
  /** Added to the mean square, so that rows of zeros do not divide by 0. */
  readonly eps: number
  /** Whether the mean is subtracted. */
  readonly centred: boolean
}

const normaliseOperation: Operation<Normalisation> = {
  name: 'normalise',
  forward: ([input], settings) => {
    const x = detach(input as Tensor)
    const rows = { axis: settings.axes, keepDims: true }
    return mul(settings.centred ? sub(x, mean(x, rows)) : x, factors(x, settings))
  },
  derivatives: [
    {
      // With the factor r and the output y: r (g − mean(g) − y mean(g y)), without mean(g) where it is not subtracted.
      saves: [0, OUTPUT],
      rule: (g, call) => {
        const { axes, centred } = call.attributes
        const rows = { axis: axes, keepDims: true }
        const y = call.output
        const alongRow = annihilate(mean(annihilate(g, y), rows), y)
        const across = sub(centred ? sub(g, mean(g, rows)) : g, alongRow)
        return annihilate(across, factors(call.input(0), call.attributes))
      },
    },
  ],
}

/** `1/√(variance + eps)`, or `1/√(mean square + eps)` where the mean is not subtracted, for each row. */
function factors(x: Tensor, { axes, eps, centred }: Normalisation): Tensor {
  const rows = { axis: axes, keepDims: true }
  return rsqrt(add(centred ? variance(x, { ...rows, correction: 0 }) : mean(square(x), rows), eps))
}

function normalise(op: string, x: Tensor, like: Tensor | undefined, eps: number, centred: boolean): Tensor {
  const count = like?.ndim ?? 1
  const axes = Array.from({ length: count }, (_, i) => x.ndim - count + i)
  if (x.ndim < count || count === 0 || (like !== undefined && !sameShape(like.shape, x.shape.slice(-count)))) {
    const shown = like === undefined ? 'rows' : `a weight or bias of shape ${showShape(like.shape)}`
    throw new ShapeError(`${op}: ${shown} cannot be the last axes of x ${showShape(x.shape)}`)
  }
  return apply(normaliseOperation, [x], { axes, eps, centred })
}

/** Throws unless x and what is given beside it are floating tensors, the latter of one shape. */
function checkOperands(op: string, x: Tensor, eps: number, weight: Tensor | undefined, bias?: Tensor): void {
  checkTensor(op, x)
  checkFloating(op, x.dtype)
  if (!(eps >= 0)) throw new ArgumentError(`${op}: eps must be a number of at least 0, got ${String(eps)}`)
  for (const [name, value] of Object.entries({ weight, bias })) {
    if (value === undefined) continue
    checkTensor(op, value, `the ${name}`)
    checkFloating(op, value.dtype)
  }
  if (weight !== undefined && bias !== undefined && !sameShape(weight.shape, bias.shape)) {
    throw new ShapeError(
      `${op}: the weight ${showShape(weight.shape)} and the bias ${showShape(bias.shape)} must have the same shape`,
    )
  }
}

/**
 * `(x − mean)/√(variance + eps) · weight + bias` over the last axes of x: those of the weight (or of the bias), the last
 * one where neither is given. The variance is the population's. eps is 1e-5 by default.
 *
 * Derivative towards x, with `h = g · weight`, the normalised row ŷ and `r = 1/√(variance + eps)`:
 * `r (h − mean(h) − ŷ mean(h ŷ))`.
 *
 * Source: Ba et al., "Layer Normalization", arXiv 1607.06450.
 *
 * @param weight of the shape of the last axes of x
 * @param bias of the same shape
 * @throws ShapeError where the weight or the bias are not like the last axes of x; DTypeError unless all are floating;
 *   ArgumentError for a negative eps
 */
export function layerNorm(
  x: Tensor,
  weight?: Tensor,
  bias?: Tensor,
  options: { readonly eps?: number | undefined } = {},
): Tensor {
  checkOptions('layerNorm', options, ['eps'])
  const { eps = 1e-5 } = options
  checkOperands('layerNorm', x, eps, weight, bias)
  return composite(() => {
    const normal = normalise('layerNorm', x, weight ?? bias, eps, true)
    const scaled = weight === undefined ? normal : mul(normal, weight)
    return bias === undefined ? scaled : add(scaled, bias)
  })
}

const machineEpsilons: Partial<Record<DType, number>> = { float32: 2 ** -23, float64: Number.EPSILON }

/**
 * `x/√(mean(x²) + eps) · weight` over the last axes of x: those of the weight, the last one where none is given. eps is
 * by default the distance from 1 to the next number of the dtype, as in PyTorch.
 *
 * Derivative towards x, with `h = g · weight`, the normalised row ŷ and `r = 1/√(mean(x²) + eps)`: `r (h − ŷ mean(h ŷ))`.
 *
 * Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467.
 *
 * @param weight of the shape of the last axes of x
 * @throws as `layerNorm`
 */
export function rmsNorm(x: Tensor, weight?: Tensor, options: { readonly eps?: number | undefined } = {}): Tensor {
  checkTensor('rmsNorm', x)
  checkOptions('rmsNorm', options, ['eps'])
  const { eps = machineEpsilons[x.dtype] ?? 0 } = options
  checkOperands('rmsNorm', x, eps, weight)
  return composite(() => {
    const normal = normalise('rmsNorm', x, weight, eps, false)
    return weight === undefined ? normal : mul(normal, weight)
  })
}
