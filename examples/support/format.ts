/** A number in scientific notation, as in 2.3e-5. */
export function scientific(value: number, digits = 1): string {
  return value === 0 ? '0' : value.toExponential(digits)
}

/** A number of ordinary size, with the digits that matter. */
export function plain(value: number, digits = 3): string {
  return String(Number(value.toPrecision(digits)))
}

/** A number plainly where it is of ordinary size, else in scientific notation. */
export function readable(value: number, digits = 2): string {
  return value >= 10 ** -digits && value < 1e5 ? plain(value, digits + 1) : scientific(value, digits - 1)
}

/** An attention weight a, by 1 − a where it is close to 1. */
export function attentionWeight(a: number, rest: number): string {
  if (rest < 5e-5) return `1 − ${rest.toExponential(1)}`
  return a.toFixed(rest < 1e-3 ? 5 : 4)
}

/** A share in whole per cent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** Sizes of a tensor, as in 16 × 192. */
export function sizes(shape: readonly number[]): string {
  return shape.join(' × ')
}

/** Degrees with their hemisphere, as in 11.0° N, 48.0° E. */
export function position(latitude: number, longitude: number): string {
  const degrees = (value: number, positive: string, negative: string) =>
    `${Math.abs(value).toFixed(1)}° ${value < 0 ? negative : positive}`
  return `${degrees(latitude, 'N', 'S')}, ${degrees(longitude, 'E', 'W')}`
}
