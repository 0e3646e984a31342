// Roughly how long kernels take, to tell which work is large enough for threads. Measured on one core of an AMD EPYC,
// float32, in nanoseconds for each byte of the largest operand; a factor of two in either direction does no harm.
const NANOSECONDS: Readonly<Record<string, number>> = {
  // Functions of one operand.
  exp: 0.2,
  expm1: 0.28,
  log: 0.33,
  log1p: 0.35,
  sin: 0.75,
  cos: 0.75,
  tanh: 0.5,
  sigmoid: 0.35,
  gelu: 0.5,
  geluTanh: 0.5,
  silu: 0.38,
  softplus: 0.8,
  erf: 0.7,
  geluBackward: 0.5,
  geluTanhBackward: 0.6,
  siluBackward: 0.4,
  softplusBackward: 0.4,
  erfBackward: 0.25,
  // Functions of two.
  pow: 5,
  atan2: 5,
  equal: 0.2,
  notEqual: 0.2,
  less: 0.2,
  lessOrEqual: 0.2,
  select: 0.25,
  // Rows.
  softmax: 0.35,
  softmaxBackward: 0.15,
  logSoftmax: 0.38,
  logSoftmaxBackward: 0.35,
  logsumexp: 0.3,
  // Reductions.
  sum: 0.03,
  max: 0.045,
  min: 0.045,
  variance: 0.14,
  prod: 0.2,
  argmax: 0.3,
  argmin: 0.3,
  // Random numbers.
  randomUniform: 0.5,
  randomNormal: 2.9,
  randomInteger: 0.6,
}

/** Those that move as fast as memory does. */
const MOVING = 0.08

/** Nanoseconds that a kernel of a family takes for each byte of its largest operand, roughly. */
export function nanosecondsPerByte(family: string): number {
  return NANOSECONDS[family] ?? MOVING
}
