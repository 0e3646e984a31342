import { inMode } from '../autograd/modes.js'
import { handOut } from '../autograd/sweep.js'
import { isFloating } from '../core/dtype.js'
import { ArgumentError, DTypeError, GradientError, ShapeError } from '../core/errors.js'
import { apply, type Operation } from '../core/operation.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, Tensor } from '../core/tensor.js'
import { now, tick } from '../memory/arena.js'
import { publicly } from '../memory/scope.js'
import { checkTensor } from '../ops/arguments.js'
import { detach } from '../ops/copy.js'

/** What a user's rule may read of the call. */
export interface OpCall<Inputs extends readonly unknown[]> {
  /** The arguments of the call. */
  readonly inputs: Inputs
  /** Its result. */
  readonly output: Tensor
}

/** A user's operation. */
export interface OpDefinition<Inputs extends readonly unknown[]> {
  /** Stands in messages and on the tape. */
  readonly name: string
  /** Computes the result. Tensors come off the tape, and nothing that is done here is recorded. */
  forward(...inputs: Inputs): Tensor
  /**
   * The vector-Jacobian products `cotangentᵀ · ∂output/∂input`: an array with one for each argument, null for those
   * that have none. Where there is only one tensor among the arguments, its product may stand alone.
   */
  vjp(cotangent: Tensor, call: OpCall<Inputs>): Tensor | null | readonly (Tensor | null)[]
}

/** What the engine is told of a call, beside its tensors. */
interface CallAttributes {
  readonly inputs: readonly unknown[]
  /** Positions of the tensors among the arguments. */
  readonly places: readonly number[]
}

/**
 * An operation of the user's own, with its own derivative, as a function. `forward` may compute its result in any way
 * (it sees detached tensors, and nothing is recorded), `vjp` gives the products. Both are checked at every call. Where
 * `vjp` is made of operations on the cotangent, the inputs and the output, the operation has derivatives of every order
 * and can be used in forward mode. All inputs and the output are saved for the rule. Arguments may be anything; those
 * that are tensors with a floating dtype can be differentiated.
 *
 *     // Straight-through estimator: rounds, and passes the cotangent as if it had not (Bengio, Léonard and Courville,
 *     // arXiv 1308.3432).
 *     const roundStraightThrough = defineOp({
 *       name: 'roundStraightThrough',
 *       forward: (x: Tensor) => x.round(),
 *       vjp: (cotangent) => cotangent,
 *     })
 *
 *     // Gradient reversal: does nothing, and passes the cotangent with the opposite sign, times a factor (Ganin and
 *     // Lempitsky, arXiv 1409.7495).
 *     const reverseGradient = defineOp({
 *       name: 'reverseGradient',
 *       forward: (x: Tensor, factor: number) => x,
 *       vjp: (cotangent, { inputs: [, factor] }) => cotangent.scale(-factor),
 *     })
 *
 * @throws ArgumentError where name or functions are missing. The operation throws, naming itself, ArgumentError where
 *   `forward` returns no tensor; its sweep throws ArgumentError, ShapeError or DTypeError where `vjp` returns not one
 *   product for each argument, or one unlike its input
 */
export function defineOp<Inputs extends unknown[]>(definition: OpDefinition<Inputs>): (...inputs: Inputs) => Tensor {
  const { name } = definition
  if (typeof name !== 'string' || name === '') {
    throw new ArgumentError(`defineOp: an operation needs a name, got ${JSON.stringify(name)}`)
  }
  for (const part of ['forward', 'vjp'] as const) {
    if (typeof definition[part] !== 'function') {
      throw new ArgumentError(`defineOp: ${part} of "${name}" must be a function, got ${typeof definition[part]}`)
    }
  }
  const operation: Operation<CallAttributes> = {
    name,
    forward: (tensors, attributes) => evaluate(definition, tensors, attributes),
    derivatives: {
      joint: (cotangent, call) => {
        const { attributes } = call
        const inputs = filledIn(
          attributes,
          attributes.places.map((_, i) => shown(call.input(i))),
        ) as Inputs
        const output = shown(call.output)
        const given = handOut(cotangent)
        const products: unknown = publicly(() => definition.vjp(given, { inputs, output }))
        return productsFrom(name, products, attributes, call.saved as readonly Tensor[])
      },
    },
  }
  return (...inputs) => {
    const places = inputs.flatMap((input, i) => (isTensor(input) ? [i] : []))
    const tensors = places.map((place) => shown(inputs[place] as Tensor))
    return apply(operation, tensors, { inputs, places })
  }
}

