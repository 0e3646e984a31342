// Steps of the optimisers, in place over a parameter, its gradient and its state, n contiguous values of each. Products
// and sums are rounded apart in both builds: these loops wait for memory, and so give the same bits everywhere.
import { loadUpTo, storeUpTo } from "./partial";
import { lanes } from "./simd";

@inline
function splat<T>(value: f64): v128 {
  return v128.splat<T>(<T>value);
}

/** a · x + b · y. */
@inline
function combine<T>(a: v128, x: v128, b: v128, y: v128): v128 {
  return v128.add<T>(v128.mul<T>(a, x), v128.mul<T>(b, y));
}

/** g + decay · x, the gradient with that of decay · |x|²/2; g itself for a decay of 0, also where x is infinite. */
@inline
function decayed<T>(g: v128, x: v128, decay: f64): v128 {
  return decay == 0 ? g : v128.add<T>(g, v128.mul<T>(splat<T>(decay), x));
}

/**
 * d = g + weightDecay · x; b = momentum · b + share · d; x = x - rate · (d + momentum · b with `nesterov`, else b).
 * Without momentum, at address 0, x = x - rate · d.
 */
@inline
function sgd<T>(
  parameter: usize,
  gradient: usize,
  momentumBuffer: usize,
  n: i32,
  rate: f64,
  momentum: f64,
  share: f64,
  weightDecay: f64,
  nesterov: i32,
): void {
  const zero = i64x2.splat(0);
  for (; n > 0; n -= lanes<T>()) {
    const x = loadUpTo<T>(parameter, n, zero);
    let d = decayed<T>(loadUpTo<T>(gradient, n, zero), x, weightDecay);
    if (momentumBuffer != 0) {
      const b = combine<T>(splat<T>(momentum), loadUpTo<T>(momentumBuffer, n, zero), splat<T>(share), d);
      storeUpTo<T>(momentumBuffer, b, n);
      d = nesterov ? v128.add<T>(d, v128.mul<T>(splat<T>(momentum), b)) : b;
      momentumBuffer += 16;
    }
    storeUpTo<T>(parameter, v128.sub<T>(x, v128.mul<T>(splat<T>(rate), d)), n);
    parameter += 16;
    gradient += 16;
  }
}

/**
 * x = keep · x; d = g + weightDecay · x; m = beta1 · m + (1 - beta1) · d; v = beta2 · v + (1 - beta2) · d²;
 * x = x - rate · m / (√v / root + eps).
 */
@inline
function adam<T>(
  parameter: usize,
  gradient: usize,
  first: usize,
  second: usize,
  n: i32,
  rate: f64,
  beta1: f64,
  beta2: f64,
  root: f64,
  eps: f64,
  weightDecay: f64,
  keep: f64,
): void {
  const zero = i64x2.splat(0);
  for (; n > 0; n -= lanes<T>()) {
    const x = v128.mul<T>(splat<T>(keep), loadUpTo<T>(parameter, n, zero));
    const d = decayed<T>(loadUpTo<T>(gradient, n, zero), x, weightDecay);
    const m = combine<T>(splat<T>(beta1), loadUpTo<T>(first, n, zero), splat<T>(1 - beta1), d);
    const square = v128.mul<T>(d, d);
    const v = combine<T>(splat<T>(beta2), loadUpTo<T>(second, n, zero), splat<T>(1 - beta2), square);
    storeUpTo<T>(first, m, n);
    storeUpTo<T>(second, v, n);
    const divisor = v128.add<T>(v128.div<T>(v128.sqrt<T>(v), splat<T>(root)), splat<T>(eps));
    storeUpTo<T>(parameter, v128.sub<T>(x, v128.div<T>(v128.mul<T>(splat<T>(rate), m), divisor)), n);
    parameter += 16;
    gradient += 16;
    first += 16;
    second += 16;
  }
}

/**
 * d = g + weightDecay · x; s = alpha · s + (1 - alpha) · d²; r = √s, or, centred, √(s - a²) with
 * a = alpha · a + (1 - alpha) · d; b = momentum · b + d / (r + eps); x = x - rate · b. Centred where the address of a is
 * not 0; without momentum, at address 0, b = d / (r + eps).
 */
