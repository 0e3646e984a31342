// The order of values: stable merge sort of positions along the rows of a contiguous [rows, count] array. NaN counts as
// larger than every number.

/** Whether the value at position p comes strictly before that at q. */
@inline
function precedes<T>(row: usize, p: i32, q: i32, descending: i32): bool {
  const x = load<T>(row + (<usize>p << alignof<T>()));
  const y = load<T>(row + (<usize>q << alignof<T>()));
  if (descending) return x > y || (x != x && y == y);
  return x < y || (y != y && x == x);
}

/** Merges the sorted runs [start, middle) and [middle, end) of `from` into `to`. */
@inline
function merge<T>(row: usize, from: usize, to: usize, start: i32, middle: i32, end: i32, descending: i32): void {
  let left = start;
  let right = middle;
  for (let k = start; k < end; k++) {
    let takeRight = left >= middle;
    if (!takeRight && right < end) {
      takeRight = precedes<T>(row, load<i32>(from + 4 * right), load<i32>(from + 4 * left), descending);
    }
    store<i32>(to + 4 * k, load<i32>(from + 4 * (takeRight ? right++ : left++)));
  }
}

/** out[r] = the positions 0 ... count - 1 in the order of x[r]; `scratch` has room for `count` i32. */
function argsort<T>(x: usize, out: usize, scratch: usize, rows: i32, count: i32, descending: i32): void {
  for (; rows > 0; rows--, x += <usize>count * sizeof<T>(), out += 4 * count) {
    for (let k = 0; k < count; k++) store<i32>(out + 4 * k, k);
    let from = out;
    let to = scratch;
    for (let width = 1; width < count; width <<= 1) {
      for (let start = 0; start < count; start += 2 * width) {
        const middle = min(start + width, count);
        merge<T>(x, from, to, start, middle, min(middle + width, count), descending);
      }
      const swap = from;
      from = to;
      to = swap;
    }
    if (from != out) memory.copy(out, from, 4 * <usize>count);
  }
}

export function argsort_f32(x: usize, out: usize, scratch: usize, rows: i32, count: i32, descending: i32): void {
  argsort<f32>(x, out, scratch, rows, count, descending);
}

export function argsort_f64(x: usize, out: usize, scratch: usize, rows: i32, count: i32, descending: i32): void {
  argsort<f64>(x, out, scratch, rows, count, descending);
}

export function argsort_i32(x: usize, out: usize, scratch: usize, rows: i32, count: i32, descending: i32): void {
  argsort<i32>(x, out, scratch, rows, count, descending);
}
