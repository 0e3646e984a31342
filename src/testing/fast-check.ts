// The public names of `wengert/testing/fast-check`, nothing else.
export { type AxisSubsetOptions, axes, axisSubsets, permutations } from './arbitraries/axes.js'
export type { ShapeOptions } from './arbitraries/blocks.js'
export { type AdversarialKind, wellScaled } from './arbitraries/numbers.js'
export { broadcastableShapes, shapes } from './arbitraries/shapes.js'
export { broadcastableTensors, masks, type TensorArbitraryOptions, tensors } from './arbitraries/tensors.js'
