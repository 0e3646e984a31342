// Compiles the AssemblyScript kernels twice, with and without fused multiply-add, and embeds both binaries in
// src/runtime/kernels.generated.ts, so that importing the library needs neither a file system nor a network.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const folder = dirname(fileURLToPath(import.meta.url))
const target = join(folder, '..', 'runtime', 'kernels.generated.ts')

/** @param {boolean} fused whether to compile `a * b + c` as one rounding (relaxed SIMD) */
async function compile(fused) {
  const files = new Map()
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      ...['--baseDir', folder, '--outFile', 'kernels.wasm', '--runtime', 'stub', '--importMemory'],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      ...['--enable', 'simd', ...(fused ? ['--enable', 'relaxed-simd'] : [])],
      ...['--use', 'abort='],
    ],
    { writeFile: (name, contents) => void files.set(name, contents) },
  )
  if (error) {
    process.stderr.write(stderr.toString())
    throw error
  }
  return files.get('kernels.wasm')
}

const [plain, fused] = await Promise.all([compile(false), compile(true)])
const names = WebAssembly.Module.exports(new WebAssembly.Module(plain))
  .filter((entry) => entry.kind === 'function')
  .map((entry) => entry.name)
  .sort()

mkdirSync(dirname(target), { recursive: true })
writeFileSync(
  target,
  `// Written by src/kernels/build.js.
export type KernelName =
${names.map((name) => `  | '${name}'`).join('\n')}
export const plainBinary =
  '${Buffer.from(plain).toString('base64')}'
export const fusedBinary =
  '${Buffer.from(fused).toString('base64')}'
`,
)
console.log(`kernels: ${names.length} functions, ${plain.length} bytes plain, ${fused.length} bytes fused`)
