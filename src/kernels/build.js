// Compiles the AssemblyScript kernels twice, with and without fused multiply-add, and embeds both binaries in
// src/runtime/kernels.generated.ts, and likewise the source of a worker thread in src/runtime/worker.generated.ts, so
// that neither importing the library nor starting a thread needs a file system or a network.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'
import { build } from 'esbuild'

const folder = dirname(fileURLToPath(import.meta.url))
const runtime = join(folder, '..', 'runtime')

/** @param {boolean} fused whether to compile `a * b + c` as one rounding (relaxed SIMD) */
async function compile(fused) {
  const files = new Map()
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      ...['--baseDir', folder, '--outFile', 'kernels.wasm', '--runtime', 'stub'],
      ...['--importMemory', '--sharedMemory', '--maximumMemory', '65535', '--enable', 'threads'],
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

mkdirSync(runtime, { recursive: true })
writeFileSync(
  join(runtime, 'kernels.generated.ts'),
  `// Written by src/kernels/build.js.
export type KernelName =
${names.map((name) => `  | '${name}'`).join('\n')}
export const plainBinary =
  '${Buffer.from(plain).toString('base64')}'
export const fusedBinary =
  '${Buffer.from(fused).toString('base64')}'
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
  `kernels: ${names.length} functions, ${plain.length} bytes plain, ${fused.length} bytes fused; worker: ${source.length} bytes`,
)
