// The analytic side: vector-Jacobian products of the checked function.
import { vectorJacobianProduct } from '../autograd/vjp.js'
import type { Tensor } from '../core/tensor.js'
import { tensor } from '../ops/creation.js'
import type { Evaluation } from './function.js'
import type { Layout, Part, Vector } from './layout.js'

/** A vector-Jacobian product as one vector. */
export interface Gradient {
  readonly values: Vector
  /** Of each checked input, whether the tape leads to it. */
  readonly reached: readonly boolean[]
  /** What is wrong with the gradients' form. */
  readonly faults: readonly string[]
}

/** `cotangentᵀ · J` by the reverse sweep, with the cotangent over all outputs as one vector. The tape is kept. */
export function gradientAt(evaluation: Evaluation, cotangent: Vector, inputs: Layout, outputs: Layout): Gradient {
  const cotangents = outputs
    .split(cotangent)
    .map((values, i) => tensor(values, { shape: (outputs.parts[i] as Part).shape }))
  const products = vectorJacobianProduct(evaluation.outputs, cotangents, evaluation.leaves, { retainGraph: true })
  const values = new Float64Array(inputs.size)
  const faults: string[] = []
  inputs.split(values).forEach((part, i) => {
    const product = products[i] ?? null
    if (product === null) return
    const fault = faultOf(product, inputs.parts[i] as Part)
    if (fault === null) part.set(product.data)
    else {
      part.fill(Number.NaN)
      faults.push(fault)
    }
  })
  return { values, reached: products.map((product) => product !== null), faults }
}

/** The Jacobian, m × n in row-major order: one sweep for each output entry. */
export function jacobianAt(evaluation: Evaluation, inputs: Layout, outputs: Layout): Vector {
  const jacobian = new Float64Array(outputs.size * inputs.size)
  const cotangent = new Float64Array(outputs.size)
  for (let i = 0; i < outputs.size; i++) {
    cotangent[i] = 1
    jacobian.set(gradientAt(evaluation, cotangent, inputs, outputs).values, i * inputs.size)
    cotangent[i] = 0
  }
  return jacobian
}

function faultOf(product: Tensor, { name }: Part): string | null {
  if (product.dtype !== 'float64') {
    return `The gradient of ${name} is ${product.dtype} where ${name} is float64: a rule changes the dtype.`
  }
  return null
}
