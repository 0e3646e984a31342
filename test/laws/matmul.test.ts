// Products against plain loops: batches that broadcast, transposed operands, vectors, sizes of 0 and beyond one tile.
import fc, { type Arbitrary } from 'fast-check'
import { describe, test } from 'vitest'
import { type DType, linear, matmul, type Tensor, tensor } from 'wengert'
import { broadcastable, denseWith, exactNumbers, type Laid, laidOut, sizes } from '../support/arbitraries.js'
import { expectNear, gradOf } from '../support/expectations.js'
import { type Dense, generate, permute, matmul as product, sizeOf, sumTo } from '../support/reference.js'

// The numbers are quarters below 8: products and their sums are exact, in whatever order they are added.

/** Sizes below and beyond the tiles of the kernels. */
const wide = fc.oneof(
  { weight: 5, arbitrary: sizes() },
  { weight: 1, arbitrary: fc.constantFrom(8, 9, 16, 17, 33, 67) },
)

/** Two operands of at least two axes whose product exists. */
const matrices: Arbitrary<[Laid, Laid]> = fc
  .tuple(broadcastable(2, { ranks: [0, 2] }), wide, wide, wide)
  .chain(([[left = [], right = []], rows, inner, columns]) =>
    fc.tuple(laidOut([...left, rows, inner], exactNumbers), laidOut([...right, inner, columns], exactNumbers)),
  )

/** Two operands of which at least one is a vector. */
const vectors: Arbitrary<[Laid, Laid]> = fc
  .tuple(fc.array(sizes(), { maxLength: 2 }), sizes(), sizes())
  .chain(([batch, size, inner]) => {
    const vector = laidOut([inner], exactNumbers)
    return fc.oneof(
      fc.tuple(vector, vector),
      fc.tuple(vector, laidOut([...batch, inner, size], exactNumbers)),
      fc.tuple(laidOut([...batch, size, inner], exactNumbers), vector),
    )
  })

const swapped = ({ shape }: Dense) => {
  const axes = [...shape.keys()]
  return [...axes.slice(0, -2), ...axes.slice(-2).reverse()]
}

describe.each(['float64', 'float32'] as const)('%s', (dtype) => {
  test('matrices and batches of them', () => {
    fc.assert(
      fc.property(matrices, ([a, b]) => {
        expectNear(matmul(a.make(dtype), b.make(dtype)), product(a.dense, b.dense), {})
      }),
    )
  })

  test('transposed operands, in every combination', () => {
    const transposed = (x: Laid): Tensor => {
      const order = swapped(x.dense)
      const turned = permute(x.dense, order)
      return tensor([...turned.data], { shape: turned.shape, dtype }).transpose()
    }
    fc.assert(
      fc.property(matrices, ([a, b]) => {
        const expected = product(a.dense, b.dense)
        expectNear(matmul(transposed(a), b.make(dtype)), expected, {})
        expectNear(matmul(a.make(dtype), transposed(b)), expected, {})
        expectNear(matmul(transposed(a), transposed(b)), expected, {})
        // (A B)ᵀ = Bᵀ Aᵀ
        expectNear(
          matmul(transposed(b).transpose(), transposed(a).transpose()),
          permute(expected, swapped(expected)),
          {},
        )
      }),
      { numRuns: 60 },
    )
  })

  test('vectors', () => {
    fc.assert(
      fc.property(vectors, ([a, b]) => {
        expectNear(matmul(a.make(dtype), b.make(dtype)), product(a.dense, b.dense), {})
      }),
    )
  })
})

