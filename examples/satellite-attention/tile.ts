import { InputError } from '../support/errors.js'
import type { Image } from '../support/image.js'
import type { Place } from './options.js'

/** Pixels along each side of the tile. */
export const TILE = 32
/** Pixels along each side of a patch. */
export const PATCH = 8
/** Patches along each side of the tile. */
export const GRID = TILE / PATCH
/** N, the number of patches. */
export const PATCHES = GRID * GRID
/** D, the length of a patch as a vector: 8 × 8 pixels of three colours. */
export const FEATURES = PATCH * PATCH * 3

/** A square piece of an image. */
export interface Tile {
  readonly image: Image
  /** Pixel of the upper left corner in the image that it was cut from. */
  readonly left: number
  readonly top: number
  /** Its centre in degrees, if the image is a map of the Earth. */
  readonly latitude: number
  readonly longitude: number
}

/** The place of a tile for which none is asked: the Gulf of Aden on a map of the Earth. */
export const GULF_OF_ADEN: Place = { kind: 'at', latitude: 11, longitude: 48 }

/** The place in the middle of an image. */
export function middleOf(image: Image): Place {
  return { kind: 'corner', x: Math.floor((image.width - TILE) / 2), y: Math.floor((image.height - TILE) / 2) }
}

/**
 * Cuts the tile. Around a point on Earth, the image is taken as an equirectangular map (longitude −180 to 180 from left
 * to right, latitude 90 to −90 from top to bottom): longitudes outside of that range wrap around, and so does a tile
 * that crosses the map's left or right edge.
 *
 * @throws InputError where the image is smaller than a tile, or the tile reaches beyond it
 */
export function cutTile(image: Image, place: Place): Tile {
  const { width, height } = image
  if (width < TILE || height < TILE) {
    throw new InputError(`the image has ${width} × ${height} pixels, a tile needs ${TILE} × ${TILE}`)
  }
  const { left, top } = cornerOf(place, image)
  if (top < 0 || top + TILE > height) {
    if (place.kind === 'at') {
      const limit = 90 - ((TILE / 2) * 180) / height
      throw new InputError(
        `the tile around latitude ${place.latitude} reaches beyond the pole; its centre must lie within ±${limit.toFixed(2)}`,
      )
    }
    throw outside(image, left, top)
  }
  if (place.kind === 'corner' && (left < 0 || left + TILE > width)) throw outside(image, left, top)
  const pixels = new Uint8Array(TILE * TILE * 3)
  for (let y = 0; y < TILE; y++) {
    for (let x = 0; x < TILE; x++) {
      const from = ((top + y) * width + ((left + x) % width)) * 3
      pixels.set(image.pixels.subarray(from, from + 3), (y * TILE + x) * 3)
    }
  }
  return {
    image: { name: image.name, width: TILE, height: TILE, pixels },
    left,
    top,
    latitude: 90 - ((top + TILE / 2) / height) * 180,
    longitude: ((((left + TILE / 2) / width) * 360) % 360) - 180,
  }
}

function cornerOf(place: Place, { width, height }: Image): { left: number; top: number } {
  if (place.kind === 'corner') return { left: place.x, top: place.y }
  const left = Math.round(((place.longitude + 180) / 360) * width) - TILE / 2
  return {
    left: ((left % width) + width) % width,
    top: Math.round(((90 - place.latitude) / 180) * height) - TILE / 2,
  }
}

function outside({ width, height }: Image, left: number, top: number): InputError {
  return new InputError(
    `the tile at ${left},${top} lies outside of the image; X may be 0 to ${width - TILE}, Y 0 to ${height - TILE}`,
  )
}

/**
 * X, row by row: each row is one patch (row by row over the tile), its pixels row by row, red, green and blue beside
 * each other. Every feature (a place in the patch and a colour) is standardised over the patches to mean 0 and variance
 * 1, as the argument for 1/√d_k assumes: what all patches share, the general blue of the picture, would otherwise
 * dominate every score. A feature that is the same in all patches tells them apart in nothing and becomes 0.
 *
 * @returns PATCHES × FEATURES numbers
 * @throws InputError where that is so of every feature
 */
export function standardisedPatches({ image }: Tile): Float64Array {
  const x = new Float64Array(PATCHES * FEATURES)
  for (let row = 0; row < PATCHES; row++) {
    for (let feature = 0; feature < FEATURES; feature++) x[row * FEATURES + feature] = pixelOf(image, row, feature)
  }
  let varied = false
  for (let feature = 0; feature < FEATURES; feature++) {
    const column = Array.from({ length: PATCHES }, (_, row) => x[row * FEATURES + feature] ?? 0)
    const mean = column.reduce((sum, value) => sum + value, 0) / PATCHES
    const variance = column.reduce((sum, value) => sum + (value - mean) ** 2, 0) / PATCHES
    const scale = variance === 0 ? 0 : 1 / Math.sqrt(variance)
    varied ||= variance > 0
    column.forEach((value, row) => {
      x[row * FEATURES + feature] = (value - mean) * scale
    })
  }
  if (!varied) {
    throw new InputError('all patches of this tile are alike, so they cannot be standardised; choose another place')
  }
  return x
}

function pixelOf(image: Image, patch: number, feature: number): number {
  const pixel = Math.floor(feature / 3)
  const x = (patch % GRID) * PATCH + (pixel % PATCH)
  const y = Math.floor(patch / GRID) * PATCH + Math.floor(pixel / PATCH)
  return image.pixels[(y * TILE + x) * 3 + (feature % 3)] ?? 0
}
