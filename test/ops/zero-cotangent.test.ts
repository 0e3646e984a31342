// A zero cotangent stays zero, whatever the local derivative: for every operation, at its bad points, in every order.
import { describe, expect, test } from 'vitest'
import * as w from 'wengert'
import { type Tensor, tensor } from 'wengert'

type Function1 = (x: Tensor) => Tensor

const { NaN: nan, POSITIVE_INFINITY: inf } = Number

/** Rows (x, 2x). */
const rows = (x: Tensor) => w.stack([x, x.mul(2)], 1)
/** What is made of every row, as one number. */
const ofRows = (fn: Function1) => (x: Tensor) => {
  const y = fn(rows(x))
  return y.ndim === 1 ? y : y.sum({ axis: 1 })
}
const image = (x: Tensor) => x.reshape([2, 1, 1, 1]).broadcastTo([2, 1, 2, 2])
const classes = tensor([0, 0], { dtype: 'int32' })

/** Functions of two numbers, element by element or row by row, and bad points. */
const functions: readonly (readonly [string, Function1, readonly number[]])[] = [
  ['sqrt', w.sqrt, [0, -1, nan, inf, -inf]],
  ['rsqrt', w.rsqrt, [0, -1, nan, inf]],
  ['log', w.log, [0, -1, nan, inf]],
  ['log1p', w.log1p, [-1, -2, nan, inf]],
  ['reciprocal', w.reciprocal, [0, nan, inf]],
  ['1 / x', (x) => w.div(1, x), [0, nan, inf]],
  ['x / 0', (x) => x.div(w.where(x.eq(0.5), 1, 0).to(x.dtype)), [0, 1, nan]],
  ['x / x', (x) => x.div(x), [0, inf, nan]],
  ['x / x²', (x) => x.div(x.mul(x)), [0, inf, nan]],
  ['x − x', (x) => x.sub(x), [inf, nan]],
  ['x · x', (x) => x.mul(x), [inf, nan]],
  ['x · ∞', (x) => x.mul(w.where(x.eq(0.5), 1, inf).to(x.dtype)), [0, 1, nan]],
  ['scale by ∞', (x) => w.where(x.eq(0.5), x, x.scale(inf)), [0, 1, nan]],
  ['pow 0.3', (x) => x.pow(0.3), [0, -1, nan, inf]],
  ['pow −1', (x) => x.pow(-1), [0, nan]],
  ['pow −½', (x) => x.pow(-0.5), [0, -1, nan]],
  ['pow 1.5', (x) => x.pow(1.5), [0, -1, nan]],
  ['pow 2', (x) => x.pow(2), [inf, nan]],
  ['x to the power x', (x) => x.pow(x), [0, -0.5, nan, inf]],
  ['2 to the power x', (x) => w.pow(2, x), [nan, inf]],
  ['0 to the power x', (x) => w.pow(0, x), [-1, 0, nan]],
  ['norm', ofRows((x) => x.norm({ axis: 1 })), [0, nan, inf]],
  ['norm of one element', (x) => x.unsqueeze(1).norm({ axis: 1 }), [0, nan, inf]],
  ['root of a norm', ofRows((x) => x.norm({ axis: 1 }).sqrt()), [0]],
  ['std', ofRows((x) => x.std({ axis: 1 })), [0, nan, inf]],
  ['variance', ofRows((x) => x.variance({ axis: 1 })), [nan, inf]],
  ['exp', w.exp, [1e5, inf, nan]],
  ['expm1', w.expm1, [1e5, inf, nan]],
  ['square', w.square, [1e300, inf, nan]],
  ['sin', w.sin, [inf, nan]],
  ['cos', w.cos, [inf, nan]],
  ['tan', w.tan, [inf, nan]],
  ['tanh', w.tanh, [inf, nan]],
  ['sigmoid', w.sigmoid, [inf, nan, -inf]],
  ['erf', w.erf, [inf, nan]],
  ['gelu', (x) => x.gelu(), [0, inf, -inf, nan]],
  ['gelu, approximated', (x) => x.gelu({ approximate: 'tanh' }), [inf, -inf, nan]],
  ['silu', w.silu, [inf, -inf, nan]],
  ['softplus', w.softplus, [inf, -inf, nan]],
  ['logSigmoid', w.logSigmoid, [inf, -inf, nan]],
  ['elu', (x) => w.elu(x), [inf, -inf, nan]],
  ['leakyRelu', (x) => w.leakyRelu(x), [inf, nan]],
  ['hardtanh', (x) => w.hardtanh(x), [nan]],
  ['relu', w.relu, [nan, inf]],
  ['abs', w.abs, [nan, inf]],
  ['clamp', (x) => x.clamp({ min: 0 }), [nan]],
  ['round', w.round, [nan, inf]],
  ['sign', w.sign, [nan]],
  ['atan2', (x) => w.atan2(x, x), [0, nan, inf]],
  ['atan2 beside 0', (x) => w.atan2(x, 0), [0, nan, inf]],
  ['atan2 of 0', (x) => w.atan2(0, x), [0, nan, inf]],
  ['logaddexp', (x) => w.logaddexp(x, x), [nan, inf, -inf]],
  ['logaddexp beside 1', (x) => w.logaddexp(x, 1), [nan, inf, -inf]],
  ['maximum', (x) => w.maximum(x, 0), [nan, inf]],
  ['minimum', (x) => w.minimum(x, x), [nan]],
  ['sum', ofRows((x) => x.sum({ axis: 1 })), [nan, inf]],
  ['mean', ofRows((x) => x.mean({ axis: 1 })), [nan, inf]],
  ['max', ofRows((x) => x.max({ axis: 1 })), [nan, inf]],
  ['min', ofRows((x) => x.min({ axis: 1 })), [nan, inf]],
  ['prod', ofRows((x) => x.prod({ axis: 1 })), [0, nan, inf]],
  ['cumprod', ofRows((x) => x.cumprod(1)), [0, nan, inf]],
  ['cumsum', ofRows((x) => x.cumsum(1)), [nan, inf]],
  ['logsumexp', ofRows((x) => x.logsumexp({ axis: 1 })), [nan, inf, -inf]],
  ['softmax', ofRows((x) => x.softmax().square()), [nan, inf, -inf]],
  ['logSoftmax', ofRows((x) => x.logSoftmax()), [nan, inf, -inf]],
  ['layerNorm', ofRows((x) => w.layerNorm(x).square()), [nan, inf]],
  ['layerNorm with weights', ofRows((x) => w.layerNorm(x, x.detach().at(1), x.detach().at(1))), [nan, inf]],
  ['rmsNorm', ofRows((x) => w.rmsNorm(x)), [nan, inf]],
  ['rmsNorm without eps', ofRows((x) => w.rmsNorm(x, undefined, { eps: 0 })), [0, nan, inf]],
  ['cosineSimilarity', ofRows((x) => w.cosineSimilarity(x, w.onesLike(x))), [0, nan, inf]],
  ['mseLoss', (x) => w.mseLoss(x, w.zerosLike(x), { reduction: 'none' }), [nan, inf]],
  [
    'binaryCrossEntropyWithLogits',
    (x) => w.binaryCrossEntropyWithLogits(x, w.zerosLike(x), { reduction: 'none' }),
    [nan, inf, -inf],
  ],
  ['crossEntropy', ofRows((x) => w.crossEntropy(x, classes, { reduction: 'none' })), [nan, inf, -inf]],
  [
    'crossEntropy, smoothed',
    ofRows((x) => w.crossEntropy(x, classes, { reduction: 'none', labelSmoothing: 0.1 })),
    [nan, inf, -inf],
  ],
  [
    'crossEntropy of probabilities',
    ofRows((x) => w.crossEntropy(x, w.full([2, 2], 0.5, { dtype: x.dtype }), { reduction: 'none' })),
    [nan, inf, -inf],
  ],
  ['sort', ofRows((x) => w.sort(x).values), [nan, inf]],
  ['topk', ofRows((x) => w.topk(x, 1).values), [nan, inf]],
  [
    'pad',
    ofRows((x) =>
      w.pad(x, [
        [0, 0],
        [1, 1],
      ]),
    ),
    [nan, inf],
  ],
  ['avgPool2d', (x) => w.avgPool2d(image(x), 2).reshape([2]), [nan, inf]],
  ['maxPool2d', (x) => w.maxPool2d(image(x), 2).reshape([2]), [nan, inf]],
  ['the logarithm of a root, over x', (x) => x.sqrt().log().div(x), [0, -1, nan]],
  ['the logarithm of a cumulative sum', ofRows((x) => x.exp().cumsum(1).log()), [nan, inf, -inf]],
]

