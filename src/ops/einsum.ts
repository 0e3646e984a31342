// Sums of products over named axes.
import { type DType, isFloating, promoteTypes } from '../core/dtype.js'
import { composite } from '../core/operation.js'
import { type Shape, sizeOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { checkTensor } from './arguments.js'
import { mul } from './arithmetic.js'
import { to } from './convert.js'
import { diagonal } from './diagonal.js'
import { contractionOrder, type Equation, type Labels, parseEquation, remaining } from './equation.js'
import { matmul } from './matmul.js'
import { sum } from './sum.js'
import { permute, reshape } from './views.js'

/**
 * The sum of products that an equation in Einstein's notation describes, as NumPy takes it: a letter for each axis, the
 * operands separated by commas. Axes of one letter run together and are summed unless the output behind `->` names
 * them; without `->`, the output has the letters that appear once, in alphabetical order. A letter twice in one operand
 * is its diagonal. `...` stands for the axes without a letter, which broadcast, as do axes of size 1.
 *
 *     einsum('ij,jk->ik', a, b)        // the matrix product; einsum('ij,jk', a, b) is the same
 *     einsum('bhqd,bhkd->bhqk', q, k)  // the scores of attention
 *     einsum('ii', a)                  // the trace
 *
 * Several operands are contracted in pairs, in the order with the fewest multiplications (up to four operands; beyond,
 * the cheapest pair comes next), each by `matmul`. Operands promote to their common dtype.
 *
 * Derivative towards an operand: the sum of products of the cotangent and the other operands, over the same axes.
 *
 * @throws ArgumentError for an equation that is malformed or names another number of operands
 * @throws ShapeError where names do not fit the operands' axes, or one name has different sizes
 */
export function einsum(equation: string, ...operands: readonly Tensor[]): Tensor {
  operands.forEach((operand, i) => {
    checkTensor('einsum', operand, `operand ${i}`)
  })
  // Sums of bool count, as int32.
  const dtype = operands.reduce<DType>((common, operand) => promoteTypes(common, operand.dtype), 'int32')
  const { steps, result } = programFor(
    equation,
    operands.map(({ shape }) => shape),
    isFloating(dtype),
  )
  return composite(() => {
    const values = operands.map((operand) => to(operand, dtype))
    for (const step of steps) values.push(step(values))
    return values[result] as Tensor
  })
}

/** What an equation comes down to for operands of certain shapes. */
interface Program {
  /** Each makes one more value of the operands and what the steps before it made. */
  readonly steps: readonly Step[]
  /** Which value is the result. */
  readonly result: number
}

type Step = (values: readonly Tensor[]) => Tensor

const PROGRAMS_KEPT = 256
const programs = new Map<string, Program>()

/** Compiles an equation, once for each combination of shapes. */
function programFor(equation: string, shapes: readonly Shape[], floating: boolean): Program {
  const key = `${equation};${shapes.join(';')};${floating}`
  const known = programs.get(key)
  if (known !== undefined) return known
  const made = new Compiler(shapes.length, floating).compile(parseEquation(equation, shapes), shapes)
  if (programs.size >= PROGRAMS_KEPT) programs.clear()
  programs.set(key, made)
  return made
}

/** A value of the program, with a name for each axis. */
interface Term {
  readonly place: number
  readonly shape: Shape
  readonly labels: Labels
}

class Compiler {
  private readonly steps: Step[] = []

  constructor(
    private readonly operandCount: number,
    private readonly floating: boolean,
  ) {}

  compile({ inputs, output, sizes }: Equation, shapes: readonly Shape[]): Program {
    const distinct = inputs.map((labels, place) =>
      this.withoutBroadcastAxes(this.withoutRepeats({ place, shape: shapes[place] as Shape, labels }), sizes),
    )
    // What only one operand has and the result has not is summed before anything is multiplied.
    let terms = distinct.map((term) => {
      const others = distinct.filter((other) => other !== term).flatMap(({ labels }) => labels)
      const needed = new Set([...output, ...others])
      return this.sumOver(
        term,
        term.labels.filter((label) => !needed.has(label)),
      )
    })
    const labelsOf = (some: readonly Term[]) => some.map(({ labels }) => labels)
    for (const [first, second] of contractionOrder({ inputs: labelsOf(terms), output, sizes })) {
      const rest = terms.filter((_, place) => place !== first && place !== second)
      const [a, b] = [terms[first] as Term, terms[second] as Term]
      terms = [...rest, this.contract(a, b, remaining(a.labels, b.labels, labelsOf(rest), output))]
    }
    const { place } = this.arranged(terms[0] as Term, output)
    return { steps: this.steps, result: place }
  }

  private add(step: Step, shape: Shape, labels: Labels): Term {
    this.steps.push(step)
    return { place: this.operandCount + this.steps.length - 1, shape, labels }
  }

  /** The diagonal over the axes of equal names; one of size 1 beside longer ones broadcasts. */
  private withoutRepeats(term: Term): Term {
    const { place, shape, labels } = term
    const axis1 = labels.findIndex((label, axis) => labels.indexOf(label) !== axis)
    if (axis1 < 0) return term
    const label = labels[axis1] as string
    const axis0 = labels.indexOf(label)
    const size = shape[axis1] as number
    if (shape[axis0] !== size) return this.withoutRepeats(this.dropAxis(term, size === 1 ? axis1 : axis0))
    const others = <Item>(items: readonly Item[]) => items.filter((_, axis) => axis !== axis0 && axis !== axis1)
    const step: Step = (values) => diagonal(values[place] as Tensor, { axis0, axis1 })
    return this.withoutRepeats(this.add(step, [...others(shape), size], [...others(labels), label]))
  }

  /** Without the axes of size 1 whose name is longer elsewhere: products broadcast over them. */
  private withoutBroadcastAxes(term: Term, sizes: ReadonlyMap<string, number>): Term {
    const axis = term.labels.findIndex((label, place) => term.shape[place] === 1 && sizes.get(label) !== 1)
    return axis < 0 ? term : this.withoutBroadcastAxes(this.dropAxis(term, axis), sizes)
  }

  private dropAxis(term: Term, axis: number): Term {
    const others = <Item>(items: readonly Item[]) => items.filter((_, place) => place !== axis)
    return this.reshaped(term, others(term.shape), others(term.labels))
  }

  private reshaped({ place, shape: own }: Term, shape: Shape, labels: Labels): Term {
    if (own.length === shape.length && own.every((size, axis) => size === shape[axis])) return { place, shape, labels }
    return this.add((values) => reshape(values[place] as Tensor, shape), shape, labels)
  }

  private sumOver({ place, shape, labels }: Term, gone: Labels): Term {
    if (gone.length === 0) return { place, shape, labels }
    const axis = gone.map((label) => labels.indexOf(label))
    const kept = <Item>(items: readonly Item[]) => items.filter((_, place) => !axis.includes(place))
    return this.add((values) => sum(values[place] as Tensor, { axis }), kept(shape), kept(labels))
  }

  private arranged(term: Term, labels: Labels): Term {
    if (labels.every((label, axis) => term.labels[axis] === label)) return term
    const { place } = term
    const order = labels.map((label) => term.labels.indexOf(label))
    const shape = order.map((axis) => term.shape[axis] as number)
    return this.add((values) => permute(values[place] as Tensor, order), shape, labels)
  }

  /** The product of two operands, summed over the axes that both have and that are not kept. */
  private contract(a: Term, b: Term, kept: Labels): Term {
    const common = a.labels.filter((label) => b.labels.includes(label))
    const batch = common.filter((label) => kept.includes(label))
    const summed = common.filter((label) => !kept.includes(label))
    const rows = a.labels.filter((label) => !common.includes(label))
    const columns = b.labels.filter((label) => !common.includes(label))
    const left = this.arranged(a, [...batch, ...rows, ...summed])
    const right = this.arranged(b, [...batch, ...summed, ...columns])
    const lead = left.shape.slice(0, batch.length)
    const inner = sizeOf(left.shape.slice(batch.length + rows.length))
    const rowSizes = left.shape.slice(batch.length, batch.length + rows.length)
    const columnSizes = right.shape.slice(batch.length + summed.length)
    const [height, width] = [sizeOf(rowSizes), sizeOf(columnSizes)]
    const finish = (step: Step, shape: Shape) =>
      this.reshaped(this.add(step, shape, []), [...lead, ...rowSizes, ...columnSizes], [...batch, ...rows, ...columns])
    if (summed.length > 0 && this.floating) {
      const { place: x } = this.reshaped(left, [...lead, height, inner], [])
      const { place: y } = this.reshaped(right, [...lead, inner, width], [])
      return finish((values) => matmul(values[x] as Tensor, values[y] as Tensor), [...lead, height, width])
    }
    // Nothing to sum, or whole numbers, which matmul does not take.
    const { place: x } = this.reshaped(left, [...lead, height, inner, 1], [])
    const { place: y } = this.reshaped(right, [...lead, 1, inner, width], [])
    if (summed.length === 0) {
      return finish((values) => mul(values[x] as Tensor, values[y] as Tensor), [...lead, height, 1, width])
    }
    return finish(
      (values) => sum(mul(values[x] as Tensor, values[y] as Tensor), { axis: -2 }),
      [...lead, height, width],
    )
  }
}
