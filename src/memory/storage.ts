import { bytesOf, type DType, type TypedArray } from '../core/dtype.js'
import { classOf } from './blocks.js'

/**
 * Where the numbers of one or more tensors live. Their home is the JavaScript heap, their place of work the linear
 * memory: `address` is set while they are there, `home` once they have been written back. A storage belongs to the
 * arena; everything else asks through `addressOf`, `allocate` and the scopes.
 */
export class Storage {
  /** Place in linear memory; 0 while not there. */
  address = 0
  /** The same numbers on the JavaScript heap, where they have been written back and not changed since. */
  home: TypedArray | readonly number[] | null = null
  /** Size of the numbers. */
  readonly bytes: number
  /** Size class of the block in linear memory. */
  readonly blockClass: number
  /** Place in the arena's list of storages that are in linear memory. */
  slot = -1
  /** The operation that last used these numbers. */
  lastUse = 0
  /** The tick of the last change in place; 0 for never. */
  changedAt = 0
  /** How many tape entries, pending cotangents and gradients hold these numbers. */
  owners = 0
  /** Whether a tensor over these numbers has been handed to the user, who may hold it for ever. */
  escaped = false
  /** Whether an open scope lists this storage. */
  scoped = false

  constructor(
    readonly dtype: DType,
    readonly length: number,
  ) {
    this.bytes = length * bytesOf(dtype)
    this.blockClass = classOf(this.bytes)
  }
}