/** Ways to leave the first of two numbers out. */
const outs: readonly (readonly [string, Function1])[] = [
  ['where', (y) => w.where(tensor([false, true]), y, 0)],
  ['maskedFill', (y) => y.maskedFill(tensor([true, false]), 0)],
  ['slice', (y) => y.slice([1])],
  ['at', (y) => y.at(1)],
  ['indexSelect', (y) => y.indexSelect(0, tensor([1, 1], { dtype: 'int32' }))],
]

const total =
  (fn: Function1): Function1 =>
  (x) =>
    fn(x).sum()

/** Derivatives of Σ fn, each a tensor shaped like the input. */
const derivatives: readonly (readonly [string, (fn: Function1, x: Tensor) => Tensor])[] = [
  ['the gradient', (fn, x) => w.grad(fn)(x)],
  ['reverse over reverse', (fn, x) => w.grad(total(w.grad(fn)))(x)],
  ['of a squared gradient', (fn, x) => w.grad(total((y) => w.grad(fn)(y).square()))(x)],
  ['hvp', (fn, x) => w.hvp(fn, x, w.onesLike(x))],
  ['forward over reverse', (fn, x) => w.jvp(w.grad(fn), [x], [w.onesLike(x)])[1]],
  ['reverse over forward', (fn, x) => w.grad((y: Tensor) => w.jvp(fn, [y], [w.onesLike(y)])[1])(x)],
  ['the third order', (fn, x) => w.grad(total(w.grad(total(w.grad(fn)))))(x)],
]

