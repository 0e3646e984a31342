// Blocks of numbers that broadcast together: what the arbitraries of shapes and tensors are made from. They shrink by
// leaving out parts and keep the numbers in the rest, so that a number that makes a property fail stays there.
import { Arbitrary, type Random, Stream, Value } from 'fast-check'
import { ArgumentError } from '../../core/errors.js'
import { checkInteger, contiguousStrides, type Shape, sizeOf } from '../../core/shape.js'

/** Bounds of the shape that all blocks broadcast to; blocks themselves may have fewer axes, and sizes of 1. */
export interface ShapeOptions {
  /** Least number of axes; default 0. */
  readonly minRank?: number | undefined
  /** Largest number of axes; default 3. */
  readonly maxRank?: number | undefined
  /** Least size of an axis; default 1. With 0 there are empty ones. */
  readonly minSize?: number | undefined
  /** Largest size of an axis; default 4. */
  readonly maxSize?: number | undefined
}

export const shapeOptionNames = ['minRank', 'maxRank', 'minSize', 'maxSize'] as const

export interface Bounds {
  readonly minRank: number
  readonly maxRank: number
  readonly minSize: number
  readonly maxSize: number
}

/** The options with their defaults. Throws ArgumentError where nothing is within them. */
export function boundsFrom(op: string, options: ShapeOptions): Bounds {
  const { minRank = 0, minSize = 1 } = options
  const { maxRank = Math.max(3, minRank), maxSize = Math.max(4, minSize) } = options
  checkInteger(op, 'minRank', minRank, 0)
  checkInteger(op, 'minSize', minSize, 0)
  checkInteger(op, 'maxRank', maxRank, minRank)
  checkInteger(op, 'maxSize', maxSize, minSize)
  return { minRank, maxRank, minSize, maxSize }
}

/** Numbers in row-major order. */
export interface Block {
  readonly shape: Shape
  readonly numbers: readonly number[]
}

/** How blocks are made. */
export interface BlocksPlan {
  /** How many. */
  readonly count: number
  /** Bounds of the shape that they broadcast to; or the one shape of them all, which does not shrink. */
  readonly shape: Bounds | Shape
  readonly values: Arbitrary<number>
  /** Whether some numbers repeat others. */
  readonly ties: boolean
  /** Whether now and then all numbers are the same. */
  readonly uniform: boolean
  /** Magnitudes of numbers differ by at least this. */
  readonly separation: number
}

/** A block whose numbers know how to shrink. */
interface Cells {
  readonly shape: Shape
  readonly cells: readonly Value<number>[]
}

function isShape(shape: Bounds | Shape): shape is Shape {
  return Array.isArray(shape)
}

export class Blocks extends Arbitrary<readonly Block[]> {
  constructor(
    private readonly op: string,
    private readonly plan: BlocksPlan,
  ) {
    super()
  }

  override generate(random: Random, biasFactor: number | undefined): Value<readonly Block[]> {
    const { shape } = this.plan
    const shapes = isShape(shape)
      ? Array.from({ length: this.plan.count }, () => shape)
      : drawShapes(random, shape, this.plan.count)
    const made: Value<number>[] = []
    const uniform = this.plan.uniform && random.nextInt(0, 3) === 0
    const blocks = shapes.map((own) => ({
      shape: own,
      cells: Array.from({ length: sizeOf(own) }, () => {
        const cell = uniform && made.length > 0 ? (made[0] as Value<number>) : this.draw(random, biasFactor, made)
        made.push(cell)
        return cell
      }),
    }))
    return valueFrom(blocks)
  }

  private draw(random: Random, biasFactor: number | undefined, made: readonly Value<number>[]): Value<number> {
    const { ties, separation, values } = this.plan
    if (ties && made.length > 0 && random.nextInt(0, 3) === 0) {
      return made[random.nextInt(0, made.length - 1)] as Value<number>
    }
    for (let attempt = 0; attempt < 1000; attempt++) {
      const cell = values.generate(random, biasFactor)
      if (separation === 0 || made.every((other) => areApart(cell, other, separation))) return cell
    }
    throw new ArgumentError(
      `${this.op}: found no room for ${made.length + 1} numbers that are ${separation} apart; choose a smaller separation or smaller shapes`,
    )
  }

  override canShrinkWithoutContext(value: unknown): value is readonly Block[] {
    void value
    return false
  }

  override shrink(_value: readonly Block[], context: unknown): Stream<Value<readonly Block[]>> {
    if (context === undefined) return Stream.nil()
    return new Stream(this.simpler(context as readonly Cells[])).map(valueFrom)
  }

  private *simpler(blocks: readonly Cells[]): Generator<readonly Cells[]> {
    const { shape, separation } = this.plan
    if (!isShape(shape)) {
      for (const candidate of smaller(blocks)) if (isWithin(candidate, shape)) yield candidate
    }
    for (const candidate of this.withSimplerNumbers(blocks)) {
      if (separation === 0 || allApart(candidate, separation)) yield candidate
    }
  }

  /** Equal numbers together first, so that ties stay; then every number by itself. */
  private *withSimplerNumbers(blocks: readonly Cells[]): Generator<readonly Cells[]> {
    const { values } = this.plan
    const all = blocks.flatMap(({ cells }) => cells)
    const replaced = (replace: (cell: Value<number>, place: number) => Value<number>) => {
      let place = 0
      return blocks.map(({ shape, cells }) => ({ shape, cells: cells.map((cell) => replace(cell, place++)) }))
    }
    const seen = new Set<number>()
    for (const { value, context } of all) {
      if (seen.has(value)) continue
      seen.add(value)
      if (all.filter((other) => Object.is(other.value, value)).length < 2) continue
      for (const simple of values.shrink(value, context)) {
        yield replaced((other) => (Object.is(other.value, value) ? simple : other))
      }
    }
    for (const [i, { value, context }] of all.entries()) {
      for (const simple of values.shrink(value, context)) yield replaced((other, j) => (j === i ? simple : other))
    }
  }
}

