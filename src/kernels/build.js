// Compiles the AssemblyScript kernels and embeds them in src/runtime/kernels.generated.ts, so that importing the library
// needs neither a file system nor a network. One binary is embedded, without fused multiply-add, and the places where
// fused instructions may be put back.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import asc from 'assemblyscript/asc'
import { separate } from './separate.js'

const folder = dirname(fileURLToPath(import.meta.url))
const target = join(folder, '..', 'runtime', 'kernels.generated.ts')

async function compile() {
  const files = new Map()
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      ...['--baseDir', folder, '--outFile', 'kernels.wasm', '--runtime', 'stub', '--importMemory'],
      ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
      ...['--enable', 'simd', '--enable', 'relaxed-simd'],
      // The standard library's pow is chosen by the second: the one without tables, which would be a quarter of all.
      ...['--use', 'abort=', '--use', 'ASC_SHRINK_LEVEL=ASC_OPTIMIZE_LEVEL'],
    ],
    { writeFile: (name, contents) => void files.set(name, contents) },
  )
  if (error) {
    process.stderr.write(stderr.toString())
    throw error
  }
  return files.get('kernels.wasm')
}

const { plain, mask } = separate(await compile())
const names = WebAssembly.Module.exports(new WebAssembly.Module(plain))
  .filter((entry) => entry.kind === 'function')
  .map((entry) => entry.name)
  .sort()

const deflated = deflateRawSync(plain, { level: 9 })
mkdirSync(dirname(target), { recursive: true })
writeFileSync(
  target,
  `// Written by src/kernels/build.js.
export type KernelName =
${names.map((name) => `  | '${name}'`).join('\n')}
/** The module without fused multiply-add: base64 of its deflated bytes. */
export const binary =
  '${deflated.toString('base64')}'
/** Its size in bytes. */
export const binarySize = ${plain.length}
/** Which multiplications and additions may be fused: base64 of one bit for each. */
export const fusable =
  '${Buffer.from(mask).toString('base64')}'
`,
)
console.log(`kernels: ${names.length} functions, ${plain.length} bytes, ${deflated.length} deflated`)
