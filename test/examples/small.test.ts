// The small examples in a short form: what they learn, what they draw, and that a seed decides all of it.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runExample, runMain } from './command.js'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wengert-examples-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The figures of a page that stands by itself. */
function figuresOf(page: string): Element[] {
  const { document } = parseHTML(page)
  expect(document.querySelectorAll('script, link, iframe, object, img')).toHaveLength(0)
  expect(page).not.toMatch(/url\((?!#)|@import/)
  const figures = Array.from(document.querySelectorAll('figure > svg'))
  for (const figure of figures) {
    expect(figure.outerHTML).not.toMatch(/NaN|Infinity|undefined/)
    expect(figure.querySelector('[aria-label="x-axis label"]')?.textContent).not.toBe('')
    expect(figure.querySelector('[aria-label="y-axis label"]')?.textContent).not.toBe('')
  }
  return figures
}

/** The example twice with the same arguments, and its report; both must be the same. */
async function twice<Numbers>(name: string, ...args: string[]) {
  const runs = await Promise.all(
    ['first', 'second'].map((run) => runExample<Numbers>(name, join(folder, name, run), ...args)),
  )
  const [first, second] = runs as [(typeof runs)[number], (typeof runs)[number]]
  expect(second.numbers).toEqual(first.numbers)
  expect(second.page).toBe(first.page)
  return first
}

describe('xor', () => {
  test('learns the four points', async () => {
    const { numbers, page, stdout } = await twice<{ losses: number[]; right: number }>('xor', '--steps', '150')
    expect(numbers.right).toBe(4)
    expect(numbers.losses.at(-1)).toBeLessThan(0.01)
    expect(stdout).toContain('4 of 4 points are told right')
    const [plane] = figuresOf(page)
    // The frame, nine areas and the boundary.
    expect(plane?.querySelectorAll('[aria-label="contour"] path').length).toBeGreaterThanOrEqual(10)
    expect(figuresOf(page)).toHaveLength(2)
  })

  test('another seed gives other numbers', async () => {
    const run = (seed: string) =>
      runExample<{ losses: number[] }>('xor', join(folder, `xor-${seed}`), '--steps', '3', '--seed', seed)
    const [a, b] = await Promise.all([run('1'), run('2')])
    expect(a.numbers.losses).not.toEqual(b.numbers.losses)
  })
})

test('spirals are told apart', async () => {
  const { numbers, page } = await twice<{ accuracy: { test: number } }>('spirals', '--steps', '600')
  expect(numbers.accuracy.test).toBeGreaterThan(0.95)
  const [plane, ...others] = figuresOf(page)
  expect(plane?.querySelectorAll('[aria-label="dot"] circle')).toHaveLength(400)
  expect(others).toHaveLength(1)
})

describe('recall', () => {
  interface Numbers {
    readonly before: { readonly found: number }
    readonly after: { readonly found: number; readonly loss: number }
    readonly onSought: number
  }

  test('learns to look keys up, and draws its attention', async () => {
    const { numbers, page } = await twice<Numbers>('recall', '--steps', '400')
    expect(numbers.before.found).toBeLessThan(0.2)
    expect(numbers.after.found).toBeGreaterThan(0.9)
    expect(numbers.after.loss).toBeLessThan(0.1)
    expect(numbers.onSought).toBeGreaterThan(0.85)
    const [attention] = figuresOf(page)
    const [weights, sought] = Array.from(attention?.querySelectorAll('[aria-label="cell"]') ?? [])
    expect(weights?.querySelectorAll('rect')).toHaveLength(16 * 16)
    expect(sought?.querySelectorAll('rect')).toHaveLength(16)
    // Each row's weights sum to 1.
    const opacities = Array.from(weights?.querySelectorAll('rect') ?? [], (cell) =>
      Number(cell.getAttribute('fill-opacity')),
    )
    expect(opacities.reduce((sum, value) => sum + value, 0)).toBeCloseTo(16, 1)
  })

  test('draws none before it has learned', async () => {
    const { page, stdout } = await runExample('recall', join(folder, 'untrained'), '--steps', '2')
    expect(stdout).toContain('No heatmap of A is drawn')
    expect(figuresOf(page)).toHaveLength(1)
  })
})

test('char-lm tells characters better than by their frequencies, and prints what it writes', async () => {
  interface Numbers {
    readonly frequency: number
    readonly losses: [number, number][]
    readonly looks: { readonly testLoss: number; readonly sample: string }[]
  }
  const { numbers, page, stdout } = await twice<Numbers>('char-lm', '--steps', '20')
  expect(numbers.looks[0]?.testLoss).toBeGreaterThan(4)
  expect(numbers.looks.at(-1)?.testLoss).toBeLessThan(numbers.frequency - 0.3)
  expect(numbers.looks).toHaveLength(3)
  for (const { sample } of numbers.looks) expect(stdout).toContain(sample)
  expect(figuresOf(page)).toHaveLength(1)
  expect(page).toContain('What it writes while it learns')
})

test('first-gradient shows the tape and the gradient', async () => {
  const { code, stdout } = await runMain('first-gradient')
  expect(code).toBe(0)
  expect(stdout).toMatch(/square[\s\S]*sum/)
  expect(stdout.replaceAll(/\s/g, '')).toMatch(/14\[2,4,6\]$/)
  const read = (path: string) => readFile(join(import.meta.dirname, '../..', path), 'utf8')
  expect(await read('README.md')).toContain(await read('examples/first-gradient/first-gradient.ts'))
})

describe.each(['first-gradient', 'vanishing-gradients', 'xor', 'spirals', 'recall', 'char-lm'])('%s', (name) => {
  test('explains itself with --help', async () => {
    const { code, stdout } = await runMain(name, '--help')
    expect(code).toBe(0)
    expect(stdout).toContain(`npm run ${name} --`)
    if (name !== 'first-gradient') for (const option of ['--seed', '--steps', '--out']) expect(stdout).toContain(option)
  })

  test('says in a line what it does not understand', async () => {
    const { code, stdout, stderr } = await runMain(name, '--steps', 'many')
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: .*--steps.*\n$/)
  })
})