function valueFrom(blocks: readonly Cells[]): Value<readonly Block[]> {
  const plain = () => blocks.map(({ shape, cells }) => ({ shape, numbers: cells.map(({ value }) => value) }))
  // What is made of the blocks is made afresh for every run: a gradient gathered in one does not show in the next.
  return new Value<readonly Block[]>(plain(), blocks, plain)
}

function areApart(a: Value<number>, b: Value<number>, separation: number): boolean {
  return Math.abs(Math.abs(a.value) - Math.abs(b.value)) >= separation
}

function allApart(blocks: readonly Cells[], separation: number): boolean {
  const all = blocks.flatMap(({ cells }) => cells)
  return all.every((cell, i) => all.slice(0, i).every((other) => areApart(cell, other, separation)))
}

/** Shapes that broadcast to one within the bounds. The first blocks that have an axis of that shape give its size. */
function drawShapes(random: Random, bounds: Bounds, count: number): Shape[] {
  const rank = random.nextInt(bounds.minRank, bounds.maxRank)
  const target = Array.from({ length: rank }, () => random.nextInt(bounds.minSize, bounds.maxSize))
  if (count === 1) return [target]
  const shapes = Array.from({ length: count }, () => {
    const lead = random.nextBoolean() ? 0 : random.nextInt(0, rank)
    return target.map((size) => (random.nextInt(0, 3) === 0 ? 1 : size)).slice(lead)
  })
  // One of them has them all, so that the bounds hold for what the shapes broadcast to.
  shapes[random.nextInt(0, count - 1)] = target
  return shapes
}

function isWithin(blocks: readonly Cells[], { minRank, minSize }: Bounds): boolean {
  const rank = rankOf(blocks)
  if (rank < minRank) return false
  for (let back = 1; back <= rank; back++) if (sizeAt(blocks, back) < minSize) return false
  return true
}

function rankOf(blocks: readonly Cells[]): number {
  return Math.max(...blocks.map(({ shape }) => shape.length))
}

/** Size of a block along the axis counted from the end; undefined where it has none. */
function ownSize({ shape }: Cells, back: number): number | undefined {
  return shape[shape.length - back]
}

/** Size of what the blocks broadcast to along the axis counted from the end. */
function sizeAt(blocks: readonly Cells[], back: number): number {
  const sizes = blocks.flatMap((block) => ownSize(block, back) ?? [])
  return sizes.includes(0) ? 0 : Math.max(...sizes)
}

/** The same blocks with parts left out, largest parts first. */
function* smaller(blocks: readonly Cells[]): Generator<readonly Cells[]> {
  const rank = rankOf(blocks)
  for (let back = 1; back <= rank; back++) {
    const size = sizeAt(blocks, back)
    const without = (from: number, count: number) =>
      blocks.map((block) => (ownSize(block, back) === size ? cut(block, back, from, count) : block))
    if (size > 0 && blocks.every((block) => (ownSize(block, back) ?? size) === size)) yield without(0, size)
    for (let count = size >> 1; count > 0; count >>= 1) {
      for (let from = 0; from < size; from += count) yield without(from, Math.min(count, size - from))
    }
  }
  for (let back = 1; back <= rank; back++) {
    const size = sizeAt(blocks, back)
    if (size === 0) {
      // Without the axis there are still no numbers where another one is empty.
      const dropped = blocks.map((block) => withoutAxis(block, back))
      if (dropped.every(({ shape, cells }) => sizeOf(shape) === cells.length)) yield dropped
    }
    for (let position = 0; position < size; position++) yield blocks.map((block) => at(block, back, position))
  }
  if (blocks.length > 1) yield* smallerOperands(blocks)
}

/** One of the blocks repeated over an axis, or without its first axis. */
function* smallerOperands(blocks: readonly Cells[]): Generator<readonly Cells[]> {
  for (const [i, block] of blocks.entries()) {
    const withThis = (changed: Cells) => blocks.map((other, j) => (j === i ? changed : other))
    for (let back = 1; back <= block.shape.length; back++) {
      const size = ownSize(block, back) as number
      if (size > 1) yield withThis(cut(block, back, 1, size - 1))
    }
    if (block.shape[0] === 1) yield withThis(withoutAxis(block, block.shape.length))
  }
}

/** The part of a block at one position along the axis counted from the end, or the only one, without that axis. */
function at(block: Cells, back: number, position: number): Cells {
  const size = ownSize(block, back)
  if (size === undefined) return block
  if (size === 1) return withoutAxis(block, back)
  return withoutAxis(cut(cut(block, back, position + 1, size - position - 1), back, 0, position), back)
}

/** The same numbers without the axis counted from the end. */
function withoutAxis({ shape, cells }: Cells, back: number): Cells {
  return { shape: shape.filter((_, axis) => axis !== shape.length - back), cells }
}

/** A block without the `count` positions from `from` on along the axis counted from the end. */
function cut({ shape, cells }: Cells, back: number, from: number, count: number): Cells {
  const axis = shape.length - back
  const size = shape[axis] as number
  const stride = contiguousStrides(shape)[axis] as number
  const isKept = (place: number) => {
    const position = Math.floor(place / stride) % size
    return position < from || position >= from + count
  }
  return {
    shape: shape.map((own, i) => (i === axis ? own - count : own)),
    cells: cells.filter((_, place) => isKept(place)),
  }
}
