// Matrix products with many summands in float32.
import type { DType } from '../core/dtype.js'
import type { Shape } from '../core/shape.js'
import { Tensor } from '../core/tensor.js'
import { add } from './arithmetic.js'
import { detach } from './copy.js'
import { slice } from './joining.js'
import { sum } from './sum.js'

/** So many summands make it worthwhile. */
const LONG = 2 ** 14
/** So many are added up at once: the kernel's error grows with their number. */
const PIECE = 256

/** Whether a product of this shape is better made in pieces: of two matrices, many summands, few results for each. */
export function isLong(dtype: DType, shape: Shape, inner: number): boolean {
  if (inner < LONG || dtype !== 'float32' || shape.length !== 2) return false
  const [rows, columns] = shape as readonly [number, number]
  return rows * columns * (inner / PIECE) <= inner * (rows + columns)
}

/** The product in pieces, which are added up without adding to the error. */
export function inPieces(a: Tensor, b: Tensor, multiply: (a: Tensor, b: Tensor) => Tensor): Tensor {
  const [rows, inner] = a.shape as readonly [number, number]
  const columns = b.shape[1] as number
  const count = Math.floor(inner / PIECE)
  const [aRow, aColumn] = a.strides ?? [inner, 1]
  const [bRow, bColumn] = b.strides ?? [columns, 1]
  const left = new Tensor(
    a.storage,
    [count, rows, PIECE],
    [PIECE * (aColumn as number), aRow as number, aColumn as number],
  )
  const right = new Tensor(
    b.storage,
    [count, PIECE, columns],
    [PIECE * (bRow as number), bRow as number, bColumn as number],
  )
  const whole = sum(multiply(left, right), { axis: 0 })
  const end = count * PIECE
  return end === inner ? whole : add(whole, multiply(slice(detach(a), [0, end]), slice(detach(b), [end])))
}
