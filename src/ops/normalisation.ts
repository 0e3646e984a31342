// Normalising the rows of activations.

import { contiguous, empty } from '../core/contiguous.js'
import { checkFloating, type DType, promoteTypes, suffixOf } from '../core/dtype.js'
import { ArgumentError, ShapeError } from '../core/errors.js'
import { apply, composite, type Operation } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { sameShape, showShape, sizeOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { add, annihilate, annihilateBoth } from './arithmetic.js'
import { to } from './convert.js'
import { mapRows } from './pieces.js'
import { mean, variance } from './reductions.js'
import { sumTo } from './sum.js'
import { neg, rsqrt, square } from './unary.js'
import { broadcastTo } from './views.js'

interface Normalisation {
  /** The number of axes, the last ones, over which a row extends. */
  readonly axes: number
  /** Added to the mean square, so that rows of zeros do not divide by 0. */
  readonly eps: number
  /** Whether the mean is subtracted. */
  readonly centred: boolean
}

/** Runs a kernel over the rows of inputs of the result's shape; `shared` are one row each, or null. */
function overRows(
  family: KernelFamily,
  inputs: readonly Tensor[],
  shared: readonly (Tensor | null)[],
  settings: Normalisation,
): Tensor {
  const [like] = inputs as [Tensor]
  const out = empty(like.dtype, like.shape)
  const { length } = out.storage
  if (length === 0) return out
  const count = sizeOf(like.shape.slice(like.ndim - settings.axes))
  mapRows(family, suffixOf(like.dtype), inputs.map(contiguous), out, {
    rows: length / count,
    count,
    shared: shared.map((input) => (input === null ? 0 : addressOf(contiguous(input).storage))),
    more: [settings.eps, settings.centred ? 1 : 0],
  })
  return out
}

const forwardKernel = new KernelFamily('normalise')

/** `ŷ · weight + bias` from [x], [x, weight] or [x, weight, bias], ŷ the normalised x. */
const normaliseOperation: Operation<Normalisation> = {
  name: 'normalise',
  forward: ([x, weight = null, bias = null], settings) =>
    overRows(forwardKernel, [x as Tensor], [weight, bias], settings),
  derivatives: [{ saves: [0], rule: (g, call) => normaliseBackward([g, call.input(0)], call.attributes) }],
}

const scaledOperation: Operation<Normalisation> = {
  ...normaliseOperation,
  derivatives: [
    { saves: [0, 1], rule: (g, call) => normaliseBackward([g, call.input(0), call.input(1)], call.attributes) },
    { saves: [0], rule: (g, call) => sumTo(timesNormalised(g, call.input(0), call.attributes), call.inputShape(1)) },
    { saves: [], rule: (g, call) => sumTo(g, call.inputShape(2)) },
  ],
}

const backwardKernel = new KernelFamily('normaliseBackward')

/** From [g, x] or [g, x, weight]: with h = g · weight, `r (h − mean(h) − ŷ mean(h ŷ))`. */
function normaliseBackward(inputs: readonly Tensor[], settings: Normalisation): Tensor {
  return apply(inputs.length === 2 ? backwardOperation : scaledBackwardOperation, inputs, settings)
}

// The pass is J h with a symmetric J, so that towards h it is J k for its cotangent k. Towards x it is
// −r/n (ŷ ⟨k, J h⟩ + J k ⟨h, ŷ⟩ + J h ⟨k, ŷ⟩), n the number of values in a row: from dr = −r² ⟨ŷ, dx⟩ / n, dŷ = J dx.
const backwardOperation: Operation<Normalisation> = {
  name: 'normaliseBackward',
  forward: ([g, x, weight = null], settings) =>
    overRows(backwardKernel, [g as Tensor, x as Tensor], [weight], settings),
  derivatives: [
    { saves: [1], rule: (k, call) => normaliseBackward([k, call.input(1)], call.attributes) },
    { saves: [0, 1], rule: (k, call) => secondPass(k, call.input(0), call.input(1), call.attributes) },
  ],
}

const scaledBackwardOperation: Operation<Normalisation> = {
  ...backwardOperation,
  derivatives: [
    {
      saves: [1, 2],
      rule: (k, call) => annihilate(normaliseBackward([k, call.input(1)], call.attributes), call.input(2)),
    },
    {
      saves: [0, 1, 2],
      rule: (k, call) => secondPass(k, annihilate(call.input(0), call.input(2)), call.input(1), call.attributes),
    },
    {
      saves: [0, 1],
      rule: (k, call) => {
        const pulled = normaliseBackward([k, call.input(1)], call.attributes)
        return sumTo(annihilateBoth(pulled, call.input(0)), call.inputShape(2))
      },
    },
  ],
}

function secondPass(k: Tensor, h: Tensor, x: Tensor, settings: Normalisation): Tensor {
  const rows = { axis: rowAxes(x, settings.axes), keepDims: true }
  const [pulledK, pulledH] = [normaliseBackward([k, x], settings), normaliseBackward([h, x], settings)]
  const alongRow = timesNormalised(mean(annihilateBoth(pulledH, k), rows), x, settings)
  const alongK = annihilateBoth(pulledK, mean(timesNormalised(h, x, settings), rows))
  const alongH = annihilateBoth(pulledH, mean(timesNormalised(k, x, settings), rows))
  return annihilate(neg(add(alongRow, add(alongK, alongH))), factors(x, settings))
}

const productKernel = new KernelFamily('normaliseProduct')

/** `g · ŷ`, 0 where g is 0; g broadcasts to x. */
function timesNormalised(g: Tensor, x: Tensor, settings: Normalisation): Tensor {
  return apply(productOperation, [broadcastTo(g, x.shape), x], settings)
}

const productOperation: Operation<Normalisation> = {
  name: 'normaliseProduct',
  forward: ([g, x], settings) => overRows(productKernel, [g as Tensor, x as Tensor], [], settings),
  derivatives: [
    { saves: [1], rule: (k, call) => timesNormalised(k, call.input(1), call.attributes) },
    {
      saves: [0, 1],
      rule: (k, call) => normaliseBackward([annihilateBoth(k, call.input(0)), call.input(1)], call.attributes),
    },
  ],
}

/** The last axes of x, as many as `count`. */
function rowAxes(x: Tensor, count: number): number[] {
  return Array.from({ length: count }, (_, i) => x.ndim - count + i)
}

/** `r = 1/√(variance + eps)`, or `1/√(mean square + eps)` where the mean is not subtracted, for each row. */
function factors(x: Tensor, { axes, eps, centred }: Normalisation): Tensor {
  const rows = { axis: rowAxes(x, axes), keepDims: true }
  return rsqrt(add(centred ? variance(x, { ...rows, correction: 0 }) : mean(square(x), rows), eps))
}

/** The normalised x, times the weight plus the bias where they are given, all of their common dtype. */
function normalise(
  op: string,
  x: Tensor,
  weight: Tensor | undefined,
  bias: Tensor | undefined,
  eps: number,
  centred: boolean,
): Tensor {
  const like = weight ?? bias
  const axes = like?.ndim ?? 1
  if (x.ndim < axes || axes === 0 || (like !== undefined && !sameShape(like.shape, x.shape.slice(-axes)))) {
    const shown = like === undefined ? 'rows' : `a weight or bias of shape ${showShape(like.shape)}`
    throw new ShapeError(`${op}: ${shown} cannot be the last axes of x ${showShape(x.shape)}`)
  }
  const settings = { axes, eps, centred }
  if (weight === undefined) {
    if (bias === undefined) return apply(normaliseOperation, [x], settings)
    return composite(() => add(apply(normaliseOperation, [x], settings), bias))
  }
  const inputs = bias === undefined ? [x, weight] : [x, weight, bias]
  if (inputs.every((input) => input.dtype === x.dtype)) return apply(scaledOperation, inputs, settings)
  const dtype = inputs.map((input) => input.dtype).reduce(promoteTypes)
  return composite(() =>
    apply(
      scaledOperation,
      inputs.map((input) => to(input, dtype)),
      settings,
    ),
  )
}

function checkParameter(op: string, value: Tensor, name: string): void {
  checkTensor(op, value, name)
  checkFloating(op, value.dtype)
}

/** Throws unless x and what is given beside it are floating tensors, the latter of one shape. */
function checkOperands(op: string, x: Tensor, eps: number, weight: Tensor | undefined, bias?: Tensor): void {
  checkTensor(op, x)
  checkFloating(op, x.dtype)
  if (!(eps >= 0)) throw new ArgumentError(`${op}: eps must be a number of at least 0, got ${String(eps)}`)
  if (weight !== undefined) checkParameter(op, weight, 'the weight')
  if (bias !== undefined) checkParameter(op, bias, 'the bias')
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
  return normalise('layerNorm', x, weight, bias, eps, true)
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
  return normalise('rmsNorm', x, weight, undefined, eps, false)
}
