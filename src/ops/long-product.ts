// Matrix products with many summands in float32.
import { sizeOf } from '../core/shape.js'
import { Tensor } from '../core/tensor.js'
import { add } from './arithmetic.js'
import { detach } from './copy.js'
import { slice } from './joining.js'
import { sum } from './sum.js'

/** So many summands make it worthwhile. */
const LONG = 2 ** 14
/** So many are added up at once: the kernel's error grows with their number. */
const PIECE = 256

/** Whether a product of two matrices is better made in pieces: it has many summands, and few results for each. */
export function isLong(a: Tensor, b: Tensor): boolean {
  const inner = a.shape[1] as number
  if (a.dtype !== 'float32' || a.ndim !== 2 || b.ndim !== 2 || inner < LONG) return false
  const results = (a.shape[0] as number) * (b.shape[1] as number)
  return results * (inner / PIECE) <= sizeOf(a.shape) + sizeOf(b.shape)
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
