// Updates of large parameters, in pieces that threads share.
import type { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces, isShared } from '../runtime/threads.js'
import type { UpdateCall } from './rule.js'

type Place = Pick<UpdateCall<unknown>, 'suffix' | 'count'>

function costOf(family: KernelFamily, { suffix, count }: Place): number {
  return family.nanosecondsPerByte * (suffix === 'f32' ? 4 : 8) * count
}

/** Whether an update is to be made by `updateInPieces`. */
export function isUpdateShared(family: KernelFamily, place: Place): boolean {
  return isShared(costOf(family, place))
}

/** Calls a kernel `(...addresses, count, ...settings)` in pieces; addresses of 0 stay 0. */
export function updateInPieces(
  family: KernelFamily,
  place: Place,
  addresses: readonly number[],
  settings: readonly number[],
): void {
  const { suffix, count } = place
  const bytes = suffix === 'f32' ? 4 : 8
  const piece = (from: number, to: number) => [
    ...addresses.map((address) => (address === 0 ? 0 : address + from * bytes)),
    ...[to - from, ...settings],
  ]
  inPieces(family, suffix, { units: count, multiple: ELEMENTS, nanoseconds: costOf(family, place), piece })
}
