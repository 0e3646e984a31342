// Every command and code block of the README is run.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
  language,
  text,
}))
// Inside the project, so that the package finds itself by its name.
const folder = mkdtempSync(join(root, 'test', 'readme-'))
const scratch = mkdtempSync(join(tmpdir(), 'wengert-readme-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(scratch, { recursive: true })
})

const run = (command: string, args: readonly string[]) =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })

describe('code blocks', () => {
  const programs = blocks.filter(({ language }) => language === 'ts')

  test('there are some', () => expect(programs.length).toBeGreaterThanOrEqual(4))

  test.each(programs.map(({ text }, i) => [i + 1, text] as const))('block %i', (number, text) => {
    const isTest = text.includes("from 'vitest'")
    const file = join(folder, `block${number}${isTest ? '.test' : ''}.ts`)
    writeFileSync(file, text)
    if (isTest) {
      const output = run('npx', ['vitest', 'run', file])
      expect(output).toMatch(/Tests\s+.*1 passed/)
      return
    }
    const printed = run('npx', ['tsx', file])
    // What a line prints stands behind it in a comment, up to a colon.
    const expected = [...text.matchAll(/^console\.log\(.*\) \/\/ ([^:\n]+)/gm)].map(([, value]) => value)
    const dense = (value: string) => value.replaceAll(/\s+/g, '')
    for (const value of expected) expect(dense(printed)).toContain(dense(value as string))
  })
})

describe('commands', () => {
  const commands = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.trim().split('\n'))

  /** A command of an example, which writes its report elsewhere and prints this. */
  const example = (printed: string) => (command: string) => {
    const [name, ...args] = command.split(' ')
    expect(run(name as string, [...args, '--out', join(scratch, 'example')])).toContain(printed)
  }

  /** How each command is run here, where the packages are installed already. */
  const runs: Readonly<Record<string, (command: string) => void>> = {
    'npm ci && npm start': () => {
      expect(run('npm', ['start', '--', '--out', scratch])).toContain('The four weight gradients agree')
    },
    // This test is a part of that run; .ci/run starts it with the command itself.
    'npm ci && npm test': () => {
      const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { test: string } }
      expect(scripts.test).toContain('vitest run')
      expect(readFileSync(join(root, '.ci', 'run'), 'utf8')).toContain('npm ci && npm test')
    },
    'npm run first-gradient': () => {
      expect(run('npm', ['run', 'first-gradient'])).toContain('14')
    },
    'npm run xor -- --steps 150': example('4 of 4 points are told right'),
    'npm run spirals -- --steps 600': example('of 400 test points are told right after 600 steps'),
    'npm run recall -- --steps 400': example('of the rows of new sequences are found after 400 steps'),
    'npm run vanishing-gradients -- --steps 20': example('Experiment 3: training with and without 1/√d_k'),
    'npm run char-lm -- --steps 20': example('The test loss after 20 steps is'),
    'npm run gradient-tests': () => {
      expect(run('npm', ['run', 'gradient-tests'])).toMatch(/Tests\s+.*7 passed/)
    },
    'npm run satellite -- --steps 25': example('Mean absolute error on held-out longitudes'),
    'npm run digits -- --steps 120': example('% after 120 steps in'),
    'npm run bench -- training': () => {
      expect(run('npm', ['run', 'bench', '--', 'training'])).toMatch(/XOR step.*µs/)
    },
    'npm run bench:memory -- 2000': () => {
      expect(run('npm', ['run', 'bench:memory', '--', '2000'])).toMatch(/after\s+2000: .* MB resident/)
    },
    'npm run size': () => {
      expect(run('npm', ['run', 'size'])).toMatch(/^\| matmul and softmax only .*\d+\.\d \|$/m)
    },
  }

  test('are known', () => expect(commands.filter((command) => runs[command] === undefined)).toEqual([]))

  test.each(commands)('%s', (command) => runs[command]?.(command))
})
