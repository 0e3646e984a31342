// The checked function as f: Rⁿ → Rᵐ: the checked inputs are one vector of numbers, and so are all outputs.

import { isFloating } from '../core/dtype.js'
import { ArgumentError, DTypeError, GradientError, ShapeError } from '../core/errors.js'
import { withRecording } from '../core/operation.js'
import { sameShape, showShape } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { tensor } from '../ops/creation.js'
import type { Checkable, Pullback } from './checkable.js'
import { Layout, type Names, type Part, type Vector } from './layout.js'
import { gradientAt } from './pull.js'

/** What gradient checks take: a function of tensors that returns one tensor or several, the same for the same inputs. */
export type DifferentiableFunction = (...inputs: Tensor[]) => Tensor | readonly Tensor[]

/** What came out of one call of the function. */
export interface Evaluation {
  /** Fresh leaves that stood for the checked inputs. */
  readonly leaves: readonly Tensor[]
  readonly outputs: readonly Tensor[]
  /** All outputs as one vector. */
  readonly values: Vector
}

/** A function at the point where it is checked. The caller's own tensors are only read. */
export class VectorFunction implements Checkable {
  /** The checked inputs: those that have `requiresGrad`. */
  readonly inputs: Layout
  /** The point: the numbers of the checked inputs. */
  readonly point: Vector
  private outputLayout: Layout | null = null

  constructor(
    private readonly op: string,
    private readonly fn: DifferentiableFunction,
    private readonly given: readonly Tensor[],
    private readonly names: Names,
  ) {
    const checked = checkedInputs(op, given)
    this.inputs = new Layout(
      checked.map((position) => ({
        position,
        name: names.input(position),
        shape: (given[position] as Tensor).shape,
      })),
    )
    this.point = concatenate(
      checked.map((position) => given[position] as Tensor),
      this.inputs.size,
    )
  }

  /** The outputs, known once the function has been evaluated. */
  get outputs(): Layout {
    if (this.outputLayout === null) throw new Error('internal: outputs were asked for before the first evaluation')
    return this.outputLayout
  }

  /** Calls the function with fresh leaves that hold the given numbers. It is always recorded, as a training step is. */
  evaluate(vector: Vector): Evaluation {
    const leaves = this.inputs
      .split(vector)
      .map((values, i) => tensor(values, { shape: (this.inputs.parts[i] as Part).shape, requiresGrad: true }))
    const outputs = this.call(leaves)
    return { leaves, outputs, values: concatenate(outputs, this.outputs.size) }
  }

  /** Calls the function with the given tensors in place of the checked inputs. */
  call(checked: readonly Tensor[]): readonly Tensor[] {
    const inputs = [...this.given]
    this.inputs.parts.forEach(({ position }, i) => {
      inputs[position] = checked[i] as Tensor
    })
    const outputs = callFunction(this.op, this.fn, inputs)
    this.checkOutputs(outputs)
    return outputs
  }

  values(at: Vector): Vector {
    return this.evaluate(at).values
  }

  /** The derivative by the reverse sweep. */
  derivative(): Pullback {
    const evaluation = this.evaluate(this.point)
    return {
      mode: 'reverse',
      values: evaluation.values,
      cut: this.outputs.parts
        .map(({ position }) => position)
        .filter((position) => evaluation.outputs[position]?.requiresGrad === false),
      pull: (cotangent) => gradientAt(evaluation, cotangent, this.inputs, this.outputs),
    }
  }

  private checkOutputs(outputs: readonly Tensor[]): void {
    if (this.outputLayout === null) {
      const { names } = this
      this.outputLayout = new Layout(
        outputs.map(({ shape }, position) => ({ position, name: names.output(position), shape })),
      )
    }
    const { parts } = this.outputLayout
    if (outputs.length !== parts.length) {
      throw new ShapeError(
        `${this.op}: the function returned ${parts.length} outputs at first and ${outputs.length} at a point close by`,
      )
    }
    outputs.forEach(({ shape }, i) => {
      const { name, shape: first } = parts[i] as Part
      if (!sameShape(shape, first)) {
        throw new ShapeError(
          `${this.op}: ${name} had shape ${showShape(first)} at first and ${showShape(shape)} at a point close by; only a function whose shapes stay can be checked`,
        )
      }
    })
  }
}

/** Calls a function of the user's with recording on and checks what it returns. */
export function callFunction(op: string, fn: DifferentiableFunction, inputs: readonly Tensor[]): readonly Tensor[] {
  if (typeof fn !== 'function')
    throw new ArgumentError(`${op}: the first argument must be a function, got ${typeof fn}`)
  const result: unknown = withRecording(true, () => fn(...inputs))
  const outputs: readonly unknown[] = Array.isArray(result) ? result : [result]
  if (outputs.length === 0)
    throw new ArgumentError(`${op}: the function returned an empty array; return at least one tensor`)
  return outputs.map((output, i) => {
    if (!isTensor(output)) {
      if (output instanceof Promise) {
        throw new ArgumentError(`${op}: the function returned a Promise; only a synchronous function can be checked`)
      }
      checkTensor(op, output, `what the function returns (output ${i})`)
    }
    const { dtype } = output as Tensor
    if (dtype === 'float32') {
      throw new DTypeError(
        `${op}: output ${i} is float32, too coarse for finite differences; compute in float64 all the way (convert what the function closes over with to('float64'))`,
      )
    }
    if (!isFloating(dtype)) {
      throw new DTypeError(
        `${op}: output ${i} is ${dtype}, which has no derivative; leave it out of what the function returns`,
      )
    }
    return output as Tensor
  })
}

/** Positions of the inputs to be checked. */
function checkedInputs(op: string, given: readonly Tensor[]): number[] {
  if (!Array.isArray(given)) {
    throw new ArgumentError(`${op}: the inputs must be an array of tensors, the function's arguments in their order`)
  }
  const checked: number[] = []
  given.forEach((input: unknown, position) => {
    checkTensor(op, input, `input ${position}`)
    if (!input.requiresGrad) return
    if (input.dtype !== 'float64') {
      throw new DTypeError(
        `${op}: input ${position} is ${input.dtype}: differences of such numbers keep about three digits, too few to check a gradient; pass x.detach().to('float64').requiresGrad_()`,
      )
    }
    checked.push(position)
  })
  if (checked.length === 0) {
    throw new GradientError(
      `${op}: none of the ${given.length} inputs has requiresGrad, so there is no gradient to check; make those to be checked with { dtype: 'float64', requiresGrad: true }`,
    )
  }
  return checked
}

/** The numbers of all tensors, `size` in all. */
export function concatenate(tensors: readonly Tensor[], size: number): Vector {
  const vector = new Float64Array(size)
  let offset = 0
  for (const { data } of tensors) {
    vector.set(data, offset)
    offset += data.length
  }
  return vector
}
