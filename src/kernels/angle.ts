// The angle of a point (x, y), value by value; operands are walked as in binary.ts. The formula is that of the standard
// library (musl's atan2, within 1 ulp in float64); float32 is computed in float64 and rounded once.
import { advance, offsetOf, outerSteps } from "./layout";

@inline
function angle<T>(y: usize, x: usize, out: usize, n: i32, strideY: i32, strideX: i32, layout: usize): void {
  let steps = outerSteps(layout);
  const stepY = <usize>strideY << alignof<T>();
  const stepX = <usize>strideX << alignof<T>();
  let rowY = y;
  let rowX = x;
  while (steps > 0) {
    for (let i = 0; i < n; i++, rowY += stepY, rowX += stepX, out += sizeof<T>()) {
      store<T>(out, <T>NativeMath.atan2(<f64>load<T>(rowY), <f64>load<T>(rowX)));
    }
    if (--steps == 0) break;
    advance(layout);
    rowY = y + offsetOf<T>(layout, 0);
    rowX = x + offsetOf<T>(layout, 1);
  }
}

export function atan2_f32(y: usize, x: usize, out: usize, n: i32, strideY: i32, strideX: i32, layout: usize): void {
  angle<f32>(y, x, out, n, strideY, strideX, layout);
}

export function atan2_f64(y: usize, x: usize, out: usize, n: i32, strideY: i32, strideX: i32, layout: usize): void {
  angle<f64>(y, x, out, n, strideY, strideX, layout);
}
