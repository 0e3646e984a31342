// Wrong derivatives that any operation can have.
import * as w from '../../../src/index.js'
import type { WrongRule } from '../substitute.js'
import { exceptLast, firstSlice, sizeOf } from './kit.js'

/** Mistakes that every rule can have. */
export const general: Readonly<Record<string, WrongRule>> = {
  'the other sign': ({ right }) => w.neg(right()),
  'a factor of 2 too much': ({ right }) => w.scale(right(), 2),
  'a factor off by 1 %': ({ right }) => w.scale(right(), 1.01),
  'a factor off by 0.01 %': ({ right }) => w.scale(right(), 1.0001),
  'no derivative at all': ({ right }) => w.zerosLike(right()),
  'the last element forgotten': ({ right }) => exceptLast(right()),
  'the cotangent ignored': ({ g, right }) => right({ g: w.onesLike(g) }),
}

/** Mistakes where an operand was broadcast. */
export const broadcasting: Readonly<Record<string, WrongRule>> = {
  'broadcast: no reduction': ({ g, right }) => right({ inputShape: g.shape }),
  'broadcast: one slice instead of the sum': ({ g, inputShape, right }) =>
    firstSlice(right({ inputShape: g.shape }), inputShape),
  'broadcast: the mean instead of the sum': ({ g, inputShape, right }) =>
    w.scale(right(), sizeOf(inputShape) / Math.max(1, g.size)),
}
