// Vectors that may be partly filled, as the last ones of a row are: nothing beyond the first `width` values, at least
// one, is read or written.
import { lanes } from "./simd";

/** The lanes that memory does not fill keep what `fill` has there. */
@inline
export function loadUpTo<T>(address: usize, width: i32, fill: v128): v128 {
  return width >= lanes<T>() ? v128.load(address) : loadPartial<T>(address, width, fill);
}

@inline
export function storeUpTo<T>(address: usize, v: v128, width: i32): void {
  if (width >= lanes<T>()) v128.store(address, v);
  else storePartial<T>(address, v, width);
}

@inline
export function loadPartial<T>(address: usize, width: i32, fill: v128): v128 {
  let v = v128.load_lane<T>(address, fill, 0);
  if (sizeof<T>() == 4) {
    if (width > 1) v = v128.load_lane<T>(address, v, 1, 4);
    if (width > 2) v = v128.load_lane<T>(address, v, 2, 8);
  }
  return v;
}

@inline
export function storePartial<T>(address: usize, v: v128, width: i32): void {
  v128.store_lane<T>(address, v, 0);
  if (sizeof<T>() == 4) {
    if (width > 1) v128.store_lane<T>(address, v, 1, 4);
    if (width > 2) v128.store_lane<T>(address, v, 2, 8);
  }
}
