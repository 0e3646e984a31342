// The error function in double precision.

/** erfc in double precision, to some 1e-14: more than the references of float32 need. */
export function complementaryError(x: number): number {
  if (x < 0) return 2 - complementaryError(-x)
  if (x < 2) return 1 - error(x)
  let fraction = x
  for (let n = 20 + Math.ceil(720 / (x * x)); n > 0; n--) fraction = x + n / 2 / fraction
  return Math.exp(-x * x) / fraction / Math.sqrt(Math.PI)
}

/** erf, to some 1e-15. */
export function error(x: number): number {
  if (Math.abs(x) >= 2) return Math.sign(x) * (1 - complementaryError(Math.abs(x)))
  let term = x
  let sum = x
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum
}
