import { InvalidArgumentError, Option } from 'commander'
import { command, outOption, readArguments, seedOption } from '../support/command.js'

/** Where the tile is: around a point on Earth, or by the pixel of its upper left corner. */
export type Place =
  | { readonly kind: 'at'; readonly latitude: number; readonly longitude: number }
  | { readonly kind: 'corner'; readonly x: number; readonly y: number }

/** What the command line asks for. */
export interface Options {
  /** An image file; null for the one that comes with the example. */
  readonly image: string | null
  /** Null for the default place. */
  readonly place: Place | null
  readonly seed: number
  /** The folder of the report. */
  readonly out: string
}

const description =
  'Takes a 32 × 32 pixel tile of a satellite image through multi-head attention: the shapes step by step, the four ' +
  'weight gradients checked against finite differences, and what happens to them without the factor 1/√d_k.'

/**
 * Reads the arguments that follow the command.
 *
 * @returns null where they asked for help, which has then been printed
 * @throws InputError for options or values that are not understood
 */
export function readOptions(args: readonly string[]): Options | null {
  const options = readArguments<{ image?: string; at?: Place; tile?: Place; seed: number; out: string }>(
    command('npm start --', description)
      .option('--image <file>', 'a JPEG or PNG file, taken as an equirectangular map of the whole Earth by --at')
      .addOption(
        new Option('--at <lat,lon>', 'centre of the tile in degrees (north and east positive)')
          .argParser(readPoint)
          .conflicts('tile'),
      )
      .addOption(new Option('--tile <x,y>', 'pixel of the upper left corner of the tile').argParser(readCorner))
      .addOption(seedOption())
      .addOption(outOption('out'))
      .addHelpText(
        'after',
        '\nWithout --at or --tile: 11,48 (Gulf of Aden) of the built-in image, the middle of another one.',
      ),
    args,
  )
  if (options === null) return null
  const { image, at, tile, seed, out } = options
  return { image: image ?? null, place: at ?? tile ?? null, seed, out }
}

function readPoint(text: string): Place {
  const [latitude, longitude] = readPair(
    text,
    /^[+-]?(\d+\.?\d*|\.\d+)$/,
    'LAT,LON in degrees, as in 11,48 or -33.9,18.4',
  )
  if (Math.abs(latitude) > 90) throw new InvalidArgumentError('The latitude must lie between -90 and 90.')
  if (Math.abs(longitude) > 360) throw new InvalidArgumentError('The longitude must lie between -360 and 360.')
  return { kind: 'at', latitude, longitude }
}

function readCorner(text: string): Place {
  const [x, y] = readPair(text, /^[+-]?\d+$/, 'X,Y in whole pixels, as in 640,200')
  return { kind: 'corner', x, y }
}

function readPair(text: string, form: RegExp, expected: string): [number, number] {
  const parts = text.split(',').map((part) => part.trim())
  const [first, second] = parts
  if (parts.length !== 2 || first === undefined || second === undefined || !form.test(first) || !form.test(second)) {
    throw new InvalidArgumentError(`Expected ${expected}.`)
  }
  return [Number(first), Number(second)]
}
