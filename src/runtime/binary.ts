// The compiled kernels as bytes. One build travels inside the JavaScript, with separate multiplications and additions;
// the build with fused multiply-add is derived from it by overwriting opcodes.
import inflate from 'tiny-inflate'
import { binary, binarySize, fusable } from './kernels.generated.js'

/**
 * The bytes of `(module (func (param v128 v128 v128) (result v128)
 * (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2))))`.
 */
const PROBE = 'AGFzbQEAAAABCAFgA3t7ewF7AwIBAAoNAQsAIAAgASAC/YUCCw=='

let fusedSupport: boolean | undefined

/** Whether this engine has fused multiply-add (relaxed SIMD). */
export function supportsFusedMultiplyAdd(): boolean {
  fusedSupport ??= WebAssembly.validate(decode(PROBE))
  return fusedSupport
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

const PREFIX = 0xfd
const NOP = 0x01
/** What stands in place of `fd xx 01`, by xx. */
const FUSED: Readonly<Record<number, readonly number[]>> = {
  // f32x4.mul and f64x2.mul: the factors stay on the stack,
  230: [NOP, NOP, NOP],
  242: [NOP, NOP, NOP],
  // f32x4.add and f64x2.add: where relaxed_madd finds them.
  228: [PREFIX, 0x85, 0x02],
  240: [PREFIX, 0x87, 0x02],
}

/**
 * Turns multiplications followed by additions into fused ones, in place. `mask` has one bit, lowest first, for each
 * occurrence of an opcode of `FUSED`: 1 where it is one half of an `a * b + c` that is to be rounded once.
 */
function fuse(bytes: Uint8Array, mask: Uint8Array): void {
  let occurrence = 0
  for (let i = bytes.indexOf(PREFIX); i !== -1; i = bytes.indexOf(PREFIX, i + 1)) {
    const replacement = bytes[i + 2] === 1 ? FUSED[bytes[i + 1] as number] : undefined
    if (replacement === undefined) continue
    if (((mask[occurrence >> 3] as number) >> (occurrence & 7)) & 1) bytes.set(replacement, i)
    occurrence++
  }
}

/**
 * The kernels' module.
 *
 * @param fused with fused multiply-add, which not every engine accepts
 */
export function kernelBinary(fused: boolean): Uint8Array<ArrayBuffer> {
  const bytes = inflate(decode(binary), new Uint8Array(binarySize))
  if (fused) fuse(bytes, decode(fusable))
  return bytes
}
