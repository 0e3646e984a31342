// The hidden patch of a satellite tile: the task, that nothing of the patch reaches the model, and the short form.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { manualSeed, noGrad, tensor } from 'wengert'
import { type Earth, loadEarth } from '../../examples/satellite/earth.js'
import { errorsOf, neighboursOf } from '../../examples/satellite/errors.js'
import { byDistance, byGround, byStep, distanceOf, EVEN, STEPS } from '../../examples/satellite/gaze.js'
import { HEADS, HiddenPatchModel } from '../../examples/satellite/model.js'
import {
  GRID,
  PATCH,
  PATCHES,
  placesOf,
  questionOf,
  sharesOf,
  TEST,
  TILE,
  TRAIN,
  testTiles,
} from '../../examples/satellite/tiles.js'
import { runExample, runMain } from './command.js'

let folder = ''
let earth: Earth
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wengert-satellite-'))
  earth = await loadEarth()
})
afterAll(() => rm(folder, { recursive: true }))

const PLAIN = [0, 1, 2].map(() => ({ mean: 0, deviation: 255 }))

describe('the task', () => {
  test('the mask fits the image: the Pacific is water, the Sahara land', () => {
    expect(earth.waterIn(120, 230, 32, 32)).toBe(1)
    expect(earth.waterIn(540, 190, 16, 16)).toBeLessThan(0.01)
  })

  test('no pixel is both in a tile to train with and in one to test with', () => {
    const columns = (longitudes: typeof TRAIN) =>
      new Set(placesOf(earth, longitudes).flatMap(({ left }) => Array.from({ length: TILE }, (_, x) => left + x)))
    const [train, held] = [columns(TRAIN), columns(TEST)]
    expect(train.size).toBeGreaterThan(700)
    expect(held.size).toBeGreaterThan(200)
    expect([...held].filter((column) => train.has(column))).toEqual([])
    expect(Math.max(...held)).toBeLessThan(earth.width)
  })

  test('the shares of the patches are those of the mask', () => {
    const [place] = testTiles(placesOf(earth, TEST), 8)
    if (place === undefined) throw new Error('there is no tile')
    const shares = sharesOf(earth, place)
    const mean = shares.reduce((sum, share) => sum + share, 0) / PATCHES
    expect(mean).toBeCloseTo(earth.waterIn(place.left, place.top, TILE, TILE), 10)
    const [row, column] = [3, 5]
    const one = earth.waterIn(place.left + column * PATCH, place.top + row * PATCH, PATCH, PATCH)
    expect(shares[row * GRID + column]).toBe(one)
  })

  test('every patch is hidden in as many test tiles', () => {
    const hidden = testTiles(placesOf(earth, TEST), 2 * PATCHES).map((tile) => tile.hidden)
    expect(hidden.sort((a, b) => a - b)).toEqual(Array.from({ length: 2 * PATCHES }, (_, i) => Math.floor(i / 2)))
  })
})

test.each(['none', '1-D', '2-D'] as const)(
  'with positions %s, nothing of the hidden patch reaches the model',
  (kind) => {
    manualSeed(1)
    const model = new HiddenPatchModel(kind)
    const tiles = testTiles(placesOf(earth, TEST), 3)
    const question = questionOf(earth, tiles, PLAIN)
    const changed = question.images.data.slice()
    const visible = question.images.data.slice()
    tiles.forEach(({ hidden }, i) => {
      const start = (i * 3 * TILE + Math.floor(hidden / GRID) * PATCH) * TILE + (hidden % GRID) * PATCH
      changed[start] = 5
      visible[start + (hidden % GRID === 0 ? PATCH : -PATCH)] = 5
    })
    const ask = (pixels: typeof changed) =>
      noGrad(() => model.forward({ ...question, images: tensor(pixels, { shape: question.images.shape }) }).toArray())
    const before = model.forward(question).toArray()
    expect(ask(changed)).toEqual(before)
    expect(ask(visible)).not.toEqual(before)
  },
)

