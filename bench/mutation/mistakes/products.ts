// Wrong derivatives of matrix products.
import type { Tensor } from '../../../src/index.js'
import * as w from '../../../src/index.js'
import { at, firstSlice, type Mistakes, square, swapped, towards } from './kit.js'

type Pair = (...inputs: Tensor[]) => Tensor

const matrices = at(w.matmul as Pair, square, square)
const attention = (q: Tensor, k: Tensor) => w.scaledDotProductAttention(q, k, w.square(k))

export const products: Mistakes = {
  matmul: [
    ['b not transposed', towards(0, ({ g, inputs }) => w.matmul(g, inputs[1] as Tensor)), matrices],
    ['a not transposed', towards(1, ({ g, inputs }) => w.matmul(inputs[0] as Tensor, g)), matrices],
    ['the product transposed', ({ right }) => w.transpose(right()), matrices],
    ['operands swapped', swapped, matrices],
    [
      'the batch not summed',
      towards(1, ({ g, inputs }) => firstSlice(w.matmul(w.transpose(inputs[0] as Tensor), g), [2, 3])),
      at(w.matmul as Pair, [2, 3, 2], [2, 3]),
    ],
  ],
  attention: [
    ['keys for queries', swapped, { ...at(attention as Pair, square, square), operation: 'scaledDotProductAttention' }],
  ],
}