/** A tensor that the user's code may keep. */
function shown(x: Tensor): Tensor {
  x.storage.escaped = true
  return x
}

/** The arguments, with these tensors in the places of the tensors. */
function filledIn({ inputs, places }: CallAttributes, tensors: readonly Tensor[]): unknown[] {
  const filled = [...inputs]
  places.forEach((place, i) => {
    filled[place] = tensors[i]
  })
  return filled
}

function evaluate<Inputs extends unknown[]>(
  definition: OpDefinition<Inputs>,
  tensors: readonly Tensor[],
  attributes: CallAttributes,
): Tensor {
  const { name } = definition
  const start = now()
  const inputs = filledIn(attributes, tensors.map(detach)) as Inputs
  const result: unknown = inMode(false, () => publicly(() => definition.forward(...inputs)))
  if (result instanceof Promise) {
    throw new ArgumentError(`${name}: forward returned a Promise; it must be synchronous and return a tensor`)
  }
  checkTensor(name, result, 'what forward returns')
  const changed = tensors.findIndex(({ storage }) => storage.changedAt > start)
  if (changed >= 0) {
    throw new GradientError(`${name}: forward changed its input ${attributes.places[changed]} in place; clone it first`)
  }
  // What was written in place while it was made is older than the entry that saves it.
  tick()
  return new Tensor(result.storage, result.shape, result.strides)
}

/** The products, one for each tensor among the arguments, checked. */
function productsFrom(
  name: string,
  given: unknown,
  { inputs, places }: CallAttributes,
  tensors: readonly Tensor[],
): (Tensor | null)[] {
  const products = listOf(name, given, places, inputs.length)
  products.forEach((product, i) => {
    if (product === null || product === undefined) return
    if (!places.includes(i))
      throw new ArgumentError(`${name}: vjp gave a product for argument ${i}, which is no tensor`)
    checkTensor(name, product, `what vjp returns for argument ${i}`)
    const input = tensors[places.indexOf(i)] as Tensor
    if (!isFloating(input.dtype)) {
      throw new DTypeError(`${name}: vjp gave a product for argument ${i}, which is ${input.dtype}; it must be null`)
    }
    if (!sameShape(product.shape, input.shape)) {
      throw new ShapeError(
        `${name}: vjp gave argument ${i} of shape ${showShape(input.shape)} a product of shape ${showShape(product.shape)}; they must be equal`,
      )
    }
    if (product.dtype !== input.dtype) {
      throw new DTypeError(
        `${name}: vjp gave argument ${i}, which is ${input.dtype}, a product that is ${product.dtype}; they must be equal`,
      )
    }
  })
  return places.map((place) => (products[place] ?? null) as Tensor | null)
}

function listOf(name: string, given: unknown, places: readonly number[], count: number): readonly unknown[] {
  if (Array.isArray(given)) {
    if (given.length === count) return given
    throw new ArgumentError(`${name}: vjp returned ${given.length} products for ${count} arguments`)
  }
  if (given !== null && !isTensor(given)) {
    const kind = given instanceof Promise ? 'a Promise' : typeof given
    throw new ArgumentError(`${name}: vjp must return a tensor, null, or an array of these, got ${kind}`)
  }
  if (places.length > 1) {
    throw new ArgumentError(`${name}: vjp must return an array with one product for each of its ${count} arguments`)
  }
  return Array.from({ length: count }, (_, i) => (i === places[0] ? given : null))
}
