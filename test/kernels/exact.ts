// Exact arithmetic with doubles: each is an integer multiple of 2^-1074.

/** The integer x · 2^1074 for a finite x. */
export function toInteger(x: number): bigint {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, x)
  const word = bits.getBigUint64(0)
  const exponent = (word >> 52n) & 0x7ffn
  const fraction = word & 0xfffffffffffffn
  const magnitude = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n)
  return word >> 63n === 1n ? -magnitude : magnitude
}

/** 2^1074 as an integer: what `toInteger` makes of 1. */
export const ONE = 1n << 1074n

export function magnitude(x: bigint): bigint {
  return x < 0n ? -x : x
}
