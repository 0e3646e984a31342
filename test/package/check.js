// Packs the library, checks the package's form, installs the tarball into an empty project, and imports it there as
// ESM, as CommonJS and from TypeScript, and bundles it. Usage: node test/package/check.js [folder]
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, '..', '..')
const folder = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), 'wengert-package-')))
mkdirSync(folder, { recursive: true })

/** @param {string} command @param {string[]} args @param {string} cwd */
function run(command, args, cwd) {
  console.log(`> ${command} ${args.join(' ')}`)
  execFileSync(command, args, { cwd, stdio: 'inherit' })
}

const tool = (/** @type {string} */ name) => join(root, 'node_modules', '.bin', name)

run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], root)
const tarball = join(folder, /** @type {string} */ (readdirSync(folder).find((name) => name.endsWith('.tgz'))))
run(tool('publint'), ['--strict', tarball], root)
run(tool('attw'), [tarball, '--profile', 'node16', '--exclude-entrypoints', './testing/vitest'], root)
// vitest itself cannot be required.
run(tool('attw'), [tarball, '--profile', 'esm-only', '--entrypoints', './testing/vitest'], root)

const project = join(folder, 'project')
cpSync(join(here, 'project'), project, { recursive: true })
writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
run('npm', ['install', '--no-audit', '--no-fund', '--no-save', tarball], project)
run('node', ['consumer.mjs'], project)
run('node', ['consumer.cjs'], project)
run(tool('tsc'), ['-p', '.'], project)
run('node', ['compiled/consumer.js'], project)
run(tool('esbuild'), ['consumer.mjs', '--bundle', '--format=esm', '--minify', '--outfile=bundled/esbuild.mjs'], project)
run('node', ['bundled/esbuild.mjs'], project)
console.log('the package works as ESM, as CommonJS, from TypeScript and bundled')
