// A suite of timings, each also as a share of the limit that applies to it.
import benny from 'benny'
import type { Limits } from './limits/measure.js'

/** A function to time, and the arithmetic or the traffic that bounds it. */
export interface Case {
  run(): unknown
  /** Multiplications and additions. */
  readonly flops?: number
  /** Bytes of the operands and the result, each once. */
  readonly bytes?: number
  /** Of the arithmetic; float32 by default. */
  readonly dtype?: 'float32' | 'float64'
}

export type Suite = Readonly<Record<string, Case>>

/** Up to this many bytes, operands stay in caches from one repetition to the next. */
const CACHED = 24e6

function share({ flops, bytes, dtype = 'float32' }: Case, seconds: number, limits: Limits, threads: number): string {
  const { peak, bandwidth } = limits
  const percent = (rate: number, limit: number) => `${((100 * rate) / limit).toFixed(0)} %`
  if (flops !== undefined) {
    const rate = flops / seconds / 1e9
    return `${rate.toFixed(1)} GFLOP/s, ${percent(rate, threads * peak[dtype])} of the peak`
  }
  if (bytes !== undefined) {
    const rate = bytes / seconds / 1e9
    return bytes > CACHED
      ? `${rate.toFixed(1)} GB/s, ${percent(rate, bandwidth.memory)} of the memory's`
      : `${rate.toFixed(1)} GB/s, ${percent(rate, bandwidth.cache)} of the caches'`
  }
  return ''
}

/** Runs a suite and prints a line for each case. */
export async function runSuite(name: string, suite: Suite, limits: Limits, threads: number): Promise<void> {
  const summary = await benny.suite(
    name,
    ...Object.entries(suite).map(([label, { run }]) =>
      benny.add(label, () => {
        run()
      }),
    ),
    benny.configure({ cases: { minSamples: 20, maxTime: 0.5 } }),
  )
  const width = Math.max(...Object.keys(suite).map(({ length }) => length))
  for (const { name: label, details } of summary.results) {
    const microseconds = (details.median * 1e6).toFixed(2).padStart(12)
    const limited = share(suite[label] as Case, details.median, limits, threads)
    console.log(`  ${label.padEnd(width)} ${microseconds} µs  ${limited}`.trimEnd())
  }
}
