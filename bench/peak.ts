// What one core can do at best with 128-bit vectors: multiply and add in registers, without touching memory.
import asc from 'assemblyscript/asc'

const ACCUMULATORS = 12
const LANES = 4

/** A loop of `n` rounds over accumulators that depend on nothing but themselves. */
function source(fused: boolean): string {
  const names = Array.from({ length: ACCUMULATORS }, (_, i) => `a${i}`)
  const step = (name: string) =>
    fused ? `${name} = f32x4.relaxed_madd(${name}, x, y);` : `${name} = f32x4.add(f32x4.mul(${name}, x), y);`
  // The factor and the summand come from outside: constants may be built anew in every round.
  return `export function rounds(n: i32, factor: f32, summand: f32): f32 {
    const x = f32x4.splat(factor);
    const y = f32x4.splat(summand);
    ${names.map((name, i) => `let ${name} = f32x4.splat(${i + 1});`).join('\n')}
    for (let i = 0; i < n; i++) { ${names.map(step).join(' ')} }
    let sum = f32x4.splat(0);
    ${names.map((name) => `sum = f32x4.add(sum, ${name});`).join('\n')}
    return f32x4.extract_lane(sum, 0);
  }`
}

/** The peak of one core in GFLOP/s, multiplications and additions counted, the best of several runs. */
export async function peakOf(fused: boolean): Promise<number> {
  const text = source(fused)
  let binary: Uint8Array<ArrayBuffer> | undefined
  const features = ['--enable', 'simd', ...(fused ? ['--enable', 'relaxed-simd'] : [])]
  const { error, stderr } = await asc.main(['peak.ts', '-O3', '--runtime', 'stub', '-o', 'peak.wasm', ...features], {
    readFile: (name) => (name === 'peak.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'peak.wasm') binary = contents as Uint8Array<ArrayBuffer>
    },
    listFiles: () => [],
  })
  if (error || binary === undefined) throw error ?? new Error(stderr.toString())
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), {})
  const rounds = instance.exports['rounds'] as (n: number, factor: number, summand: number) => number
  const n = 4_000_000
  let best = 0
  for (let run = 0; run < 40; run++) {
    const start = performance.now()
    rounds(n, 0.5, 0.25)
    best = Math.max(best, (n * ACCUMULATORS * LANES * 2) / (performance.now() - start) / 1e6)
  }
  return best
}
