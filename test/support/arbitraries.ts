import fc, { type Arbitrary } from 'fast-check'
import { type Shape, type Tensor, tensor } from 'wengert'
import { broadcastTo, type Dense, permute, sizeOf } from './reference.js'

/** Sizes of axes: 0, 1, and odd ones around the width of a vector. */
export const sizes = (minimum = 0): Arbitrary<number> =>
  fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: minimum, max: 1 }) },
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
  )

/** Shapes of rank 0 to 4. */
export const shapes = (options: { readonly minimum?: number; readonly ranks?: readonly [number, number] } = {}) => {
  const [minLength, maxLength] = options.ranks ?? [0, 4]
  return fc.array(sizes(options.minimum), { minLength, maxLength })
}

/** Small numbers with few digits, so that sums and products of some of them are exact in float32. */
export const exactNumbers: Arbitrary<number> = fc.integer({ min: -32, max: 32 }).map((n) => n / 4)

/** Ordinary numbers between −3 and 3. */
export const moderateNumbers: Arbitrary<number> = fc.double({ min: -3, max: 3, noNaN: true })

/** Numbers as floats have them: zeros of both signs, infinities and NaN among them. */
export const anyNumbers: Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: exactNumbers },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, -0, 1, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN),
  },
)

/** An array of a given shape. */
export function denseWith(shape: Shape, values: Arbitrary<number>): Arbitrary<Dense> {
  const length = sizeOf(shape)
  return fc.array(values, { minLength: length, maxLength: length }).map((data) => ({ shape, data }))
}

/** A shape that broadcasts to `target` without changing it: axes in front left out, some sizes 1. */
export function shapesBelow(target: Shape): Arbitrary<number[]> {
  return fc
    .tuple(fc.nat(target.length), fc.array(fc.boolean(), { minLength: target.length, maxLength: target.length }))
    .map(([lead, ones]) => target.map((size, axis) => (ones[axis] === true ? 1 : size)).slice(lead))
}

/** Several shapes that broadcast together. */
export function broadcastable(count: number, options?: Parameters<typeof shapes>[0]): Arbitrary<number[][]> {
  return shapes(options).chain((target) => fc.array(shapesBelow(target), { minLength: count, maxLength: count }))
}

/** Some axes of a shape (none, one, several or, as undefined, all of them), some counted from the end. */
export function axesOf(shape: Shape): Arbitrary<number[] | undefined> {
  const rank = shape.length
  const some = fc
    .tuple(fc.subarray([...shape.keys()]), fc.array(fc.boolean(), { minLength: rank, maxLength: rank }))
    .map(([axes, negative]) => axes.map((axis) => (negative[axis] === true ? axis - rank : axis)))
  return fc.option(some, { nil: undefined })
}

/** The axes of a rank in some order. */
export function orders(rank: number): Arbitrary<number[]> {
  return fc.shuffledSubarray([...Array(rank).keys()], { minLength: rank, maxLength: rank })
}

type Numeric = 'float32' | 'float64' | 'int32'

/** An array, and a tensor of it whose numbers lie in memory in some way. */
export class Laid {
  constructor(
    readonly layout: string,
    readonly dense: Dense,
    /** Makes the tensor. */
    readonly make: (dtype: Numeric) => Tensor,
  ) {}

  [fc.toStringMethod](): string {
    return `${this.layout} (${this.dense.shape.join(', ')}): ${fc.stringify(this.dense.data)}`
  }
}

/** An array of a given shape, and a tensor of it that is row-major, a permuted view, or a broadcast view. */
export function laidOut(shape: Shape, values: Arbitrary<number>): Arbitrary<Laid> {
  const asTensor = ({ shape, data }: Dense, dtype: Numeric) => tensor([...data], { shape, dtype })
  const plain = denseWith(shape, values).map((dense) => new Laid('row-major', dense, (dtype) => asTensor(dense, dtype)))
  const permuted = fc.tuple(denseWith(shape, values), orders(shape.length)).map(([dense, order]) => {
    // The numbers lie in another order of the axes, and are looked at through the inverse.
    const inverse = order.map((_, axis) => order.indexOf(axis))
    const turned = permute(dense, order)
    return new Laid(`permuted by ${inverse}`, dense, (dtype) => asTensor(turned, dtype).permute(inverse))
  })
  const broadcast = shapesBelow(shape)
    .chain((small) => denseWith(small, values))
    .map(
      (small) =>
        new Laid(`broadcast from (${small.shape.join(', ')})`, broadcastTo(small, shape), (dtype) =>
          asTensor(small, dtype).broadcastTo(shape),
        ),
    )
  return fc.oneof(plain, permuted, broadcast)
}
