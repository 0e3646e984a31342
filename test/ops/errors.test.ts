// Mistakes: each is an error of the right class that names the operation, what was given, and the remedy.
import { describe, test } from 'vitest'
import * as wengert from 'wengert'
import { ArgumentError, DTypeError, IndexError, ShapeError, tensor, type WengertError } from 'wengert'
import { expectError, untyped } from '../support/expectations.js'

type Kind = new (message: string) => WengertError
type Mistake = readonly [op: string, run: () => unknown, kind: Kind, ...says: string[]]

type OneTensor = (x: wengert.Tensor) => wengert.Tensor
const operations = wengert as unknown as Readonly<Record<string, OneTensor>>
const operation = (name: string) => operations[name] as OneTensor

const x = wengert.zeros([2, 3])
const v = wengert.zeros([3])
const whole = wengert.zeros([2, 3], { dtype: 'int32' })
const image = wengert.zeros([2, 4, 4])
const ints = (...values: number[]) => tensor(Int32Array.from(values))

const mistakes: readonly Mistake[] = [
  ...(
    [
      'expm1',
      'log1p',
      'rsqrt',
      'sin',
      'cos',
      'tan',
      'silu',
      'softplus',
      'logSigmoid',
      'leakyRelu',
      'elu',
      'hardtanh',
    ] as const
  ).flatMap((op): Mistake[] => [
    [op, () => operation(op)(whole), DTypeError, 'int32', "x.to('float32')"],
    [op, () => operation(op)(untyped(3)), ArgumentError, 'must be a tensor'],
  ]),
  ...(['floor', 'ceil', 'round'] as const).map(
    (op): Mistake => [op, () => operation(op)(tensor([true])), DTypeError, 'bool'],
  ),
  ['leakyRelu', () => x.leakyRelu({ negativeSlope: untyped('a') }), ArgumentError, 'negativeSlope', 'a'],
  ['elu', () => x.elu({ alpha: Number.NaN }), ArgumentError, 'alpha', 'NaN'],
  ['clamp', () => x.clamp({}), ArgumentError, 'min, max or both'],
  ['clamp', () => x.clamp({ min: untyped(v) }), ArgumentError, 'min', 'maximum and minimum'],
  ['clamp', () => x.clamp(untyped(undefined)), ArgumentError, 'min, max or both'],
  ['clamp', () => whole.clamp({ min: 0.5 }), DTypeError, '0.5'],
  ['atan2', () => wengert.atan2(x, wengert.zeros([2])), ShapeError, '(2, 3)', '(2,)'],
  ['logaddexp', () => wengert.logaddexp(x, wengert.zeros([2])), ShapeError, '(2, 3)', '(2,)'],
  ['logsumexp', () => whole.logsumexp(), DTypeError, 'int32'],
  ['logsumexp', () => x.logsumexp({ axis: 2 }), ShapeError, 'axis 2'],
  ['norm', () => whole.norm(), DTypeError, 'int32'],
  ['norm', () => x.norm({ axis: [0, 0] }), ShapeError, 'twice'],
  ['std', () => whole.std(), DTypeError, 'int32'],
  ['std', () => x.std({ correction: Number.NaN }), ArgumentError, 'correction', 'NaN'],
  ['prod', () => x.prod({ axis: 5 }), ShapeError, 'axis 5'],
  ['all', () => x.all({ axis: -3 }), ShapeError, 'axis -3'],
  ['any', () => wengert.any(untyped(true)), ArgumentError, 'must be a tensor'],
  ['cumsum', () => x.cumsum(2), ShapeError, 'axis 2'],
  ['cumprod', () => x.cumprod(2), ShapeError, 'axis 2'],
  ['cumprod', () => whole.cumprod(0), DTypeError, 'int32'],
  ['cosineSimilarity', () => wengert.cosineSimilarity(x, wengert.zeros([2])), ShapeError, '(2, 3)', '(2,)'],
  ['cosineSimilarity', () => wengert.cosineSimilarity(whole, whole), DTypeError, 'int32'],
  ['cosineSimilarity', () => wengert.cosineSimilarity(x, x, { eps: 0 }), ArgumentError, 'eps'],

  ['chunk', () => x.chunk(0), ArgumentError, 'at least 1'],
  ['chunk', () => x.chunk(2, 2), ShapeError, 'axis 2'],
  [
    'pad',
    () =>
      x.pad([
        [1, 1],
        [1, 1],
        [1, 1],
      ]),
    ShapeError,
    '3 pairs',
    '(2, 3)',
  ],
  ['pad', () => x.pad(untyped([1, 2])), ArgumentError, 'pair'],
  ['pad', () => x.pad(untyped(1)), ArgumentError, 'list of pairs'],
  ['pad', () => x.pad([[-1, 0]]), ArgumentError, '-1'],
  ['pad', () => whole.pad([[1, 0]], { value: 0.5 }), DTypeError, '0.5'],
  ['pad', () => x.pad([[1, 0]], { value: untyped('0') }), ArgumentError, 'string'],
  ['tile', () => x.tile([-1]), ArgumentError, '-1'],
  ['repeatInterleave', () => x.repeatInterleave(1.5), ArgumentError, '1.5'],
  ['repeatInterleave', () => x.repeatInterleave([1, 2, 3]), ShapeError, '3 numbers', '(2, 3)'],
  ['flip', () => x.flip(2), ShapeError, 'axis 2'],
  ['roll', () => x.roll(0.5), ArgumentError, '0.5'],
  ['roll', () => x.roll([1, 2], 0), ArgumentError, '2 shifts for 1 axes'],
  ['roll', () => x.roll(1, 2), ShapeError, 'axis 2'],
  ['tril', () => v.tril(), ShapeError, '(3,)'],
  ['triu', () => x.triu({ diagonal: 0.5 }), ArgumentError, '0.5'],
  ['diag', () => image.diag(), ShapeError, '(2, 4, 4)', 'diagonal'],
  ['diagonal', () => x.diagonal({ axis0: 1, axis1: -1 }), ShapeError, 'axis 1', 'twice'],
  ['diagonal', () => v.diagonal(), ShapeError, 'axis -2'],
  ['trace', () => v.trace(), ShapeError, '(3,)'],
  ['gather', () => x.gather(1, v), DTypeError, 'float32', "to('int32')"],
  ['gather', () => x.gather(1, ints(0)), ShapeError, '(1,)', '(2, 3)'],
  ['gather', () => x.gather(0, wengert.zeros([1, 4], { dtype: 'int32' })), ShapeError, '(1, 4)', '(2, 3)'],
  ['gather', () => x.gather(1, ints(0, 3).reshape([1, 2])), IndexError, 'index 3', 'place 1', '-3 to 2'],
  ['embedding', () => wengert.embedding(ints(0, 2), x), IndexError, '2', 'place 1', '2 rows'],
  ['embedding', () => wengert.embedding(ints(-1), x), IndexError, '-1'],
  ['embedding', () => wengert.embedding(v, x), DTypeError, 'float32'],
  ['embedding', () => wengert.embedding(ints(0), tensor(1)), ShapeError, 'scalar'],

  ['at', () => x.at(2), IndexError, 'position 2', 'axis 0', '-2 to 1'],
  ['at', () => x.at('...', -4), IndexError, 'position -4', 'axis 1'],
  ['at', () => x.at(0, 0, 0), ShapeError, '3 indices', '2 axes'],
  ['at', () => x.at('...', '...'), ArgumentError, 'once'],
  ['at', () => x.at(ints(0), ints(0)), ArgumentError, 'only one'],
  ['at', () => x.at(v), DTypeError, 'float32', 'where'],
  ['at', () => x.at('::0'), ArgumentError, 'step', '::0'],
  ['at', () => x.at(untyped('1-2')), ArgumentError, "'1-2'", 'a range like'],
  ['at', () => x.at(0.5), ArgumentError, '0.5'],
  ['at', () => x.at(untyped([0, 1])), ArgumentError, '0,1'],
  ['at', () => x.at(untyped(undefined)), ArgumentError, 'undefined'],

  ['dot', () => v.dot(x), ShapeError, '(3,)', '(2, 3)', 'matmul'],
  ['dot', () => v.dot(wengert.zeros([4])), ShapeError, '3 and 4'],
  ['outer', () => x.outer(v), ShapeError, '(2, 3)', 'einsum'],
  ['outer', () => v.outer(untyped(null)), ArgumentError, 'null'],

  ['argsort', () => x.argsort({ axis: 2 }), ShapeError, 'axis 2'],
  ['sort', () => tensor(1).sort(), ShapeError, 'scalar'],
  ['topk', () => v.topk(4), ArgumentError, 'k is 4', '3 elements'],
  ['topk', () => v.topk(1.5), ArgumentError, '1.5'],

  ['layerNorm', () => wengert.layerNorm(x, wengert.ones([2])), ShapeError, '(2,)', '(2, 3)'],
  ['layerNorm', () => wengert.layerNorm(x, v, wengert.ones([1])), ShapeError, '(3,)', '(1,)'],
  ['layerNorm', () => wengert.layerNorm(whole), DTypeError, 'int32'],
  ['layerNorm', () => wengert.layerNorm(x, v, v, { eps: -1 }), ArgumentError, 'eps'],
  ['layerNorm', () => wengert.layerNorm(tensor(1)), ShapeError, 'rows', '()'],
  ['rmsNorm', () => wengert.rmsNorm(x, wengert.ones([2])), ShapeError, '(2,)', '(2, 3)'],
  ['rmsNorm', () => wengert.rmsNorm(x, untyped([1, 1, 1])), ArgumentError, 'the weight', 'an array'],
  ['dropout', () => wengert.dropout(x, { p: 1.5 }), ArgumentError, '[0, 1]', '1.5'],
  ['dropout', () => wengert.dropout(whole), DTypeError, 'int32'],
  ['dropout', () => wengert.dropout(x, { p: '0.5' as never }), ArgumentError, 'a number', '0.5'],
  [
    'scaledDotProductAttention',
    () => wengert.scaledDotProductAttention(x, x, x, { dropout: -1 }),
    ArgumentError,
    'dropout',
    '-1',
  ],
  [
    'scaledDotProductAttention',
    () => wengert.scaledDotProductAttention(x, x, x, { dropout: null as never }),
    ArgumentError,
    'dropout must be a number',
  ],
  ['binaryCrossEntropyWithLogits', () => wengert.binaryCrossEntropyWithLogits(x, v), ShapeError, '(2, 3)', '(3,)'],
  ['binaryCrossEntropyWithLogits', () => wengert.binaryCrossEntropyWithLogits(whole, x), DTypeError, 'int32'],
  [
    'binaryCrossEntropyWithLogits',
    () => wengert.binaryCrossEntropyWithLogits(x, x, { posWeight: -1 }),
    ArgumentError,
    'posWeight',
  ],
  [
    'binaryCrossEntropyWithLogits',
    () => wengert.binaryCrossEntropyWithLogits(x, x, { reduction: untyped('max') }),
    ArgumentError,
    "'mean', 'sum' or 'none'",
  ],
  ['conv2d', () => wengert.conv2d(x, image), ShapeError, '(2, 3)', 'images'],
  ['conv2d', () => wengert.conv2d(image, wengert.zeros([1, 3, 2, 2])), ShapeError, '(2, 4, 4)', '(1, 3, 2, 2)'],
  ['conv2d', () => wengert.conv2d(image, wengert.zeros([1, 2, 5, 2])), ShapeError, '5 × 2', '4 × 4'],
  [
    'conv2d',
    () => wengert.conv2d(image, wengert.zeros([3, 1, 2, 2]), undefined, { groups: 2 }),
    ShapeError,
    '2 groups',
  ],
  ['conv2d', () => wengert.conv2d(image, wengert.zeros([1, 2, 2, 2]), v), ShapeError, '(1,)', '(3,)'],
  [
    'conv2d',
    () => wengert.conv2d(image, wengert.zeros([1, 2, 2, 2]), undefined, { stride: 2, padding: 'same' }),
    ArgumentError,
    'stride 1',
  ],
  [
    'conv2d',
    () => wengert.conv2d(image, wengert.zeros([1, 2, 2, 2]), undefined, { stride: 0 }),
    ArgumentError,
    'stride',
  ],
  ['maxPool2d', () => wengert.maxPool2d(image, 5), ShapeError, '5 × 5', '4 × 4'],
  ['maxPool2d', () => wengert.maxPool2d(image, 2, { padding: 2 }), ArgumentError, 'half'],
  ['maxPool2d', () => wengert.maxPool2d(whole.unsqueeze(0), 2), DTypeError, 'int32'],
  ['avgPool2d', () => wengert.avgPool2d(v, 2), ShapeError, '(3,)'],
  ['avgPool2d', () => wengert.avgPool2d(image, untyped([1, 2, 3])), ArgumentError, 'pair'],
]

describe('mistakes', () => {
  test.each(mistakes.map((mistake, i) => [`${mistake[0]} ${i}`, mistake] as const))('%s', (_, mistake) => {
    const [op, run, kind, ...says] = mistake
    expectError(run, kind, op, ...says)
  })
})
