import { argsort, broadcastTo, concat, gather, noGrad, rand, randn, type Tensor } from 'wengert'

/** N, the rows of a sequence. */
export const ROWS = 16
/** The length of a key. */
export const KEY = 16
/** The length of what is stored under a key. */
export const VALUE = 16
/** D, the length of a row: its own key, the key that it asks for, and its value. */
export const FEATURES = 2 * KEY + VALUE

/** Sequences of the task, each with keys of its own. */
export interface Sequences {
  /** X, (count, N, D). */
  readonly x: Tensor
  /** T, (count, N, VALUE): for each row, the value of the row whose key it asks for. */
  readonly target: Tensor
  /** int32 (count, N): which row that is. A permutation of the rows. */
  readonly sought: Tensor
}

/**
 * Makes random sequences, all numbers standard normal. Every row is asked for once: whoever answers must find it by its
 * key, for neither keys nor places tell anything about the values.
 */
export function sequences(count: number): Sequences {
  return noGrad(() => {
    const keys = randn([count, ROWS, KEY])
    const values = randn([count, ROWS, VALUE])
    const sought = argsort(rand([count, ROWS]))
    const find = (of: Tensor) => gather(of, 1, broadcastTo(sought.unsqueeze(-1), of.shape))
    return { x: concat([keys, find(keys), values], -1), target: find(values), sought }
  })
}

/** The share of rows of A (count, N, N) whose largest weight is at the row that they seek. */
export function found(attention: Tensor, sought: Tensor): number {
  return noGrad(() => attention.argmax({ axis: -1 }).eq(sought).to('float32').mean().item())
}
