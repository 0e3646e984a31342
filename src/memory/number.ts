import type { DType } from '../core/dtype.js'
import { numberAddress } from './arena.js'
import { viewOf } from './heap.js'

/** The address of a number that the next kernel takes as an operand; valid until this is called again. */
export function placeNumber(value: number, dtype: DType): number {
  const view = viewOf(dtype)
  view[numberAddress / view.BYTES_PER_ELEMENT] = value
  return numberAddress
}
