import { noGrad } from '../../src/autograd/modes.js'
import { apply, type Derivatives, type Operation } from '../../src/core/operation.js'
import type { Shape } from '../../src/core/shape.js'
import type { Tensor } from '../../src/index.js'
import { tensor } from '../../src/index.js'

/** A float64 leaf of irregular numbers between −2 and 2, none of them near 0. */
export function leaf(shape: Shape, phase = 0): Tensor {
  return tensor(irregular(shape, phase), { shape, requiresGrad: true })
}

/** Like `leaf`, but needing no gradient. */
export function fixed(shape: Shape, phase = 0): Tensor {
  return tensor(irregular(shape, phase), { shape })
}

/** A float64 leaf of the given numbers. */
export function at(...numbers: number[]): Tensor {
  return tensor(Float64Array.from(numbers), { requiresGrad: true })
}

function irregular(shape: Shape, phase: number): Float64Array {
  const size = shape.reduce((product, axis) => product * axis, 1)
  return new Float64Array(size).map((_, i) => {
    const wave = Math.sin(12.9898 * (i + 1) + 78.233 * (phase + 1))
    return Math.sign(wave) * (0.2 + 1.8 * Math.abs(wave))
  })
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
