import { type Tensor, tensor } from 'wengert'

/** A float64 tensor. */
export function double(data: Parameters<typeof tensor>[0], requiresGrad = false): Tensor {
  return tensor(data, { dtype: 'float64', requiresGrad })
}

/** Σ over all pairs of Σ aᵢ bᵢ. */
export function inner(a: readonly Tensor[], b: readonly Tensor[]): number {
  return a.reduce(
    (total, x, i) =>
      total +
      x
        .mul(b[i] as Tensor)
        .sum()
        .item(),
    0,
  )
}
