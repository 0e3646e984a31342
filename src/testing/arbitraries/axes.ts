import fc, { type Arbitrary } from 'fast-check'
import { checkOptions } from '../../core/options.js'
import { checkInteger } from '../../core/shape.js'

/**
 * An axis of a tensor with `rank` axes, some counted from the end (negative). Shrinks to 0.
 *
 * @throws ArgumentError where rank is below 1: a scalar has no axis
 */
export function axes(rank: number): Arbitrary<number> {
  checkInteger('axes', 'rank', rank, 1)
  return fc.integer({ min: -rank, max: rank - 1 })
}

/** Options of `axisSubsets`. */
export interface AxisSubsetOptions {
  /** Least number of axes; default 0. */
  readonly minLength?: number | undefined
  /** Largest number of axes; default: all. */
  readonly maxLength?: number | undefined
}

/**
 * Different axes of a tensor with `rank` axes, in any order, some counted from the end. Shrinks to fewer, and to axes
 * counted from the front.
 *
 * @throws ArgumentError where the bounds leave nothing
 */
export function axisSubsets(rank: number, options: AxisSubsetOptions = {}): Arbitrary<readonly number[]> {
  checkOptions('axisSubsets', options, ['minLength', 'maxLength'])
  checkInteger('axisSubsets', 'rank', rank, 0)
  const { minLength = 0, maxLength = rank } = options
  checkInteger('axisSubsets', 'minLength', minLength, 0)
  checkInteger('axisSubsets', 'maxLength', maxLength, minLength)
  checkInteger('axisSubsets', 'rank', rank, maxLength)
  const chosen = fc.shuffledSubarray([...Array(rank).keys()], { minLength, maxLength })
  const fromTheEnd = fc.array(fc.boolean(), { minLength: rank, maxLength: rank })
  return fc
    .tuple(chosen, fromTheEnd)
    .map(([list, negative]) => list.map((axis) => (negative[axis] === true ? axis - rank : axis)))
}

/**
 * All axes of a tensor with `rank` axes in some order, each counted from the front. Every order is as likely; shrinks
 * to the order as it is.
 *
 * @throws ArgumentError where rank is below 0
 */
export function permutations(rank: number): Arbitrary<readonly number[]> {
  checkInteger('permutations', 'rank', rank, 0)
  // Each axis in turn is one of those that are left: all choices 0 leave the order as it is.
  const choices = Array.from({ length: rank }, (_, place) => fc.noBias(fc.nat(rank - 1 - place)))
  return fc.tuple(...choices).map((places) => {
    const left = [...Array(rank).keys()]
    return places.map((place) => left.splice(place, 1)[0] as number)
  })
}
