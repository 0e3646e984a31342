import type { Tensor } from 'wengert'

/** What one row of attention weights a = softmax(s) tells about itself. */
export interface SoftmaxRow {
  /** The weights. */
  readonly weights: readonly number[]
  /** The largest weight. */
  readonly max: number
  /** 1 − max, exact even where max rounds to 1. */
  readonly rest: number
  /** ‖D_s a‖_F, the size of the softmax's derivative. */
  readonly jacobianNorm: number
  /** −Σ a ln a, in nats. */
  readonly entropy: number
}

/** The rows of attention weights of any shape (…, M). */
export function softmaxRows(attention: Tensor): SoftmaxRow[] {
  const values = Array.from(attention.data)
  const length = attention.shape.at(-1) ?? 1
  return Array.from({ length: values.length / length }, (_, n) => describe(values.slice(n * length, (n + 1) * length)))
}

function describe(weights: readonly number[]): SoftmaxRow {
  // 1 − a_m as the sum of the other weights: subtracting a rounded a_m from 1 would leave nothing of 1e-14.
  const rests = weights.map((_, m) => weights.reduce((sum, other, j) => (j === m ? sum : sum + other), 0))
  const max = Math.max(...weights)
  const jacobian = weights.flatMap((a, m) => weights.map((b, j) => (j === m ? a * (rests[m] ?? 0) : -a * b)))
  const entropy = weights.reduce((sum, a, m) => {
    if (a === 0) return sum
    return sum - a * (a > 0.5 ? Math.log1p(-(rests[m] ?? 0)) : Math.log(a))
  }, 0)
  return { weights, max, rest: rests[weights.indexOf(max)] ?? 0, jacobianNorm: Math.hypot(...jacobian), entropy }
}
