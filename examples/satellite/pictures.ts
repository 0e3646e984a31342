import type { Picture } from '../support/document.js'
import { percent, position } from '../support/format.js'
import { heatmaps } from '../support/heat.js'
import { tileUri } from '../support/image.js'
import { quantile } from '../support/statistics.js'
import type { Earth } from './earth.js'
import { byStep, type Gazes, STEPS } from './gaze.js'
import { HEADS } from './model.js'
import { GRID, PATCHES, type Place, sharesOf, TILE, type Tile } from './tiles.js'
import type { Exam } from './training.js'

/** Attention by the step from the hidden patch. */
export function stepPicture({ tiles }: Exam, given: Gazes, coasts: readonly number[]): Picture {
  const hidden = coasts.map((i) => tiles[i]?.hidden ?? 0)
  const maps = Array.from({ length: HEADS }, (_, head) =>
    byStep(
      coasts.map((i) => given[i]?.[head] ?? []),
      hidden,
    ),
  )
  const title =
    'Where a hidden coast looks on average: the step from it (framed), rows downwards and columns to the right'
  const html = heatmaps({
    label: title,
    heads: maps.map((_, head) => `head ${head + 1}`),
    rows: [
      maps.map((weights) => ({
        label: [`most: ${percent(Math.max(...weights))}`],
        weights,
        framed: [(STEPS * STEPS - 1) / 2],
      })),
    ],
    grid: STEPS,
    top: Math.max(...maps.flat()),
    quantity: `attention weight, mean over the tiles (evenly: ${(1 / PATCHES).toFixed(3)})`,
  })
  return { kind: 'picture', title, html }
}

/** Held-out tiles and where their hidden patch looks. */
export async function tilePicture(
  earth: Earth,
  { tiles, truth }: Exam,
  given: Gazes,
  answers: readonly number[],
  drawn: readonly number[],
): Promise<Picture> {
  const title =
    'Six held-out tiles whose hidden patch (framed) is coast: its share of water, what the model told, and where it looks'
  const rows = await Promise.all(
    drawn.map(async (i) => {
      const tile = tiles[i] as Tile
      const sides = sharesOf(earth, tile).map((share) => share > 0.5)
      const framed = [tile.hidden]
      const told = `${percent(truth[i] ?? 0)}, told ${percent(answers[i] ?? 0)}`
      return [
        { label: [placeName(earth, tile), told], image: await photograph(earth, tile), framed },
        ...(given[i] ?? []).map((weights) => ({
          label: [`most: ${percent(Math.max(...weights))}`],
          weights,
          framed,
          sides,
        })),
      ]
    }),
  )
  const html = heatmaps({
    label: title,
    heads: ['the tile', ...Array.from({ length: HEADS }, (_, head) => `head ${head + 1}`)],
    rows,
    grid: GRID,
    top: quantile(drawn.flatMap((i) => given[i] ?? []).flat(), 0.99),
    quantity: `attention weight (evenly: ${(1 / PATCHES).toFixed(3)}); white lines: between land and water`,
  })
  return { kind: 'picture', title, html }
}

function placeName({ width, height }: Earth, { left, top }: Place): string {
  return position(90 - ((top + TILE / 2) / height) * 180, ((left + TILE / 2) / width) * 360 - 180)
}

async function photograph({ width, pixels }: Earth, { left, top }: Place): Promise<string> {
  const rows = Array.from({ length: TILE }, (_, y) => {
    const start = ((top + y) * width + left) * 3
    return [...pixels.subarray(start, start + TILE * 3)]
  })
  return await tileUri({ name: 'tile', width: TILE, height: TILE, pixels: Uint8Array.from(rows.flat()) })
}
