// How fast one core moves memory: the triad of J. D. McCalpin's STREAM, a = b + s · c, which counts two reads and one
// write for each value.

const MEGABYTE = 2 ** 20
/** Bytes of each of the three arrays: together more than a last-level cache, and what operands of 4 MiB take. */
const ARRAY = { memory: 128 * MEGABYTE, cache: 4 * MEGABYTE }
/** Bytes that are moved for one figure. */
const MOVED = 3 * 1024 * MEGABYTE
const PAGE = 65536

export const triadSource = `export function triad(a: usize, b: usize, c: usize, bytes: usize, factor: f32): void {
  const s = f32x4.splat(factor);
  for (const end = a + bytes; a < end; a += 32, b += 32, c += 32) {
    v128.store(a, f32x4.add(v128.load(b), f32x4.mul(s, v128.load(c))));
    v128.store(a, f32x4.add(v128.load(b, 16), f32x4.mul(s, v128.load(c, 16))), 16);
  }
}`

/** Pages of memory that the arrays take, the first page left out. */
export const TRIAD_PAGES = (3 * ARRAY.memory) / PAGE + 1

export interface TriadLoop {
  triad(a: number, b: number, c: number, bytes: number, factor: number): void
}

export interface Bandwidth {
  /** Of arrays that lie in main memory, in GB/s. */
  readonly memory: number
  /** Of arrays of 4 MiB, which larger caches hold, in GB/s. */
  readonly cache: number
}

/** The best of several runs. */
export function bandwidth({ triad }: TriadLoop): Bandwidth {
  const measure = (bytes: number) => {
    let best = 0
    for (let moved = 0; moved < MOVED; moved += 3 * bytes) {
      const start = performance.now()
      triad(PAGE, PAGE + bytes, PAGE + 2 * bytes, bytes, 0.5)
      best = Math.max(best, (3 * bytes) / (performance.now() - start) / 1e6)
    }
    return best
  }
  return { memory: measure(ARRAY.memory), cache: measure(ARRAY.cache) }
}
