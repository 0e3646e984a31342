// Roughly how long kernels take, to tell which work is large enough for threads. Measured on one core of an AMD EPYC,
// float32, in nanoseconds for each byte of the largest operand; a factor of two in either direction does no harm.
const NANOSECONDS: Readonly<Record<string, number>> = {
  // Functions of one operand.
  exp: 0.15,
  expm1: 0.3,
  log: 0.3,
  log1p: 0.35,
  sin: 0.75,
  cos: 0.75,
  tanh: 0.45,
  sigmoid: 0.22,
  gelu: 0.22,
  geluTanh: 0.25,
  silu: 0.22,
  softplus: 0.75,
  erf: 0.6,
  geluBackward: 0.45,
  geluTanhBackward: 0.5,
  siluBackward: 0.4,
  softplusBackward: 0.3,
  erfBackward: 0.2,
  // Functions of two.
  pow: 5,
  atan2: 7,
  equal: 0.18,
  notEqual: 0.18,
  less: 0.18,
  lessOrEqual: 0.18,
  select: 0.3,
  // Rows.
  softmax: 0.22,
  softmaxBackward: 0.15,
  logSoftmax: 0.25,
  logSoftmaxBackward: 0.25,
  logsumexp: 0.2,
  crossEntropy: 0.2,
  crossEntropyBackward: 0.2,
  normalise: 0.1,
  normaliseBackward: 0.15,
  normaliseProduct: 0.15,
  // Reductions.
  sum: 0.03,
  max: 0.045,
  min: 0.045,
  variance: 0.14,
  prod: 0.2,
  argmax: 0.3,
  argmin: 0.3,
  // Updates of parameters.
  adam: 0.3,
  rmsprop: 0.3,
  sgd: 0.12,
  // Random numbers.
  randomUniform: 0.5,
  randomNormal: 2.9,
  randomInteger: 1,
}

/** Those that move as fast as memory does. */
const MOVING = 0.08

/** Nanoseconds that a kernel of a family takes for each byte of its largest operand, roughly. */
export function nanosecondsPerByte(family: string): number {
  return NANOSECONDS[family] ?? MOVING
}
