import { checkFloating, type DType } from '../core/dtype.js'
import { ArgumentError, showValue } from '../core/errors.js'
import { composite } from '../core/operation.js'
import { checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { checkProbability } from '../ops/dropout.js'
import { Dropout, ReLU } from './activations.js'
import { checkLayer, keepsNothing, type Layer, run } from './layer.js'
import { Linear } from './linear.js'
import { Module } from './module.js'

/**
 * Layers one behind the other: the output of each is the input of the next. Parameters are named by the places of their
 * layers (`0.weight`), as in PyTorch; functions may stand between modules: `new Sequential(new Linear(2, 8), tanh)`.
 */
export class Sequential extends Module {
  readonly layers: readonly Layer[]

  /** @throws ArgumentError where one is neither a module with `forward(x)` nor a function */
  constructor(...layers: readonly Layer[]) {
    super()
    for (const layer of layers) checkLayer(new.target.name, layer)
    this.layers = layers
  }

  protected override *parts(): Iterable<readonly [string, unknown]> {
    yield* Object.entries(this.layers)
    for (const part of Object.entries(this)) if (part[0] !== 'layers') yield part
  }

  /** The output of the last layer; x where there is none. */
  forward(x: Tensor): Tensor {
    checkTensor('Sequential', x)
    const { layers } = this
    return composite(() => layers.reduce((y, layer) => run(layer, y), x))
  }
}
keepsNothing(Sequential)

/** Options of `MLP`. */
export interface MLPOptions {
  /** Between the linear layers: a function, or a module without parameters; default `new ReLU()`. */
  readonly activation?: Layer
  /** Whether the linear layers add biases; default true. */
  readonly bias?: boolean
  /** The probability of dropout behind each activation and at the end; default 0, no dropout. */
  readonly dropout?: number
  /** dtype of the parameters; default float32. */
  readonly dtype?: DType
}

/**
 * A multi-layer perceptron: linear layers with activations between them, `new MLP([2, 16, 1], { activation: tanh })`.
 */
export class MLP extends Sequential {
  /**
   * @param sizes of the input, of each hidden layer, and of the output
   * @throws ArgumentError for fewer than two sizes, or one that is no whole number of at least 1
   */
  constructor(sizes: readonly number[], options: MLPOptions = {}) {
    super(...layersOf(sizes, options))
  }
}
keepsNothing(MLP)

function layersOf(sizes: readonly number[], options: MLPOptions): Layer[] {
  checkOptions('MLP', options, ['activation', 'bias', 'dropout', 'dtype'])
  if (!Array.isArray(sizes) || sizes.length < 2) {
    throw new ArgumentError(
      `MLP: needs the sizes of input, hidden layers and output, [2, 16, 1], got ${showValue(sizes)}`,
    )
  }
  for (const size of sizes) checkInteger('MLP', 'a size', size, 1)
  const { activation = new ReLU(), bias = true, dropout = 0, dtype = 'float32' } = options
  checkLayer('MLP', activation)
  checkProbability('MLP', 'dropout', dropout)
  checkFloating('MLP', dtype)
  const end = dropout === 0 ? [] : [new Dropout(dropout)]
  return sizes.slice(1).flatMap((size, i): Layer[] => {
    const layer = new Linear(sizes[i] as number, size, { bias, dtype })
    return i === sizes.length - 2 ? [layer, ...end] : [layer, activation, ...end]
  })
}
