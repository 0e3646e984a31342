// Sizes of blocks. Small ones are multiples of 16 bytes; larger ones take one of eight sizes between two powers of
// two, so that a freed block serves the next value of about its size and at most an eighth of it is unused.

const GRAIN = 16
const SMALL_LIMIT = 1024
const SMALL_CLASSES = SMALL_LIMIT / GRAIN

/** The class of a block that holds `bytes` bytes. */
export function classOf(bytes: number): number {
  if (bytes <= SMALL_LIMIT) return bytes === 0 ? 0 : (bytes - 1) >>> 4
  const exponent = 31 - Math.clz32(bytes - 1)
  return SMALL_CLASSES + (exponent - 10) * 8 + (((bytes - 1) >>> (exponent - 3)) & 7)
}

/** The bytes that a block of this class has. */
export function capacityOf(blockClass: number): number {
  if (blockClass < SMALL_CLASSES) return (blockClass + 1) * GRAIN
  const large = blockClass - SMALL_CLASSES
  return (9 + (large & 7)) * 2 ** (7 + (large >>> 3))
}

/** Number of classes, up to blocks of 4 GiB. */
export const CLASSES = classOf(0xffffffff) + 1
