// What the machine can do at best, by loops that do nothing else.
import asc from 'assemblyscript/asc'
import { type Bandwidth, bandwidth, TRIAD_PAGES, type TriadLoop, triadSource } from './bandwidth.js'
import { type PeakLoops, peakOf, peakSource } from './peak.js'

export interface Limits {
  /** GFLOP/s of one core. */
  readonly peak: Readonly<Record<'float32' | 'float64', number>>
  /** GB/s of one core. */
  readonly bandwidth: Bandwidth
}

async function compile(text: string, fused: boolean): Promise<WebAssembly.Exports> {
  let binary: Uint8Array<ArrayBuffer> | undefined
  const features = ['--enable', 'simd', ...(fused ? ['--enable', 'relaxed-simd'] : [])]
  const memory = ['--runtime', 'stub', '--initialMemory', String(TRIAD_PAGES)]
  const { error, stderr } = await asc.main(['loops.ts', '-O3', '-o', 'loops.wasm', ...memory, ...features], {
    readFile: (name) => (name === 'loops.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'loops.wasm') binary = contents as Uint8Array<ArrayBuffer>
    },
    listFiles: () => [],
  })
  if (error || binary === undefined) throw error ?? new Error(stderr.toString())
  return new WebAssembly.Instance(new WebAssembly.Module(binary), {}).exports
}

/** @param fused whether a multiplication and an addition are one instruction */
export async function measureLimits(fused: boolean): Promise<Limits> {
  const loops = (await compile(peakSource(fused) + triadSource, fused)) as unknown as PeakLoops & TriadLoop
  return {
    peak: { float32: peakOf('float32', loops), float64: peakOf('float64', loops) },
    bandwidth: bandwidth(loops),
  }
}
