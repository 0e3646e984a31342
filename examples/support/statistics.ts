import type { Tensor } from 'wengert'

/** The value below which half of the values lie. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which the given share of the values lies, interpolated between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/** Standard deviation. */
export function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

/** ‖x‖_F, the root of the sum of all squares; 0 for a gradient that no backward has reached. */
export function norm(x: Tensor | null): number {
  // float64 holds the squares of every float32.
  return x === null ? 0 : x.to('float64').square().sum().sqrt().item()
}

/** The largest absolute difference of two tensors of one shape. */
export function largestDifference(a: Tensor, b: Tensor): number {
  return a.sub(b).abs().max().item()
}