test('sizes around the tiles', () => {
  const around = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65]
  fc.assert(
    fc.property(
      fc.constantFrom(...around),
      fc.constantFrom(...around, 127, 257, 300),
      fc.constantFrom(...around),
      (m, k, n) => {
        const a = generate([m, k], ([i = 0, j = 0]) => ((i * 5 + j * 3) % 13) / 4 - 1)
        const b = generate([k, n], ([i = 0, j = 0]) => ((i * 7 + j * 11) % 17) / 4 - 2)
        for (const dtype of ['float32', 'float64'] as const) {
          const [x, y] = [a, b].map(({ shape, data }) => tensor([...data], { shape, dtype })) as [Tensor, Tensor]
          expectNear(matmul(x, y), product(a, b), {})
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('a column and a row, and the identity', () => {
  fc.assert(
    fc.property(laidOut([5, 5], exactNumbers), (x) => {
      const identity = generate([5, 5], ([i, j]) => Number(i === j))
      const eye = tensor([...identity.data], { shape: [5, 5], dtype: 'float64' })
      expectNear(matmul(x.make('float64'), eye), x.dense, {})
      expectNear(matmul(eye, x.make('float64')), x.dense, {})
    }),
  )
})

test('operands promote to their common dtype', () => {
  const pairs: [DType, DType, DType][] = [
    ['float32', 'float64', 'float64'],
    ['int32', 'float32', 'float32'],
    ['float64', 'bool', 'float64'],
  ]
  for (const [left, right, common] of pairs) {
    const result = matmul(tensor([[1, 0]], { dtype: left }), tensor([[1], [1]], { dtype: right }))
    expectNear(result, tensor([[1]], { dtype: common }), {})
  }
})

test('linear is x Wᵀ + b', () => {
  fc.assert(
    fc.property(
      fc
        .tuple(fc.array(sizes(), { maxLength: 2 }), sizes(), sizes())
        .chain(([batch, inputs, out]) =>
          fc.tuple(
            laidOut([...batch, inputs], exactNumbers),
            laidOut([out, inputs], exactNumbers),
            laidOut([out], exactNumbers),
          ),
        ),
      ([x, weight, bias]) => {
        const [X, W, b] = [x.make('float64'), weight.make('float64'), bias.make('float64')]
        expectNear(linear(X, W), matmul(X, W.transpose()), {})
        expectNear(linear(X, W, b), linear(X, W).add(b), {})
      },
    ),
  )
})

test('the gradients are g · bᵀ and aᵀ · g, summed over broadcast batches', () => {
  fc.assert(
    fc.property(
      matrices.chain(([a, b]) =>
        fc.tuple(fc.constant(a), fc.constant(b), denseWith(product(a.dense, b.dense).shape, exactNumbers)),
      ),
      ([a, b, cotangent]) => {
        const [x, y] = [a.make('float64').clone().requiresGrad_(), b.make('float64').clone().requiresGrad_()]
        matmul(x, y).backward(tensor([...cotangent.data], { shape: cotangent.shape, dtype: 'float64' }))
        const towardsA = product(cotangent, permute(b.dense, swapped(b.dense)))
        const towardsB = product(permute(a.dense, swapped(a.dense)), cotangent)
        // A batch of several with an empty one contributes nothing: sums of nothing are 0.
        expectNear(gradOf(x), sumTo(towardsA, a.dense.shape), {})
        expectNear(gradOf(y), sumTo(towardsB, b.dense.shape), {})
      },
    ),
    { numRuns: 60 },
  )
})

test('the gradients with vectors are those with matrices of one row or column', () => {
  fc.assert(
    fc.property(vectors, ([a, b]) => {
      if (sizeOf(a.dense.shape) * sizeOf(b.dense.shape) === 0) return
      const gradients = (asMatrices: boolean) => {
        const [x, y] = [a.make('float64').clone().requiresGrad_(), b.make('float64').clone().requiresGrad_()]
        const left = asMatrices && x.ndim === 1 ? x.unsqueeze(0) : x
        const right = asMatrices && y.ndim === 1 ? y.unsqueeze(1) : y
        matmul(left, right).square().sum().backward()
        return [gradOf(x), gradOf(y)] as const
      }
      const [plain, matrix] = [gradients(false), gradients(true)]
      expectNear(plain[0], matrix[0], {})
      expectNear(plain[1], matrix[1], {})
    }),
  )
})
