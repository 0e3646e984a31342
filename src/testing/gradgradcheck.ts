import { vectorJacobianProduct } from '../autograd/vjp.js'
import type { Tensor } from '../core/tensor.js'
import { tensor, zeros } from '../ops/creation.js'
import { check } from './check.js'
import { callFunction, type DifferentiableFunction, VectorFunction } from './function.js'
import type { Names, Part } from './layout.js'
import { type GradcheckOptions, settingsFrom } from './options.js'
import { GradcheckError, type GradcheckReport } from './report.js'
import { randomWeights, seeded } from './seeded.js'

const OP = 'gradgradcheck'

/**
 * Checks second derivatives: {@link gradcheck} of the function that `fn`'s reverse sweep is,
 *
 *     g(x, v) = vᵀ · ∂f/∂x,   towards the inputs x and the cotangents v,
 *
 * at random seeded cotangents, one for each output. It holds the derivative of the gradient against differences of the
 * gradient; that the gradient itself is right is for `gradcheck` to say. In the report, the inputs are those of `fn`
 * and, after them, the cotangents; output k is the gradient towards the k-th checked input.
 *
 * @param fn as for `gradcheck`
 * @param inputs as for `gradcheck`
 * @throws as `gradcheck` does
 */
export function gradgradcheck(
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): GradcheckReport {
  const settings = settingsFrom(OP, options)
  const plain: Names = { input: (position) => `input ${position}`, output: (position) => `output ${position}` }
  const f = new VectorFunction(OP, fn, inputs, plain)
  const { outputs } = f.evaluate(f.point)
  const differentiable = f.outputs.parts.filter((_, i) => outputs[i]?.requiresGrad === true)
  const uniform = seeded(settings.seed)
  const cotangents = differentiable.map(({ shape }) =>
    tensor(
      randomWeights(
        shape.reduce((product, size) => product * size, 1),
        uniform,
      ),
      { shape, requiresGrad: true },
    ),
  )
  const names: Names = {
    input: (position) =>
      position < inputs.length
        ? plain.input(position)
        : `cotangent of ${differentiable[position - inputs.length]?.name}`,
    output: (position) => `gradient of ${f.inputs.parts[position]?.name}`,
  }
  const gradient = (...given: Tensor[]) => {
    const checked = f.inputs.parts.map(({ position }) => given[position] as Tensor)
    const results = callFunction(OP, fn, given.slice(0, inputs.length)).filter(({ requiresGrad }) => requiresGrad)
    const products = vectorJacobianProduct(results, given.slice(inputs.length), checked, { createGraph: true })
    return products.map((product, i) => product ?? zeros((f.inputs.parts[i] as Part).shape, { dtype: 'float64' }))
  }
  return check(OP, OP, new VectorFunction(OP, gradient, [...inputs, ...cotangents], names), names, settings)
}

/**
 * Like {@link gradgradcheck}, for tests: does nothing where all is right.
 *
 * @throws GradcheckError with the report, and its text as the message, where the report is not ok
 */
export function assertGradgradcheck(
  fn: DifferentiableFunction,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): void {
  const report = gradgradcheck(fn, inputs, options)
  if (!report.ok) throw new GradcheckError(report)
}
