// Wrong derivatives of what moves, repeats and chooses elements.
import type { Tensor } from '../../../src/index.js'
import * as w from '../../../src/index.js'
import { at, firstSlice, type Mistakes, sizeOf, square, told } from './kit.js'

/** 1 where an index does not come again, else 0. */
function isLast(indices: Tensor): Tensor {
  const list = [...indices.data]
  return w.tensor(Float64Array.from(list, (value, i) => (list.lastIndexOf(value) === i ? 1 : 0)))
}

/** The function of a tensor that takes these rows. */
function rows(...indices: number[]): (v: Tensor) => Tensor {
  return (v) => w.indexSelect(v, 0, w.tensor(indices, { dtype: 'int32' }))
}

const margins = [
  [1, 1],
  [1, 1],
] as const

export const movement: Mistakes = {
  permute: [
    [
      'the same order instead of its inverse',
      ({ g, attributes }) => w.permute(g, attributes as readonly number[]),
      at((v) => w.permute(v, [1, 2, 0]), [2, 2, 2]),
    ],
  ],
  reshape: [
    [
      'columns first',
      ({ g, inputShape }) => w.transpose(w.reshape(g, inputShape)),
      at((v) => w.reshape(v, [9]), square),
    ],
  ],
  broadcastTo: [
    ['one slice instead of the sum', ({ g, inputShape }) => firstSlice(g, inputShape)],
    ['the mean instead of the sum', ({ g, inputShape, right }) => w.scale(right(), sizeOf(inputShape) / g.size)],
  ],
  flip: [
    ['not flipped back', ({ g }) => g, at((v) => w.flip(v, 0), square)],
    ['along the wrong axis', ({ right }) => right({ attributes: [1] }), at((v) => w.flip(v, 0), square)],
  ],
  roll: [
    [
      'off by one',
      ({ right }) => w.roll(right(), 1, 0),
      { ...at((v) => w.roll(v, 1, 0), square), operation: 'concat' },
    ],
  ],
  slice: [['from the beginning', told({ starts: [0, 0] }), at((v) => w.slice(v, [1, 1]), square)]],
  pad: [['the margin left in', told({ before: [0, 0] }), at((v) => w.pad(v, margins), square)]],
  concat: [
    [
      'parts swapped',
      (call) => told({ starts: call.index === 0 ? [3, 3] : [0, 0] })(call),
      at((v) => w.concat([v, w.square(v)], 0), square),
    ],
  ],
  indexSelect: [
    [
      'the last of equal indices alone',
      ({ g, inputs, right }) => right({ g: w.mul(g, w.unsqueeze(isLast(inputs[1] as Tensor), -1)) }),
      at(rows(0, 2, 0), square),
    ],
    ['in reverse', ({ g, right }) => right({ g: w.flip(g, 0) }), at(rows(0, 2, 1), square)],
  ],
  sort: [
    ['not put back', ({ g }) => g, { ...at((v) => w.sort(v, { axis: 0 }).values, square), operation: 'indexSelect' }],
  ],
  diagonal: [['the wrong diagonal', told({ offset: -1 }), at((v) => w.diagonal(v, { offset: 1 }), square)]],
  tril: [
    [
      'the upper triangle',
      ({ right }) => w.transpose(right()),
      { ...at((v) => w.tril(v), square), operation: 'where' },
    ],
  ],
}
