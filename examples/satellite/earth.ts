import { readFile } from 'node:fs/promises'
import sharp from 'sharp'
import { loadImage } from '../support/image.js'

/** The map: longitude −180° to 180° from left to right, latitude 90° to −90° from top to bottom. */
export interface Earth {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel. */
  readonly pixels: Uint8Array
  /** How much of a rectangle is water, from 0 to 1. */
  waterIn(left: number, top: number, width: number, height: number): number
}

/** Reads the satellite image and its water mask. */
export async function loadEarth(): Promise<Earth> {
  const { width, height, pixels } = await loadImage(null)
  const file = await readFile(new URL('../data/earth-water-1024x512.png', import.meta.url))
  const mask = await sharp(file).greyscale().raw({ depth: 'uchar' }).toBuffer()
  // Sums of all pixels above and to the left: four of them give the sum of a rectangle.
  const sums = new Float64Array((width + 1) * (height + 1))
  const at = (x: number, y: number) => sums[y * (width + 1) + x] ?? 0
  for (let y = 0; y < height; y++) {
    let row = 0
    for (let x = 0; x < width; x++) {
      row += (mask[y * width + x] ?? 0) / 255
      sums[(y + 1) * (width + 1) + x + 1] = at(x + 1, y) + row
    }
  }
  return {
    width,
    height,
    pixels,
    waterIn(left, top, w, h) {
      const sum = at(left + w, top + h) - at(left, top + h) - at(left + w, top) + at(left, top)
      return Math.min(1, Math.max(0, sum / (w * h)))
    },
  }
}
