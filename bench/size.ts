// What the library adds to a page: everything, and a program that uses only matmul and softmax, bundled from the built
// package as a user would do it. `npm run size`
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Command } from 'commander'
import { build } from 'esbuild'
import { markdownTable } from 'markdown-table'
import packageJson from '../package.json' with { type: 'json' }

new Command('size').description('Sizes of bundles, in thousands of bytes.').parse()

/** The entry points that need no other package and can be in a page, unlike those for files. */
const entryPoints = Object.keys(packageJson.exports)
  .filter((path) => !path.endsWith('.json') && path !== './node')
  .filter((path) => !Object.keys(packageJson.peerDependencies).some((peer) => path.endsWith(`/${peer}`)))
  .map((path) => path.replace('.', packageJson.name))

const reexport = (names: readonly string[]) => names.map((name, i) => `export * as part${i} from '${name}'`).join('\n')

const programs: Readonly<Record<string, string>> = {
  [`everything: ${entryPoints.join(', ')}`]: reexport(entryPoints),
  [`${packageJson.name} alone`]: reexport([packageJson.name]),
  'matmul and softmax only': `
    import { matmul, softmax, tensor } from 'wengert'
    console.log(softmax(matmul(tensor([[1, 2]]), tensor([[3], [4]]))).toArray())`,
}

async function bundle(contents: string, minify: boolean): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    minify,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  })
  return outputFiles.map(({ text }) => text).join('')
}

const compressed = (text: string) => gzipSync(text, { level: 9 }).length
const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1)

const rows: string[][] = []
for (const [name, contents] of Object.entries(programs)) {
  const minified = await bundle(contents, true)
  // The kernels are the only long literal.
  const code = minified.replace(/[A-Za-z0-9+/=]{1000,}/, '')
  const sizes = [
    Buffer.byteLength(await bundle(contents, false)),
    Buffer.byteLength(minified),
    compressed(minified),
    compressed(code),
    compressed(minified) - compressed(code),
  ]
  rows.push([name, ...sizes.map(kilobytes)])
}
const header = ['kB', 'bundled', 'minified', 'minified, gzip', 'of it code', 'of it kernels']
console.log(markdownTable([header, ...rows], { align: ['l', 'r', 'r', 'r', 'r', 'r'] }))
