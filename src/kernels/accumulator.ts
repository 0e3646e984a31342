// Sums that lose next to nothing. A running sum is two vectors, both zero at the start:
//   float32: `first` has the sums of lanes 0 and 1 as doubles, `second` those of lanes 2 and 3;
//   float64: `first` has the sum of each lane, `second` what its roundings have lost so far (the algorithm Sum2 of
//   Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), with Knuth's TwoSum).

/** Lanes 2 and 3 of four floats as doubles. */
@inline
export function promoteHigh(value: v128): v128 {
  return f64x2.promote_low_f32x4(v128.shuffle<f64>(value, value, 1, 1));
}

/** `first` after a vector was added. */
@inline
export function addToFirst<T>(first: v128, value: v128): v128 {
  return f64x2.add(first, sizeof<T>() == 4 ? f64x2.promote_low_f32x4(value) : value);
}

/** `second` after a vector was added; takes `first` as it was before. */
@inline
export function addToSecond<T>(second: v128, first: v128, value: v128): v128 {
  if (sizeof<T>() == 4) return f64x2.add(second, promoteHigh(value));
  const sum = f64x2.add(first, value);
  const added = f64x2.sub(sum, first);
  const lost = f64x2.add(f64x2.sub(first, f64x2.sub(sum, added)), f64x2.sub(value, added));
  return f64x2.add(second, lost);
}

/** The sum of each lane, as values of T. */
@inline
export function sums<T>(first: v128, second: v128): v128 {
  if (sizeof<T>() == 4) {
    return v128.shuffle<f64>(f32x4.demote_f64x2_zero(first), f32x4.demote_f64x2_zero(second), 0, 2);
  }
  // Where a sum is infinite, what was lost is NaN and left out.
  return f64x2.add(first, v128.and(second, f64x2.eq(second, second)));
}

/** The sum of all lanes. */
@inline
export function total<T>(first: v128, second: v128): f64 {
  if (sizeof<T>() == 4) {
    const sum = f64x2.add(first, second);
    return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
  }
  // The sum of the two lanes is one more whose rounding must not be lost.
  const other = v128.shuffle<f64>(first, first, 1, 0);
  const lost = f64x2.add(second, v128.shuffle<f64>(second, second, 1, 0));
  return f64x2.extract_lane(sums<f64>(f64x2.add(first, other), addToSecond<f64>(lost, first, other)), 0);
}
