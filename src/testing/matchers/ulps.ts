import type { DType } from '../../core/dtype.js'

const cell = new DataView(new ArrayBuffer(8))

/** Place of a number among all those of a floating dtype, in their order; both zeros stand at 0. */
function placeOf(value: number, dtype: DType): bigint {
  if (dtype === 'float32') {
    cell.setFloat32(0, value)
    const bits = cell.getInt32(0)
    return BigInt(bits < 0 ? -(bits & 0x7fffffff) : bits)
  }
  cell.setFloat64(0, value)
  const bits = cell.getBigInt64(0)
  return bits < 0n ? -(bits & 0x7fff_ffff_ffff_ffffn) : bits
}

/** How many steps from one number to the next of the dtype lead from a to b; NaN where either is. */
export function ulpsBetween(a: number, b: number, dtype: DType): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN
  const steps = placeOf(a, dtype) - placeOf(b, dtype)
  return Number(steps < 0n ? -steps : steps)
}
