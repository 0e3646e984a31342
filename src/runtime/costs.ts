// Roughly how long kernels take, to tell which work is large enough for threads. Measured on one core of an AMD EPYC,
// float32, in nanoseconds for each byte of the largest operand; a factor of two in either direction does no harm.
const NANOSECONDS: Readonly<Record<string, number>> = {
  // Functions of one operand.
  exp: 0.12,
  expm1: 0.16,
  log: 0.16,
  log1p: 0.2,
  sin: 0.5,
  cos: 0.5,
  tanh: 0.3,
  sigmoid: 0.22,
  gelu: 0.3,
  geluTanh: 0.3,
  silu: 0.22,
  softplus: 0.5,
  erf: 0.7,
  geluBackward: 0.3,
  geluTanhBackward: 0.4,
  siluBackward: 0.25,
  softplusBackward: 0.25,
  erfBackward: 0.25,
  // Functions of two.
  pow: 5,
  atan2: 5,
  equal: 0.1,
  notEqual: 0.1,
  less: 0.1,
  lessOrEqual: 0.1,
  select: 0.12,
  // Rows.
  softmax: 0.2,
  softmaxBackward: 0.1,
  logSoftmax: 0.2,
  logSoftmaxBackward: 0.2,
  logsumexp: 0.18,
  // Reductions.
  sum: 0.015,
  max: 0.025,
  min: 0.025,
  variance: 0.08,
  prod: 0.1,
  argmax: 0.16,
  argmin: 0.16,
  // Random numbers.
  randomUniform: 0.25,
  randomNormal: 3,
  randomInteger: 0.4,
}

/** Those that move as fast as memory does. */
const MOVING = 0.05

/** Nanoseconds that a kernel of a family takes for each byte of its largest operand, roughly. */
export function nanosecondsPerByte(family: string): number {
  return NANOSECONDS[family] ?? MOVING
}
