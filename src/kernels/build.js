// Compiles the AssemblyScript kernels and embeds them in src/runtime/kernels.generated.ts, and likewise the source of a
// worker thread in src/runtime/worker.generated.ts, so that neither importing the library nor starting a thread needs a
// file system or a network. One binary is embedded, without fused multiply-add, and the places where fused instructions
// may be put back.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import asc from 'assemblyscript/asc'
import { build } from 'esbuild'
import { separate } from './separate.js'

const folder = dirname(fileURLToPath(import.meta.url))
const runtime = join(folder, '..', 'runtime')

async function compile() {
  const files = new Map()
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      ...['--baseDir', folder, '--outFile', 'kernels.wasm', '--runtime', 'stub'],
      ...['--importMemory', '--sharedMemory', '--maximumMemory', '65535', '--enable', 'threads'],
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
mkdirSync(runtime, { recursive: true })
writeFileSync(
  join(runtime, 'kernels.generated.ts'),
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

const bundled = await build({
  entryPoints: [join(runtime, 'worker.ts')],
  ...{ bundle: true, write: false, minify: true, format: 'iife', target: 'es2022' },
})
const source = bundled.outputFiles[0].text.trim()
writeFileSync(
  join(runtime, 'worker.generated.ts'),
  `// Written by src/kernels/build.js from worker.ts.\nexport const workerSource = ${JSON.stringify(source)}\n`,
)
console.log(
  `kernels: ${names.length} functions, ${plain.length} bytes, ${deflated.length} deflated; worker: ${source.length} bytes`,
)
