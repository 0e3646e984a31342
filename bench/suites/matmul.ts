import { type DType, randn, type Tensor } from 'wengert'
import type { Case, Suite } from '../suite.js'

type Float = 'float32' | 'float64'
const BYTES: Readonly<Record<Float, number>> = { float32: 4, float64: 8 }

const matrix = (rows: number, columns: number, dtype: DType = 'float32') => randn([rows, columns], { dtype })

/** A product that arithmetic bounds: m × k by k × n, `batch` times. */
function product(a: Tensor, b: Tensor, m: number, k: number, n: number, dtype: Float = 'float32', batch = 1): Case {
  return { run: () => a.matmul(b), flops: 2 * batch * m * k * n, dtype }
}

const square = (sizes: readonly number[], make: (n: number) => Case): Suite =>
  Object.fromEntries(sizes.map((n) => [`${n} × ${n}`, make(n)]))

const SIZES = [16, 32, 64, 127, 128, 256, 512, 1000, 1024]
const LARGE = [64, 256, 1024]

/** A product with few columns or rows: the large matrix is read once, which bounds it. */
function skinny(a: Tensor, b: Tensor, n: number): Case {
  return { run: () => a.matmul(b), bytes: n * n * BYTES.float32 }
}

export const matmulSuites: Readonly<Record<string, () => Suite>> = {
  matmul: () => square(SIZES, (n) => product(matrix(n, n), matrix(n, n), n, n, n)),
  'matmul, second operand transposed': () =>
    square(LARGE, (n) => product(matrix(n, n), matrix(n, n).transpose(), n, n, n)),
  'matmul, first operand transposed': () =>
    square(LARGE, (n) => product(matrix(n, n).transpose(), matrix(n, n), n, n, n)),
  'matmul, both operands transposed': () =>
    square(LARGE, (n) => product(matrix(n, n).transpose(), matrix(n, n).transpose(), n, n, n)),
  'matmul float64': () =>
    square(LARGE, (n) => product(matrix(n, n, 'float64'), matrix(n, n, 'float64'), n, n, n, 'float64')),
  'matmul, skinny': () =>
    Object.fromEntries(
      [1024, 4096].flatMap((n) => {
        const large = matrix(n, n)
        return [
          [`${n} × ${n} by ${n} × 1`, skinny(large, matrix(n, 1), n)],
          [`1 × ${n} by ${n} × ${n}`, skinny(matrix(1, n), large, n)],
          [`${n} × ${n} by ${n} × 4`, skinny(large, matrix(n, 4), n)],
        ]
      }),
    ),
  'matmul, batches of small ones': () => {
    const [a, b] = [randn([4, 16, 8]), randn([4, 8, 16])]
    const [many, more] = [randn([64, 16, 8]), randn([64, 8, 16])]
    return {
      '4 of 16 × 8 by 8 × 16': product(a, b, 16, 8, 16, 'float32', 4),
      '4 of 16 × 8 by 16 × 8 transposed': product(a, randn([4, 16, 8]).transpose(), 16, 8, 16, 'float32', 4),
      '64 of 16 × 8 by 8 × 16': product(many, more, 16, 8, 16, 'float32', 64),
    }
  },
}
