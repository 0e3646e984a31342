// Derivatives of tensor functions by the reverse sweep.
import { vectorJacobianProduct } from '../autograd/vjp.js'
import type { Tensor } from '../core/tensor.js'
import { tensor } from '../ops/creation.js'
import type { Gradient } from './checkable.js'
import type { Evaluation } from './function.js'
import type { Layout, Part, Vector } from './layout.js'

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

function faultOf(product: Tensor, { name }: Part): string | null {
  if (product.dtype !== 'float64') {
    return `The gradient of ${name} is ${product.dtype} where ${name} is float64: a rule changes the dtype.`
  }
  return null
}
