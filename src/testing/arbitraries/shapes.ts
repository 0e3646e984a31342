import fc, { type Arbitrary } from 'fast-check'
import { checkOptions } from '../../core/options.js'
import { checkInteger, type Shape } from '../../core/shape.js'
import { Blocks, boundsFrom, type ShapeOptions, shapeOptionNames } from './blocks.js'

/**
 * Shapes within the given bounds. Shrinks to fewer axes and smaller sizes.
 *
 * @throws ArgumentError where the bounds leave nothing
 */
export function shapes(options: ShapeOptions = {}): Arbitrary<Shape> {
  return shapesOf('shapes', 1, options).map((list) => list[0] as Shape)
}

/**
 * `count` shapes that broadcast together, to one within the given bounds: some have fewer axes, or sizes of 1. Shrinks
 * together, to fewer axes and smaller sizes.
 *
 * @throws ArgumentError where the bounds leave nothing, or count is below 1
 */
export function broadcastableShapes(count: number, options: ShapeOptions = {}): Arbitrary<readonly Shape[]> {
  return shapesOf('broadcastableShapes', count, options)
}

function shapesOf(op: string, count: number, options: ShapeOptions): Arbitrary<readonly Shape[]> {
  checkInteger(op, 'count', count, 1)
  checkOptions(op, options, shapeOptionNames)
  const shape = boundsFrom(op, options)
  const blocks = new Blocks(op, { count, shape, values: fc.constant(0), ties: false, uniform: false, separation: 0 })
  return blocks.map((list) => list.map((block) => block.shape))
}