@inline
function rmsprop<T>(
  parameter: usize,
  gradient: usize,
  squareAverage: usize,
  momentumBuffer: usize,
  gradientAverage: usize,
  n: i32,
  rate: f64,
  alpha: f64,
  eps: f64,
  weightDecay: f64,
  momentum: f64,
): void {
  const zero = i64x2.splat(0);
  const rest = 1 - alpha;
  for (; n > 0; n -= lanes<T>()) {
    const x = loadUpTo<T>(parameter, n, zero);
    const d = decayed<T>(loadUpTo<T>(gradient, n, zero), x, weightDecay);
    const square = v128.mul<T>(d, d);
    const s = combine<T>(splat<T>(alpha), loadUpTo<T>(squareAverage, n, zero), splat<T>(rest), square);
    storeUpTo<T>(squareAverage, s, n);
    let spread = s;
    if (gradientAverage != 0) {
      const a = combine<T>(splat<T>(alpha), loadUpTo<T>(gradientAverage, n, zero), splat<T>(rest), d);
      storeUpTo<T>(gradientAverage, a, n);
      spread = v128.sub<T>(s, v128.mul<T>(a, a));
      gradientAverage += 16;
    }
    let b = v128.div<T>(d, v128.add<T>(v128.sqrt<T>(spread), splat<T>(eps)));
    if (momentumBuffer != 0) {
      b = v128.add<T>(v128.mul<T>(splat<T>(momentum), loadUpTo<T>(momentumBuffer, n, zero)), b);
      storeUpTo<T>(momentumBuffer, b, n);
      momentumBuffer += 16;
    }
    storeUpTo<T>(parameter, v128.sub<T>(x, v128.mul<T>(splat<T>(rate), b)), n);
    parameter += 16;
    gradient += 16;
    squareAverage += 16;
  }
}

export function sgd_f32(
  parameter: usize,
  gradient: usize,
  momentumBuffer: usize,
  n: i32,
  rate: f64,
  momentum: f64,
  share: f64,
  weightDecay: f64,
  nesterov: i32,
): void {
  sgd<f32>(parameter, gradient, momentumBuffer, n, rate, momentum, share, weightDecay, nesterov);
}

export function sgd_f64(
  parameter: usize,
  gradient: usize,
  momentumBuffer: usize,
  n: i32,
  rate: f64,
  momentum: f64,
  share: f64,
  weightDecay: f64,
  nesterov: i32,
): void {
  sgd<f64>(parameter, gradient, momentumBuffer, n, rate, momentum, share, weightDecay, nesterov);
}

export function adam_f32(
  parameter: usize,
  gradient: usize,
  first: usize,
  second: usize,
  n: i32,
  rate: f64,
  beta1: f64,
  beta2: f64,
  root: f64,
  eps: f64,
  weightDecay: f64,
  keep: f64,
): void {
  adam<f32>(parameter, gradient, first, second, n, rate, beta1, beta2, root, eps, weightDecay, keep);
}

export function adam_f64(
  parameter: usize,
  gradient: usize,
  first: usize,
  second: usize,
  n: i32,
  rate: f64,
  beta1: f64,
  beta2: f64,
  root: f64,
  eps: f64,
  weightDecay: f64,
  keep: f64,
): void {
  adam<f64>(parameter, gradient, first, second, n, rate, beta1, beta2, root, eps, weightDecay, keep);
}

export function rmsprop_f32(
  parameter: usize,
  gradient: usize,
  squareAverage: usize,
  momentumBuffer: usize,
  gradientAverage: usize,
  n: i32,
  rate: f64,
  alpha: f64,
  eps: f64,
  weightDecay: f64,
  momentum: f64,
): void {
  rmsprop<f32>(
    parameter,
    gradient,
    squareAverage,
    momentumBuffer,
    gradientAverage,
    n,
    rate,
    alpha,
    eps,
    weightDecay,
    momentum,
  );
}

export function rmsprop_f64(
  parameter: usize,
  gradient: usize,
  squareAverage: usize,
  momentumBuffer: usize,
  gradientAverage: usize,
  n: i32,
  rate: f64,
  alpha: f64,
  eps: f64,
  weightDecay: f64,
  momentum: f64,
): void {
  rmsprop<f64>(
    parameter,
    gradient,
    squareAverage,
    momentumBuffer,
    gradientAverage,
    n,
    rate,
    alpha,
    eps,
    weightDecay,
    momentum,
  );
}
