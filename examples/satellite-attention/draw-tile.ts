import type { ChalkInstance } from 'chalk'
import { GRID, PATCH, TILE, type Tile } from './tile.js'

const SHADES = ' .:-=+*#%@'

/**
 * The tile, its patches apart, in half blocks of the pixels' colours: two pixels above each other make one character.
 * Without enough colours, in characters that are the denser the lighter the pixels.
 */
export function drawTile({ image }: Tile, colours: ChalkInstance): string {
  const pixel = (x: number, y: number): Colour => {
    const [red = 0, green = 0, blue = 0] = image.pixels.subarray((y * TILE + x) * 3)
    return [red, green, blue]
  }
  const cell = (x: number, y: number): string => {
    const above = pixel(x, y)
    const below = pixel(x, y + 1)
    if (colours.level >= 2) return colours.rgb(...above).bgRgb(...below)('▀')
    const light = (luminance(above) + luminance(below)) / 2
    return SHADES.charAt(Math.min(SHADES.length - 1, Math.floor((light / 256) * SHADES.length)))
  }
  const places = (step: number) => Array.from({ length: PATCH / step }, (_, i) => i * step)
  const rows = Array.from({ length: GRID }, (_, row) => {
    const lines = places(2).map((y) => {
      const patches = Array.from({ length: GRID }, (_, column) =>
        places(1)
          .map((x) => cell(column * PATCH + x, row * PATCH + y))
          .join(''),
      )
      return `  ${patches.join(' ')}`
    })
    return [`${lines[0]}   patches ${row * GRID + 1} to ${(row + 1) * GRID}`, ...lines.slice(1)].join('\n')
  })
  return rows.join('\n\n')
}

type Colour = readonly [number, number, number]

/** Rec. 601, of the gamma-encoded values. */
function luminance([red, green, blue]: Colour): number {
  return 0.299 * red + 0.587 * green + 0.114 * blue
}
