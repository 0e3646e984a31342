import { describe, expect, test } from 'vitest'
import { kernelBinary, supportsFusedMultiplyAdd } from '../../src/runtime/binary.js'

const [plain, fused] = [kernelBinary(false), kernelBinary(true)]
const instruction = (bytes: Uint8Array, at: number) => Array.from(bytes.subarray(at, at + 3)).join(' ')

/** Instructions of three bytes that stand in the plain module where the fused one has others, with these. */
function exchanged(): string[] {
  const found: string[] = []
  for (let i = 0; i < plain.length; ) {
    // The third byte is another instruction's where the second one is all of an opcode.
    if (plain[i] === 0xfd && (fused[i] !== plain[i] || fused[i + 1] !== plain[i + 1])) {
      found.push(`${instruction(plain, i)} → ${instruction(fused, i)}`)
      i += 3
    } else i++
  }
  return found
}

describe('the fused module', () => {
  test('differs from the plain one in as many products as sums of each type', () => {
    const counts = new Map<string, number>()
    for (const pair of exchanged()) counts.set(pair, (counts.get(pair) ?? 0) + 1)
    const single = counts.get('253 228 1 → 253 133 2') ?? 0
    const double = counts.get('253 240 1 → 253 135 2') ?? 0
    expect(single).toBeGreaterThan(100)
    expect(double).toBeGreaterThan(100)
    expect(Object.fromEntries(counts)).toEqual({
      '253 228 1 → 253 133 2': single,
      '253 230 1 → 1 1 1': single,
      '253 240 1 → 253 135 2': double,
      '253 242 1 → 1 1 1': double,
    })
    expect(fused.length).toBe(plain.length)
  })

  test('is valid where the engine has relaxed SIMD, the plain one everywhere', () => {
    expect(WebAssembly.validate(plain)).toBe(true)
    expect(WebAssembly.validate(fused)).toBe(supportsFusedMultiplyAdd())
  })
})
