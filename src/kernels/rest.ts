// The ends of arrays and rows, where a vector may be partly filled: nothing beyond the first `width` values is read or
// written. Small rather than fast (for columns that are narrow throughout, see partial.ts).
import { lanes } from "./simd";

/** The lanes that memory does not fill have `fill`, which is the same in all lanes. */
@inline
export function loadUpTo<T>(address: usize, width: i32, fill: v128): v128 {
  return width >= lanes<T>() ? v128.load(address) : loadRest(address, address + <usize>width * sizeof<T>(), fill);
}

@inline
export function storeUpTo<T>(address: usize, v: v128, width: i32): void {
  if (width >= lanes<T>()) v128.store(address, v);
  else storeRest(address, address + <usize>width * sizeof<T>(), v);
}

// The 32-bit pieces of an incomplete vector, whatever they hold, one after another: one small function for all types.
function loadRest(address: usize, end: usize, fill: v128): v128 {
  if (address == end) return fill;
  const rest = loadRest(address + 4, end, fill);
  return i32x4.replace_lane(v128.shuffle<i32>(rest, rest, 0, 0, 1, 2), 0, load<i32>(address));
}

function storeRest(address: usize, end: usize, v: v128): void {
  if (address == end) return;
  store<i32>(address, i32x4.extract_lane(v, 0));
  storeRest(address + 4, end, v128.shuffle<i32>(v, v, 1, 2, 3, 3));
}
