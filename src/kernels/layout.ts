// Walking the outer dimensions of a strided operation. The caller writes a block of i32 words,
//   [dimensions, steps, offset0, offset1, offset2, then for each dimension, outermost first:
//    counter, size, stride0, stride1, stride2],
// offsets and strides in elements, offsets and counters zero, `steps` the product of the sizes. `advance` moves the
// three offsets to the next position in row-major order.

const HEADER: usize = 20;
const DIMENSION: usize = 20;

/** How many positions the outer dimensions have; 1 where there is no block (address 0). */
@inline
export function outerSteps(layout: usize): i32 {
  return layout == 0 ? 1 : load<i32>(layout, 4);
}

/** The present offset of an operand (0, 1 or 2) in bytes of T. */
@inline
export function offsetOf<T>(layout: usize, operand: usize): usize {
  return <usize>load<i32>(layout + 4 * operand, 8) * sizeof<T>();
}

export function advance(layout: usize): void {
  let dimension = layout + HEADER + <usize>(load<i32>(layout) - 1) * DIMENSION;
  for (; dimension >= layout + HEADER; dimension -= DIMENSION) {
    const counter = load<i32>(dimension) + 1;
    const size = load<i32>(dimension, 4);
    const rewind = counter == size ? size - 1 : -1;
    for (let operand: usize = 0; operand < 12; operand += 4) {
      const stride = load<i32>(dimension + operand, 8);
      const offset = load<i32>(layout + operand, 8);
      store<i32>(layout + operand, rewind < 0 ? offset + stride : offset - rewind * stride, 8);
    }
    if (rewind < 0) {
      store<i32>(dimension, counter);
      return;
    }
    store<i32>(dimension, 0);
  }
}
