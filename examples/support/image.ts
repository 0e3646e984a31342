import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import sharp, { type Sharp } from 'sharp'
import { InputError, reason } from './errors.js'

/** An RGB image: three bytes a pixel, row by row from the top. */
export interface Image {
  /** What the user calls it. */
  readonly name: string
  readonly width: number
  readonly height: number
  readonly pixels: Uint8Array
}

const builtIn = fileURLToPath(new URL('../data/earth-1024x512.jpg', import.meta.url))

/**
 * Decodes an image file to RGB: the orientation noted by a camera applied, grey, CMYK and 16-bit colours converted,
 * transparency laid over white.
 *
 * @param file null for the built-in satellite image
 * @throws InputError where it cannot be read or decoded
 */
export async function loadImage(file: string | null): Promise<Image> {
  const name = file ?? 'NASA Blue Marble'
  const bytes = await readFile(file ?? builtIn).catch((thrown) => {
    throw new InputError(`cannot read the image: ${reason(thrown)}`)
  })
  try {
    const { data, info } = await sharp(bytes)
      .autoOrient()
      .flatten({ background: 'white' })
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true })
    return { name, width: info.width, height: info.height, pixels: data }
  } catch (thrown) {
    throw new InputError(`cannot decode the image '${name}': ${reason(thrown)}`)
  }
}

/** The image as a data URI with every pixel as it is. */
export async function tileUri(image: Image): Promise<string> {
  const file = await open(image).png().toBuffer()
  return `data:image/png;base64,${file.toString('base64')}`
}

/** The image, made small, as a data URI. */
export async function mapUri(image: Image): Promise<string> {
  const file = await open(image).resize({ width: 800, withoutEnlargement: true }).jpeg().toBuffer()
  return `data:image/jpeg;base64,${file.toString('base64')}`
}

function open({ width, height, pixels }: Image): Sharp {
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}
