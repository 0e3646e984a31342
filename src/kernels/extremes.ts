// Maxima and minima down the columns of an array (given as in sums.ts) of at least one row. NaN wins over every number.
import { loadUpTo } from "./partial";
import { lanes } from "./simd";

/** The maxima, or the minima if `smallest`. */
export function columnExtremes<T>(x: usize, count: i32, stride: usize, width: i32, smallest: bool): v128 {
  // All signs are flipped on the way in and on the way out, which makes a minimum of a maximum.
  const flip = smallest ? v128.splat<T>(-<T>0) : i64x2(0, 0);
  const row = width == 1 && stride == sizeof<T>();
  const filled = row ? lanes<T>() : width;
  const step: usize = row ? 16 : stride;
  let extreme = v128.xor(loadUpTo<T>(x, width, v128.load_splat<T>(x)), flip);
  // A mask of NaNs, itself a NaN where it is set: cheaper than a maximum that lets NaN through.
  let invalid = i64x2(0, 0);
  for (let left = row ? count / lanes<T>() : count; left > 0; left--, x += step) {
    const value = v128.xor(loadUpTo<T>(x, filled, flip), flip);
    extreme = v128.pmax<T>(extreme, value);
    invalid = v128.or(invalid, v128.ne<T>(value, value));
  }
  extreme = v128.or(extreme, invalid);
  if (row) {
    for (let rest = count % lanes<T>(); rest > 0; rest--, x += sizeof<T>()) {
      extreme = v128.max<T>(extreme, v128.xor(v128.load_splat<T>(x), flip));
    }
    extreme = v128.max<T>(extreme, v128.shuffle<f64>(extreme, extreme, 1, 0));
    if (sizeof<T>() == 4) extreme = v128.max<T>(extreme, v128.shuffle<T>(extreme, extreme, 1, 0, 3, 2));
  }
  return v128.xor(extreme, flip);
}
