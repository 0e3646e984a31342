// What one core can do at best with 128-bit vectors: multiply and add in registers, without touching memory.

const ACCUMULATORS = 12
const ROUNDS = 4_000_000
const RUNS = 20

const LANES = { float32: 4, float64: 2 }

/** A loop of `n` rounds over accumulators that depend on nothing but themselves. */
function source(type: string, fused: boolean): string {
  const names = Array.from({ length: ACCUMULATORS }, (_, i) => `a${i}`)
  const step = (name: string) =>
    fused
      ? `${name} = v128.relaxed_madd<${type}>(${name}, x, y);`
      : `${name} = v128.add<${type}>(v128.mul<${type}>(${name}, x), y);`
  // The factor and the summand come from outside: constants may be built anew in every round.
  return `export function rounds_${type}(n: i32, factor: ${type}, summand: ${type}): ${type} {
    const x = v128.splat<${type}>(factor);
    const y = v128.splat<${type}>(summand);
    ${names.map((name, i) => `let ${name} = v128.splat<${type}>(${i + 1});`).join('\n')}
    for (let i = 0; i < n; i++) { ${names.map(step).join(' ')} }
    let sum = v128.splat<${type}>(0);
    ${names.map((name) => `sum = v128.add<${type}>(sum, ${name});`).join('\n')}
    return v128.extract_lane<${type}>(sum, 0);
  }`
}

export const peakSource = (fused: boolean) => source('f32', fused) + source('f64', fused)

export interface PeakLoops {
  rounds_f32(n: number, factor: number, summand: number): number
  rounds_f64(n: number, factor: number, summand: number): number
}

/** The peak of one core in GFLOP/s, multiplications and additions counted, the best of several runs. */
export function peakOf(dtype: 'float32' | 'float64', loops: PeakLoops): number {
  const rounds = dtype === 'float32' ? loops.rounds_f32 : loops.rounds_f64
  let best = 0
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now()
    rounds(ROUNDS, 0.5, 0.25)
    best = Math.max(best, (ROUNDS * ACCUMULATORS * LANES[dtype] * 2) / (performance.now() - start) / 1e6)
  }
  return best
}