describe('figures of attention', () => {
  test('patches around one', () => {
    expect(neighboursOf(0)).toEqual([1, GRID, GRID + 1])
    expect(neighboursOf(GRID + 1)).toHaveLength(8)
    expect(neighboursOf(GRID - 1)).toEqual([GRID - 2, 2 * GRID - 2, 2 * GRID - 1])
  })

  test('distances', () => {
    const from = 3 * GRID + 3
    const steps = [0, 1, GRID, GRID - 1, 2, 2 * GRID + 1, 3, 4 * GRID]
    expect(steps.map((step) => distanceOf(from, from + step))).toEqual([0, 1, 1, 2, 3, 3, 4, 4])
  })

  test('even attention is spread as the patches are', () => {
    expect(byDistance(EVEN, 0).map((share) => share * PATCHES)).toEqual([1, 2, 1, 5, PATCHES - 9])
    const half = Array.from({ length: PATCHES }, (_, i) => (i < PATCHES / 2 ? 1 : 0))
    expect(byGround(EVEN, half)).toEqual([0, 0.5, 0.5])
  })

  test('attention by step has its middle at the patch itself', () => {
    const weights = Array.from({ length: PATCHES }, (_, i) => i)
    const map = byStep([weights, weights], [0, PATCHES - 1])
    expect(map).toHaveLength(STEPS ** 2)
    expect(map[(STEPS ** 2 - 1) / 2]).toBe((0 + PATCHES - 1) / 2)
    expect(map.at(-1)).toBe(PATCHES - 1)
    expect(map[0]).toBe(0)
  })

  test('errors', () => {
    const { absolute, rootMeanSquare, coast } = errorsOf([0.5, 0, 1], [0.7, 0, 0.6])
    expect(absolute).toBeCloseTo(0.2, 12)
    expect(rootMeanSquare).toBeCloseTo(Math.sqrt(0.2 / 3), 12)
    expect(coast).toBeCloseTo(0.3, 12)
  })
})

interface Numbers {
  readonly errors: Readonly<Record<string, { readonly absolute: number }>>
  readonly curves: Readonly<Record<string, readonly (readonly [number, number])[]>>
  readonly attention: readonly { readonly byDistance: readonly number[]; readonly byGround: readonly number[] }[] | null
}

describe('the command', () => {
  test('learns in a few steps, most with 2-D positions, and draws where it looks', async () => {
    const runs = await Promise.all(
      ['first', 'second'].map((run) => runExample<Numbers>('satellite', join(folder, run), '--steps', '40')),
    )
    const [first, second] = runs as [(typeof runs)[number], (typeof runs)[number]]
    expect(second.numbers).toEqual(first.numbers)

    const { errors, curves, attention } = first.numbers
    const error = (name: string) => errors[name]?.absolute ?? Number.NaN
    expect(error('2-D position')).toBeLessThan(0.28)
    expect(error('2-D position')).toBeLessThan(error('no position') - 0.04)
    expect(error('no position')).toBeLessThan(error('the mean'))
    expect(error('the neighbours’ average')).toBeLessThan(0.15)
    expect(Object.values(curves).map((curve) => curve.map(([steps]) => steps))).toEqual([
      [0, 25, 40],
      [0, 25, 40],
      [0, 25, 40],
    ])
    for (const { byDistance: distances, byGround: grounds } of attention ?? []) {
      for (const shares of [distances, grounds]) {
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5)
      }
    }

    const { document } = parseHTML(first.page)
    expect(document.querySelectorAll('script, link, iframe, object, img')).toHaveLength(0)
    const [curve, byStepMap, tiles, ...others] = Array.from(document.querySelectorAll('figure > svg'))
    expect(others).toEqual([])
    expect(curve?.querySelectorAll('[aria-label="line"] path')).toHaveLength(3)
    expect(byStepMap?.querySelectorAll('g > rect[shape-rendering]')).toHaveLength(HEADS * STEPS ** 2)
    expect(tiles?.querySelectorAll('image')).toHaveLength(6)
    expect(tiles?.querySelectorAll('g > rect[shape-rendering]')).toHaveLength(6 * HEADS * PATCHES)
    // Anything may stand in the pixels of an image.
    expect(first.page.replaceAll(/data:[^"]*/g, '')).not.toMatch(/NaN|Infinity|undefined/)
  })

  test('draws no attention of a model that has not learned', async () => {
    const { page, numbers } = await runExample<Numbers>('satellite', join(folder, 'untrained'), '--steps', '1')
    expect(numbers.attention).toBeNull()
    expect(page).toContain('before there are heatmaps')
    expect(page).not.toContain('class="heatmaps"')
  })

  test('explains itself with --help', async () => {
    const { code, stdout } = await runMain('satellite', '--help')
    expect(code).toBe(0)
    for (const part of ['npm run satellite --', '--seed', '--steps', '--out']) expect(stdout).toContain(part)
  })
})
