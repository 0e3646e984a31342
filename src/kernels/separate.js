// Takes a module with fused multiply-add apart: the same module with separate multiplications and additions, and where
// in its bytes they stand. Putting the fused instructions back at load time (src/runtime/fuse.ts) is then a matter of
// overwriting bytes, because each of the opcodes is three bytes long and the operands are computed in the same order.
import binaryen from 'assemblyscript/binaryen'

/** The module's text with `(relaxed_madd a b c)` replaced by `(addition (multiplication a b) c)`. */
function rewrite(text, multiplication, addition) {
  const open = []
  let output = ''
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|\((?:f32x4|f64x2)\.relaxed_madd|[()]|[^"()]+/g)) {
    if (token === ')') {
      open.pop()
      output += token
      const parent = open.at(-1)
      // Both factors are complete.
      if (parent?.fused && ++parent.operands === 2) output += ')'
    } else if (token.endsWith('.relaxed_madd')) {
      open.push({ fused: true, operands: 0 })
      const lanes = token.slice(1, 6)
      output += `(${lanes}.${addition} (${lanes}.${multiplication}`
    } else {
      if (token === '(') open.push({ fused: false })
      output += token
    }
  }
  return output
}

function assemble(text) {
  const module = binaryen.parseText(text)
  const binary = module.emitBinary()
  module.dispose()
  return binary
}

/** Bytes 1 of the opcodes `fd xx 01` of f32x4 and f64x2 that may become part of a fused instruction. */
const SEPARATE = new Set([0xe4, 0xe6, 0xf0, 0xf2])

/**
 * @param {Uint8Array} fused a module whose every `a * b + c` of one rounding is a `relaxed_madd`
 * @returns {{ plain: Uint8Array, mask: Uint8Array }} the module with two roundings instead, and one bit, lowest first,
 *   for each occurrence of the bytes `fd xx 01` in it with xx out of `SEPARATE`: 1 where it is half of such an
 *   instruction
 */
export function separate(fused) {
  const module = binaryen.readBinary(fused)
  const text = module.emitText()
  module.dispose()
  const plain = assemble(rewrite(text, 'mul', 'add'))
  // Other instructions of the same length in the same places show where the places are.
  const marked = assemble(rewrite(text, 'min', 'max'))
  if (plain.length !== marked.length) throw new Error('the marked module has another length')

  const mask = []
  let occurrences = 0
  let halves = 0
  for (let i = 0; i + 2 < plain.length; i++) {
    const half = plain[i + 1] !== marked[i + 1]
    if (plain[i] === 0xfd && plain[i + 2] === 1 && SEPARATE.has(plain[i + 1])) {
      if (occurrences % 8 === 0) mask.push(0)
      if (half) mask[mask.length - 1] |= 1 << (occurrences % 8)
      occurrences++
    } else if (half) throw new Error(`an unknown difference at byte ${i + 1}`)
    if (half) halves++
  }
  const instructions = text.match(/\.relaxed_madd/g)?.length ?? 0
  if (halves !== 2 * instructions) throw new Error(`${halves} halves of ${instructions} fused instructions found`)
  return { plain, mask: Uint8Array.from(mask) }
}
