// Wrong derivatives of what combines the elements along axes.
import type { Tensor } from '../../../src/index.js'
import * as w from '../../../src/index.js'
import type { Call, WrongRule } from '../substitute.js'
import { at, type Mistakes, square, told, towards, x } from './kit.js'

const axesOf = ({ attributes }: Call) => (attributes as { readonly axes: readonly number[] }).axes

/** A reduction's result repeated over the axes. */
function spread(value: Tensor, call: Call): Tensor {
  const kept = call.inputShape.map((size, axis) => (axesOf(call).includes(axis) ? 1 : size))
  return w.broadcastTo(w.reshape(value, kept), call.inputShape)
}

/** Along the other one of two axes. */
const otherAxis: WrongRule = (call) => told({ axes: axesOf(call).map((axis) => 1 - axis) })(call)

const rowSum = (value: Tensor) => w.sum(value, { axis: -1, keepDims: true })
const rowMean = (value: Tensor) => w.mean(value, { axis: -1, keepDims: true })
const count = (call: Call) => x(call).size / call.output.size

export const reductions: Mistakes = {
  sum: [['along the wrong axis', otherAxis, at((v) => w.sum(v, { axis: 0 }), square)]],
  mean: [
    ['not divided by the count', ({ g }) => g, { operation: 'scale' }],
    ['along the wrong axis', otherAxis, { ...at((v) => w.mean(v, { axis: 1 }), square), operation: 'sum' }],
  ],
  max: [
    ['to all elements', (call) => spread(call.g, call)],
    ['along the wrong axis', otherAxis, at((v) => w.max(v, { axis: 0 }), square)],
  ],
  min: [['the largest saved', (call) => call.right({ output: w.max(x(call), { axis: axesOf(call) }) })]],
  prod: [
    ['the product of all', (call) => spread(w.mul(call.g, call.output), call)],
    ['the sum of all', (call) => w.mul(spread(call.g, call), x(call))],
  ],
  variance: [
    ['not centred', (call) => w.mul(spread(call.g, call), w.scale(x(call), 2 / count(call)))],
    ['divided by one less', told({ correction: 1 }), at((v) => w.variance(v, { axis: 0, correction: 0 }), square)],
  ],
  std: [['not divided by y', (call) => call.right({ output: w.onesLike(call.output) })]],
  norm: [['x instead of x/y', (call) => call.right({ output: w.onesLike(call.output) })]],
  logsumexp: [['eˣ instead of softmax', (call) => w.mul(w.unsqueeze(call.g, -1), w.exp(x(call)))]],
  cumsum: [
    ['in the same direction', told({ reverse: true })],
    ['along the wrong axis', told({ axis: 1 }), at((v) => w.cumsum(v, 0), square)],
    ['the cotangent as it is', ({ g }) => g],
  ],
  cumprod: [['in the same direction', told({ reverse: true }), { operation: 'linearScan' }]],
  softmax: [
    ['⟨g, a⟩ dropped', ({ g, output }) => w.mul(g, output)],
    ['not multiplied by a', ({ g, output }) => w.sub(g, rowSum(w.mul(g, output)))],
    [
      'along the wrong axis',
      ({ g, output }) => w.mul(output, w.sub(g, w.sum(w.mul(g, output), { axis: 0, keepDims: true }))),
      at((v) => w.softmax(v), square),
    ],
    ['x saved instead of a', (call) => call.right({ output: x(call) })],
  ],
  logSoftmax: [
    ['eʸ Σg dropped', ({ g }) => g],
    ['y instead of eʸ', ({ g, output }) => w.sub(g, w.mul(output, rowSum(g)))],
  ],
  layerNorm: [
    ['not centred', told({ centred: false }), { operation: 'normalise' }],
    [
      'not divided by the deviation',
      towards(0, ({ right, inputs, attributes }) => w.div(right(), inverseDeviation(inputs, attributes))),
      { operation: 'normalise' },
    ],
    [
      'the variance constant',
      towards(0, ({ g, inputs, attributes }) => {
        const h = w.mul(g, inputs[1] as Tensor)
        return w.mul(w.sub(h, rowMean(h)), inverseDeviation(inputs, attributes))
      }),
      { operation: 'normalise' },
    ],
  ],
  rmsNorm: [
    [
      'the mean square constant',
      towards(0, ({ g, inputs, attributes }) =>
        w.mul(w.mul(g, inputs[1] as Tensor), inverseDeviation(inputs, attributes)),
      ),
      { operation: 'normalise' },
    ],
  ],
}

/** The factor by which a normalisation multiplies each row. */
function inverseDeviation([rows]: readonly Tensor[], attributes: unknown): Tensor {
  const { centred, eps } = attributes as { readonly centred: boolean; readonly eps: number }
  const x = rows as Tensor
  return w.rsqrt(w.add(rowMean(w.square(centred ? w.sub(x, rowMean(x)) : x)), eps))
}
