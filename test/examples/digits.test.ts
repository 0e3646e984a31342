// Handwritten digits: the images, and the short form of the example.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { manualSeed } from 'wengert'
import { batchOf, type DigitImage, loadDigits, movedBatch, SIDE } from '../../examples/digits/images.js'
import { GRID, HEADS, VisionTransformer } from '../../examples/digits/model.js'
import { runExample, runMain } from './command.js'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wengert-digits-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('the images', () => {
  const { train, test: held } = loadDigits()

  test('are 8,000 and 2,000, none in both, all digits in each', () => {
    expect([train.length, held.length]).toEqual([8000, 2000])
    const key = ({ pixels }: DigitImage) => pixels.join()
    const known = new Set(train.map(key))
    expect(held.filter((image) => known.has(key(image)))).toEqual([])
    for (const images of [train, held]) {
      expect(new Set(images.map(({ digit }) => digit)).size).toBe(10)
      expect(images.every(({ pixels }) => pixels.length === SIDE ** 2)).toBe(true)
    }
  })

  test('are standardised', () => {
    const { images, digits } = batchOf(train)
    expect(images.shape).toEqual([8000, 1, SIDE, SIDE])
    expect(images.mean().item()).toBeCloseTo(0, 1)
    expect(images.std().item()).toBeCloseTo(1, 1)
    expect(digits.dtype).toBe('int32')
  })

  test('are moved as a whole, by no more than asked for', () => {
    manualSeed(3)
    const pixels = new Float32Array(SIDE ** 2)
    pixels[10 * SIDE + 12] = 1
    pixels[11 * SIDE + 13] = 0.5
    const count = 400
    const { images } = movedBatch(new Array<DigitImage>(count).fill({ pixels, digit: 1 }), 2)
    const values = images.data
    const steps = Array.from({ length: count }, (_, i) => {
      const image = values.subarray(i * SIDE ** 2, (i + 1) * SIDE ** 2)
      const place = image.indexOf(Math.max(...image))
      // The other point comes along, one further down and right.
      expect(image[place + SIDE + 1]).toBeCloseTo((0.5 - 0.1307) / 0.3081, 5)
      return `${Math.floor(place / SIDE) - 10},${(place % SIDE) - 12}`
    })
    const all = [-2, -1, 0, 1, 2].flatMap((down) => [-2, -1, 0, 1, 2].map((right) => `${down},${right}`))
    expect([...new Set(steps)].sort()).toEqual(all.sort())
  })

  test('the class token spreads its attention over the patches and itself', () => {
    manualSeed(2)
    const model = new VisionTransformer()
    const { images } = batchOf(held.slice(0, 3))
    const attention = model.classAttention(images)
    expect(attention.shape).toEqual([3, HEADS, GRID ** 2])
    const sums = attention.sum({ axis: -1 })
    expect(sums.max().item()).toBeLessThan(1)
    expect(sums.min().item()).toBeGreaterThan(0.5)
  })
})

interface Numbers {
  readonly accuracy: number
  readonly loss: number
  readonly curve: readonly (readonly [number, number])[]
}

describe('the command', () => {
  test('learns, tells accuracy, time and speed, and draws its attention over digits', async () => {
    const runs = await Promise.all(
      ['first', 'second'].map((run) => runExample<Numbers>('digits', join(folder, run), '--steps', '120')),
    )
    const [first, second] = runs as [(typeof runs)[number], (typeof runs)[number]]
    expect(second.numbers).toEqual(first.numbers)

    const { accuracy, loss, curve } = first.numbers
    expect(accuracy).toBeGreaterThan(0.55)
    expect(loss).toBeLessThan(1.7)
    expect(curve.map(([steps]) => steps)).toEqual([0, 50, 100, 120])
    expect(curve.at(-1)?.[1]).toBe(accuracy)
    expect(first.stdout).toMatch(/Test accuracy \d\d\.\d\d % after 120 steps in [\d.]+ s, [\d.]+ steps per second\./)

    const { document } = parseHTML(first.page)
    expect(document.querySelectorAll('script, link, iframe, object, img')).toHaveLength(0)
    const [learning, digits, mistakes] = Array.from(document.querySelectorAll('figure > svg'))
    expect(learning?.querySelectorAll('[aria-label="line"] path')).toHaveLength(1)
    expect(digits?.querySelectorAll('image')).toHaveLength(10 * (1 + HEADS))
    expect(digits?.querySelectorAll('g > rect[shape-rendering]')).toHaveLength(10 * HEADS * GRID ** 2)
    expect(mistakes?.textContent).toContain('taken for')
    // Anything may stand in the pixels of an image.
    expect(first.page.replaceAll(/data:[^"]*/g, '')).not.toMatch(/NaN|Infinity|undefined/)
  })

  test('draws no attention of a model that has not learned', async () => {
    const { page } = await runExample('digits', join(folder, 'untrained'), '--steps', '1')
    expect(page).toContain('before its attention is drawn')
    expect(page).not.toContain('class="heatmaps"')
  })

  test('explains itself with --help', async () => {
    const { code, stdout } = await runMain('digits', '--help')
    expect(code).toBe(0)
    for (const part of ['npm run digits --', '--seed', '--steps', '--out']) expect(stdout).toContain(part)
  })
})