describe.each(['float64', 'float32'] as const)('%s: what is left out passes nothing back through', (dtype) => {
  test.each(functions)('%s', (_, fn, points) => {
    for (const point of points) {
      const x = tensor([point, 0.5], { dtype })
      for (const [way, out] of outs) {
        const used = (y: Tensor) => out(fn(y)).sum()
        const orders = way === 'where' ? derivatives : derivatives.slice(0, 1)
        for (const [name, derivative] of orders) {
          const found = derivative(used, x)
          expect(Math.abs(found.data[0] as number), `${name}, ${way}, at ${point}: ${found}`).toBe(0)
          expect(found.data[1], `${name}, ${way}, beside ${point}`).not.toBeNaN()
        }
        expect(w.jvp(used, [x], [tensor([1, 1], { dtype })])[1].item(), `jvp, ${way}, at ${point}`).not.toBeNaN()
      }
    }
  })
})

test('but matrix products sum over what is left out: 0 · ∞ is NaN there', () => {
  const x = tensor([[inf, 1]], { requiresGrad: true })
  const y = tensor([[1], [1]], { requiresGrad: true })
  w.where(tensor([[false]]), x.matmul(y), 0)
    .sum()
    .backward()
  expect(x.grad?.toArray()).toEqual([[0, 0]])
  expect([...(y.grad as Tensor).data]).toEqual([nan, 0])
})
