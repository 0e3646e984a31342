import { randn } from 'wengert'
import type { Suite } from '../suite.js'

const FLOAT = 4

/** 4 MiB, which caches may hold, and 64 MiB, which they do not. */
const SIZES = [2 ** 20, 2 ** 24]

export const elementwiseSuites: Readonly<Record<string, () => Suite>> = {
  elementwise: () => {
    const small = randn([4, 4])
    const sized = SIZES.flatMap((size): [string, Suite[string]][] => {
      const x = randn([size / 1024, 1024])
      const row = randn([1024])
      const label = `2^${Math.log2(size)}`
      const unary = { bytes: 2 * size * FLOAT }
      return [
        [`add ${label}`, { run: () => x.add(x), bytes: 2 * size * FLOAT }],
        [`add ${label} and a row`, { run: () => x.add(row), ...unary }],
        [`exp ${label}`, { run: () => x.exp(), ...unary }],
        [`tanh ${label}`, { run: () => x.tanh(), ...unary }],
        [`gelu ${label}`, { run: () => x.gelu(), ...unary }],
      ]
    })
    return { 'add 4 × 4': { run: () => small.add(small) }, ...Object.fromEntries(sized) }
  },
  reductions: () => {
    const large = randn([1024, 1024])
    const scores = randn([12, 196, 196])
    return {
      'sum 1024 × 1024': { run: () => large.sum(), bytes: large.size * FLOAT },
      'sum 1024 × 1024 over rows': { run: () => large.sum({ axis: 0 }), bytes: large.size * FLOAT },
      'softmax 12 × 196 × 196': { run: () => scores.softmax(), bytes: 2 * scores.size * FLOAT },
    }
  },
}
