import { noGrad } from '../../src/autograd/modes.js'
import { apply, type Derivatives, type Operation } from '../../src/core/operation.js'
import type { Shape } from '../../src/core/shape.js'
import type { Tensor } from '../../src/index.js'
import { tensor } from '../../src/index.js'
import { seeded } from '../../src/testing/seeded.js'

/** A float64 leaf of random numbers between −2 and 2, none of them near 0. */
export function leaf(shape: Shape, seed = 0): Tensor {
  return tensor(random(shape, seed), { shape, requiresGrad: true })
}

/** Like `leaf`, but needing no gradient. */
export function fixed(shape: Shape, seed = 0): Tensor {
  return tensor(random(shape, seed), { shape })
}

/** A float64 leaf of the given numbers. */
export function at(...numbers: number[]): Tensor {
  return tensor(Float64Array.from(numbers), { requiresGrad: true })
}

function random(shape: Shape, seed: number): Float64Array {
  const uniform = seeded(seed)
  const size = shape.reduce((product, axis) => product * axis, 1)
  return new Float64Array(size).map(() => (uniform() < 0.5 ? -1 : 1) * (0.2 + 1.8 * uniform()))
}

/** A function with the given forward and, right or wrong, the given rules. */
export function operation(
  name: string,
  forward: (...inputs: Tensor[]) => Tensor,
  derivatives: Derivatives<undefined>,
): (...inputs: Tensor[]) => Tensor {
  const definition: Operation<undefined> = {
    name,
    forward: (inputs) => noGrad(() => forward(...inputs)),
    derivatives,
  }
  return (...inputs) => apply(definition, inputs, undefined)
}

/** The error that a call throws. */
export function errorOf(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was thrown')
}
