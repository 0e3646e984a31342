// The notation of einsum, and the order in which to contract.
import { ArgumentError, ShapeError } from '../core/errors.js'
import { type Shape, showShape } from '../core/shape.js'

/** Names of axes: one letter each, or a number for an axis that `...` stands for, counted from the end. */
export type Labels = readonly string[]

/** An equation for given operands. */
export interface Equation {
  /** For each operand the names of its axes. */
  readonly inputs: readonly Labels[]
  /** The names of the result's axes. */
  readonly output: Labels
  /** The size of every named axis. */
  readonly sizes: ReadonlyMap<string, number>
}

const ELLIPSIS = '...'

/** Reads an equation; throws where it is none, or does not fit the shapes. */
export function parseEquation(equation: string, shapes: readonly Shape[]): Equation {
  if (typeof equation !== 'string') {
    throw new ArgumentError(`einsum: the equation comes first, as a string like 'ij,jk->ik', got ${typeof equation}`)
  }
  const [left, right, ...more] = equation.replace(/\s+/g, '').split('->') as [string, string?, ...string[]]
  if (more.length > 0) throw new ArgumentError(`einsum: '${equation}' has more than one '->'`)
  const terms = left.split(',')
  if (terms.length !== shapes.length) {
    throw new ArgumentError(
      `einsum: '${equation}' names ${terms.length} operands, ${shapes.length} were given (${shapes.map(showShape).join(', ')})`,
    )
  }
  const inputs = terms.map((term, i) => expand(equation, term, shapes[i] as Shape))
  const sizes = sizesOf(equation, inputs, shapes)
  return { inputs, output: right === undefined ? implicitOutput(inputs) : outputOf(equation, right, inputs), sizes }
}

/** The letters of a term and whether and where it has an ellipsis. */
function lettersOf(equation: string, term: string): string[] {
  const parts = term.split(ELLIPSIS)
  if (parts.length > 2) throw new ArgumentError(`einsum: '${term}' in '${equation}' has more than one '...'`)
  const strange = parts.join('').match(/[^A-Za-z]/)
  if (strange !== null) {
    throw new ArgumentError(
      `einsum: '${strange[0]}' in '${equation}' is no name of an axis; use letters, '...', ',' and '->'`,
    )
  }
  return parts.flatMap((part, i) => (i === 0 ? [...part] : [ELLIPSIS, ...part]))
}

function expand(equation: string, term: string, shape: Shape): Labels {
  const letters = lettersOf(equation, term)
  const covered = shape.length - letters.filter((letter) => letter !== ELLIPSIS).length
  if (covered < 0 || (covered > 0 && !letters.includes(ELLIPSIS))) {
    throw new ShapeError(
      `einsum: '${term}' in '${equation}' names ${shape.length - covered} axes, its operand ${showShape(shape)} has ${shape.length}`,
    )
  }
  return letters.flatMap((letter) => (letter === ELLIPSIS ? countedBack(covered) : [letter]))
}

/** Names of the axes under an ellipsis: aligned at the end, so that they broadcast. */
function countedBack(count: number): string[] {
  return Array.from({ length: count }, (_, i) => String(count - i))
}

function isCounted(label: string): boolean {
  return label <= '9'
}

function ellipsisOf(inputs: readonly Labels[]): string[] {
  return countedBack(Math.max(...inputs.map((labels) => labels.filter(isCounted).length)))
}

/** The axes of `...`, then the letters that appear once, in the order of the alphabet, capitals first. */
function implicitOutput(inputs: readonly Labels[]): Labels {
  const letters = inputs.flat().filter((label) => !isCounted(label))
  const once = letters.filter((label) => letters.indexOf(label) === letters.lastIndexOf(label))
  return [...ellipsisOf(inputs), ...once.sort()]
}

function outputOf(equation: string, term: string, inputs: readonly Labels[]): Labels {
  const letters = lettersOf(equation, term)
  const known = new Set(inputs.flat())
  letters.forEach((letter, i) => {
    if (letter === ELLIPSIS) return
    if (!known.has(letter)) {
      throw new ArgumentError(`einsum: '${letter}' of the output in '${equation}' is in no operand`)
    }
    if (letters.indexOf(letter) !== i) {
      throw new ArgumentError(`einsum: '${letter}' is twice in the output of '${equation}'`)
    }
  })
  return letters.flatMap((letter) => (letter === ELLIPSIS ? ellipsisOf(inputs) : [letter]))
}

function sizesOf(equation: string, inputs: readonly Labels[], shapes: readonly Shape[]): Map<string, number> {
  const sizes = new Map<string, number>()
  inputs.forEach((labels, i) => {
    labels.forEach((label, axis) => {
      const size = shapes[i]?.[axis] as number
      const known = sizes.get(label) ?? 1
      if (known !== 1 && size !== 1 && known !== size) {
        const name = isCounted(label) ? "an axis of '...'" : `axis '${label}'`
        throw new ShapeError(
          `einsum: ${name} of '${equation}' has sizes ${known} and ${size} in operands ${shapes.map(showShape).join(', ')}`,
        )
      }
      sizes.set(label, known === 1 ? size : known)
    })
  })
  return sizes
}

/** The axes that remain when two operands are contracted: those that the result or another operand has. */
export function remaining(a: Labels, b: Labels, others: readonly Labels[], output: Labels): Labels {
  const needed = new Set([...output, ...others.flat()])
  return [...new Set([...a, ...b])].filter((label) => needed.has(label))
}

/** Up to this many operands, every order is tried; beyond, the cheapest next step is taken. */
const EXHAUSTIVE = 4

/** Which two operands to contract next; the result goes to the end of the list. */
export type Step = readonly [first: number, second: number]

/** The order of pairwise contractions with the fewest multiplications. */
export function contractionOrder({ inputs, output, sizes }: Equation): readonly Step[] {
  return search(inputs, output, sizes).steps
}

interface Plan {
  readonly cost: number
  readonly steps: readonly Step[]
}

function search(inputs: readonly Labels[], output: Labels, sizes: ReadonlyMap<string, number>): Plan {
  if (inputs.length < 2) return { cost: 0, steps: [] }
  if (inputs.length === 2) return { cost: costOf(inputs[0] as Labels, inputs[1] as Labels, sizes), steps: [[0, 1]] }
  const candidates = pairsOf(inputs, output, sizes)
  const tried = inputs.length <= EXHAUSTIVE ? candidates : [cheapest(candidates)]
  const plans = tried.map(({ step, cost, left }) => {
    const rest = search(left, output, sizes)
    return { cost: cost + rest.cost, steps: [step, ...rest.steps] }
  })
  return cheapest(plans)
}

function pairsOf(inputs: readonly Labels[], output: Labels, sizes: ReadonlyMap<string, number>) {
  return inputs.flatMap((a, i) =>
    inputs.slice(i + 1).map((b, k) => {
      const step: Step = [i, i + 1 + k]
      const others = inputs.filter((_, place) => !step.includes(place))
      const left = [...others, remaining(a, b, others, output)]
      return { step, left, cost: costOf(a, b, sizes) }
    }),
  )
}

function cheapest<Candidate extends { readonly cost: number }>(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((best, candidate) => (candidate.cost < best.cost ? candidate : best))
}

/** Multiplications of a pairwise contraction: the product of the sizes of all axes that either has. */
function costOf(a: Labels, b: Labels, sizes: ReadonlyMap<string, number>): number {
  return [...new Set([...a, ...b])].reduce((product, label) => product * (sizes.get(label) as number), 1)
}
