import { type Tensor, tensor } from 'wengert'
import type { Earth } from './earth.js'

/** Pixels along a side of a tile; a pixel is 0.35° wide and high. */
export const TILE = 32
/** Pixels along a side of a patch. */
export const PATCH = 4
/** Patches along a side of a tile. */
export const GRID = TILE / PATCH
/** N, the number of patches of a tile. */
export const PATCHES = GRID * GRID

/** Longitudes from west to east, in degrees. */
export interface Longitudes {
  readonly west: number
  readonly east: number
}

/** Where tiles to train with lie: the Americas, Europe, Africa and western Asia. */
export const TRAIN: Longitudes = { west: -180, east: 90 }
/** Where tiles to test with lie: eastern Asia, Australia and the islands between. */
export const TEST: Longitudes = { west: 90, east: 180 }
/** Without the polar ice, where the map is stretched most. */
const NORTH = 75
const SOUTH = -60

/** A tile of which one patch is hidden. */
export interface Tile {
  /** The pixel in its upper left corner. */
  readonly left: number
  readonly top: number
  /** Which patch is hidden, counted row by row. */
  readonly hidden: number
}

/** The places of tiles. */
export type Place = Omit<Tile, 'hidden'>

/**
 * All places between two longitudes where a whole tile lies between them and is neither (nearly) all water nor all land:
 * its share of water is 10 to 90 %. Elsewhere there is nothing to find out.
 */
export function placesOf(earth: Earth, { west, east }: Longitudes): Place[] {
  const column = (longitude: number) => Math.round(((longitude + 180) / 360) * earth.width)
  const row = (latitude: number) => Math.round(((90 - latitude) / 180) * earth.height)
  const places: Place[] = []
  for (let top = row(NORTH); top + TILE <= row(SOUTH); top++) {
    for (let left = column(west); left + TILE <= column(east); left++) {
      const water = earth.waterIn(left, top, TILE, TILE)
      if (water >= 0.1 && water <= 0.9) places.push({ left, top })
    }
  }
  return places
}

/** `count` tiles spread evenly over the places, every patch hidden in as many of them: the same in each run. */
export function testTiles(places: readonly Place[], count: number): Tile[] {
  return Array.from({ length: count }, (_, i) => {
    const place = places[Math.floor((i / count) * places.length)] as Place
    // 37 and 64 have no common divisor, so that neighbouring tiles hide patches far apart.
    return { ...place, hidden: (i * 37) % PATCHES }
  })
}

/** The share of water of each patch. */
export function sharesOf(earth: Earth, { left, top }: Place): number[] {
  return Array.from({ length: PATCHES }, (_, patch) => {
    const [row, column] = [Math.floor(patch / GRID), patch % GRID]
    return earth.waterIn(left + column * PATCH, top + row * PATCH, PATCH, PATCH)
  })
}

/** What a model is asked. */
export interface Question {
  /** (B, 3, TILE, TILE), the colours standardised; the hidden patches are in it, and it is for the model to cover them. */
  readonly images: Tensor
  /** bool (B, N, 1), true at the hidden patch of each tile. */
  readonly hidden: Tensor
}

/** Mean and standard deviation of a colour. */
export interface ColourStatistics {
  readonly mean: number
  readonly deviation: number
}

/** Those of red, green and blue in a sample of tiles. */
export function colourStatistics(earth: Earth, places: readonly Place[]): ColourStatistics[] {
  return [0, 1, 2].map((colour) => {
    const values = places.map(({ left, top }) => earth.pixels[(top * earth.width + left) * 3 + colour] ?? 0)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    return { mean, deviation: Math.sqrt(squares / values.length) }
  })
}

/** The question of these tiles. */
export function questionOf(earth: Earth, tiles: readonly Tile[], colours: readonly ColourStatistics[]): Question {
  const images = new Float32Array(tiles.length * 3 * TILE * TILE)
  const hidden = new Uint8Array(tiles.length * PATCHES)
  let place = 0
  tiles.forEach((tile, i) => {
    hidden[i * PATCHES + tile.hidden] = 1
    colours.forEach(({ mean, deviation }, colour) => {
      for (let y = 0; y < TILE; y++) {
        for (let x = 0; x < TILE; x++) {
          const pixel = (tile.top + y) * earth.width + tile.left + x
          images[place++] = ((earth.pixels[pixel * 3 + colour] ?? 0) - mean) / deviation
        }
      }
    })
  })
  return {
    images: tensor(images, { shape: [tiles.length, 3, TILE, TILE] }),
    hidden: tensor(hidden, { shape: [tiles.length, PATCHES, 1], dtype: 'bool' }),
  }
}
