import fc, { type Arbitrary } from 'fast-check'
import type { DType } from '../../core/dtype.js'
import { ArgumentError } from '../../core/errors.js'
import { checkOptions } from '../../core/options.js'

/**
 * Numbers on which functions stumble:
 *
 * - `zero`: 0 and −0;
 * - `tie`: a number that stands elsewhere in the same tensors;
 * - `huge`: the largest numbers, and such whose squares overflow;
 * - `tiny`: the smallest normal numbers, and such whose squares underflow;
 * - `subnormal`: the smallest and the largest numbers below them;
 * - `infinity`: ∞ and −∞;
 * - `nan`.
 */
export type AdversarialKind = 'zero' | 'tie' | 'huge' | 'tiny' | 'subnormal' | 'infinity' | 'nan'

type SpecialKind = Exclude<AdversarialKind, 'tie'>

interface Range {
  readonly largest: number
  readonly smallestNormal: number
  readonly smallest: number
}

const ranges: Partial<Record<DType, Range>> = {
  float32: { largest: (2 - 2 ** -23) * 2 ** 127, smallestNormal: 2 ** -126, smallest: 2 ** -149 },
  float64: { largest: Number.MAX_VALUE, smallestNormal: 2 ** -1022, smallest: Number.MIN_VALUE },
}

function specialNumbers(dtype: DType): Partial<Record<SpecialKind, readonly number[]>> {
  const range = ranges[dtype]
  if (range === undefined) return { zero: [0], huge: [2 ** 31 - 1, -(2 ** 31)] }
  const { largest, smallestNormal, smallest } = range
  const both = (...numbers: number[]) => numbers.flatMap((value) => [value, -value])
  return {
    zero: [0, -0],
    huge: both(2 * Math.sqrt(largest), largest),
    tiny: both(Math.sqrt(smallestNormal) / 2, smallestNormal),
    subnormal: both(smallestNormal - smallest, smallest),
    infinity: both(Number.POSITIVE_INFINITY),
    nan: [Number.NaN],
  }
}

/** Binary digits behind the point: few enough for every number to be exact in float32. */
const PLACES = 19

/**
 * Well-scaled numbers: magnitudes uniform between 0.25 and 3, of either sign or positive, exact in float32. Away from
 * 0, ties improbable. Shrinks to 1 and to numbers with few digits.
 */
export function wellScaled(options: { readonly positive?: boolean } = {}): Arbitrary<number> {
  checkOptions('wellScaled', options, ['positive'])
  const unit = 2 ** PLACES
  // Whole numbers shrink towards 0, and so these towards 1.
  const magnitude = fc.integer({ min: -0.75 * unit, max: 2 * unit }).map((n) => 1 + n / unit)
  const signed = fc.tuple(magnitude, fc.boolean()).map(([size, negative]) => (negative ? -size : size))
  // The bias of fast-check towards the ends of ranges would make ties probable.
  return fc.noBias(options.positive === true ? magnitude : signed)
}

/** What tensors of a dtype hold where nothing else is said. */
export function ordinary(dtype: DType): Arbitrary<number> {
  if (dtype === 'bool') return fc.nat(1)
  return dtype === 'int32' ? fc.integer({ min: -9, max: 9 }) : wellScaled()
}

const kinds: readonly AdversarialKind[] = ['zero', 'tie', 'huge', 'tiny', 'subnormal', 'infinity', 'nan']

/** The kinds that are meant, checked against the dtype; with `true` all that it has. */
export function kindsMeant(op: string, choice: boolean | readonly AdversarialKind[], dtype: DType): AdversarialKind[] {
  const special = specialNumbers(dtype)
  const available = kinds.filter((kind) => kind === 'tie' || special[kind] !== undefined)
  if (typeof choice === 'boolean') return choice ? available : []
  for (const kind of choice) {
    if (!available.includes(kind)) {
      throw new ArgumentError(`${op}: ${dtype} has no kind ${String(kind)}; it has ${available.join(', ')}`)
    }
  }
  return [...choice]
}

/** Numbers of which a part is of these kinds (ties apart). Shrinks to ordinary ones where these do as well. */
export function mixed(values: Arbitrary<number>, chosen: readonly AdversarialKind[], dtype: DType): Arbitrary<number> {
  const special = specialNumbers(dtype)
  const sources = chosen.flatMap((kind) => {
    const numbers = kind === 'tie' ? undefined : special[kind]
    return numbers === undefined ? [] : [fc.constantFrom(...numbers)]
  })
  if (sources.length === 0) return values
  return fc.oneof({ withCrossShrink: true }, { arbitrary: values, weight: sources.length + 1 }, ...sources)
}
