// Random programs: tensors are made, held, viewed, changed and dropped, and tapes are swept in every way. Run twice,
// with much and with little memory, a program must give the same numbers.
import fc, { type Arbitrary } from 'fast-check'
import {
  enableGrad,
  GradientError,
  manualSeed,
  noGrad,
  onesLike,
  randn,
  type Shape,
  type Tensor,
  tapeOf,
  tensor,
} from 'wengert'
import { SelfAttention } from 'wengert/nn'
import { binaries, fitting, LARGEST, pick, products, reductions, unaries, views } from './functions.js'
import { broadcastShape } from './reference.js'

/** One instruction, and three numbers from which it takes its operands and variants. */
interface Step {
  readonly instruction: keyof typeof instructions
  readonly a: number
  readonly b: number
  readonly c: number
}

/** A program works with tensors whose axes have these sizes, and mostly with few axes. */
export interface Program {
  readonly seed: number
  readonly rows: number
  readonly columns: number
  readonly steps: readonly Step[]
}

/** How many tensors a program holds at most. */
const HELD = 16
/** A run of a program. */
class Machine {
  readonly held: Tensor[] = []
  readonly leaves: Tensor[] = []
  /** What the program has seen, in its order. */
  readonly seen: unknown[] = []
  readonly layer: SelfAttention
  /** The numbers of all tensors that the program can reach, as they were made. */
  private readonly expected = new Map<Tensor, readonly number[]>()

  constructor(readonly program: Program) {
    manualSeed(program.seed)
    this.layer = new SelfAttention({ inputDim: program.columns, keyDim: 3, dtype: 'float64' })
    this.leaves.push(...this.layer.parameters())
    this.leaf([program.rows, program.columns])
    this.leaf([program.columns])
  }

  leaf(shape: Shape, dtype: 'float32' | 'float64' = 'float64'): void {
    const x = randn(shape, { dtype, requiresGrad: true })
    this.leaves.push(x)
    this.hold(x)
  }

  hold(x: Tensor): void {
    this.held.push(x.size > LARGEST ? x.sum() : x)
    if (this.held.length > HELD) this.held.shift()
  }

  /** One of the held tensors. */
  any(choice: number): Tensor {
    return pick(this.held, choice)
  }

  step({ instruction, a, b, c }: Step): void {
    instructions[instruction](this, a, b, c)
  }

  /** Expects that no tensor has changed but those of the given one's storage, and that gradients share nothing. */
  verify(changed: Tensor | null): void {
    const gradients = this.leaves.flatMap(({ gradient }) => gradient ?? [])
    const reachable = [...this.held, ...this.leaves, ...gradients]
    for (const { storage } of gradients) {
      const shared = reachable.filter((x) => x.storage === storage).length > 1
      if (!storage.escaped && shared) throw new Error('a gradient that is added to in place shares its numbers')
    }
    const known = new Map(this.expected)
    this.expected.clear()
    for (const x of reachable) {
      const numbers = [...x.data]
      const before = known.get(x)
      // A gradient that nobody has looked at may be added to in place.
      const mayChange = x.storage === changed?.storage || !x.storage.escaped
      if (before !== undefined && !mayChange && numbers.some((value, i) => !Object.is(value, before[i]))) {
        throw new Error(`a tensor of shape (${x.shape.join(', ')}) has changed: ${before} became ${numbers}`)
      }
      this.expected.set(x, numbers)
    }
  }
}

const instructions = {
  leaf: (m: Machine, a: number, b: number) => {
    const { rows, columns } = m.program
    const shapes = [[rows, columns], [columns], [rows, 1], [], [2, rows, columns], [columns, rows], [0, columns]]
    m.leaf(pick(shapes, a), b % 5 === 0 ? 'float32' : 'float64')
  },
  unary: (m: Machine, a: number, b: number) => m.hold(pick(unaries, b)(m.any(a))),
  binary: (m: Machine, a: number, b: number, c: number) => {
    const x = m.any(a)
    m.hold(pick(binaries, c)(x, fitting(x, m.any(b))))
  },
  twice: (m: Machine, a: number, _: number, c: number) => m.hold(pick(binaries, c)(m.any(a), m.any(a))),
  view: (m: Machine, a: number, b: number, c: number) => m.hold(pick(views, c)(m.any(a), b)),
  reduction: (m: Machine, a: number, b: number, c: number) => m.hold(pick(reductions, c)(m.any(a), b)),
  product: (m: Machine, a: number, b: number, c: number) => m.hold(pick(products, c)(m.any(a), m.any(b))),
  conversion: (m: Machine, a: number, b: number) => {
    const x = m.any(a)
    m.hold(b % 2 === 0 ? x.detach() : x.to(x.dtype === 'float32' ? 'float64' : 'float32'))
  },
  layer: (m: Machine, a: number, b: number) => {
    const x = m.any(a)
    if (x.ndim < 2 || x.shape.at(-1) !== m.program.columns) m.hold(m.layer.bilinearForm())
    else m.hold(b % 2 === 0 ? m.layer.forward(x) : m.layer.attention(x))
  },
  unrecorded: (m: Machine, a: number, b: number, c: number) =>
    m.hold(
      noGrad(() => {
        const y = pick(unaries, b)(m.any(a))
        return c % 2 === 0 ? y : enableGrad(() => pick(views, c)(y.add(m.any(a)), b))
      }),
    ),
  sweep: (m: Machine, a: number, b: number, c: number) => {
    const x = m.any(a)
    const options = pick(
      [{}, {}, { retainGraph: true }, { createGraph: true }, { createGraph: true, retainGraph: false }],
      c,
    )
    try {
      if (b % 3 === 0) x.backward(pick([onesLike(x), x.detach(), x.tanh().detach()], b), options)
      else x.sum().backward(undefined, options)
      m.seen.push('swept')
    } catch (error) {
      // No gradient, released, or stale: all of it is to happen in every run alike.
      if (!(error instanceof GradientError)) throw error
      m.seen.push(error.message)
    }
  },
  takeGradient: (m: Machine, a: number) => {
    const { grad } = pick(m.leaves, a)
    if (grad !== null) m.hold(grad)
  },
  useGradient: (m: Machine, a: number, b: number) => {
    const { grad } = pick(m.leaves, a)
    if (grad !== null) m.hold(pick(unaries, b)(grad))
  },
  forgetGradient: (m: Machine, a: number) => {
    pick(m.leaves, a).grad = null
  },
  update: (m: Machine, a: number) => {
    const x = pick(m.leaves, a)
    const { grad } = x
    if (grad === null) return
    x.copy_(noGrad(() => x.sub(grad.tanh().scale(0.1))))
    m.verify(x)
  },
  overwrite: (m: Machine, a: number, b: number) => {
    const target = m.any(a)
    const source = m.any(b)
    const broadcast = target.strides?.includes(0) === true
    if (!target.isLeaf || broadcast) return
    target.copy_(broadcastShape(source.shape, target.shape)?.join() === target.shape.join() ? source : source.mean())
    m.verify(target)
  },
  drop: (m: Machine, a: number) => {
    if (m.held.length > 2) m.held.splice(a % m.held.length, 1)
  },
  look: (m: Machine, a: number) => m.seen.push(m.any(a).shape, [...m.any(a).data]),
  lookAtTape: (m: Machine, a: number) => {
    const tape = tapeOf(m.any(a))
    m.seen.push(
      tape.entries.map(({ op, released }) => [op, released]),
      tape.bytesSaved,
    )
  },
} satisfies Record<string, (m: Machine, a: number, b: number, c: number) => unknown>

const weights: Readonly<Record<keyof typeof instructions, number>> = {
  leaf: 1,
  unary: 4,
  binary: 5,
  twice: 1,
  view: 4,
  reduction: 2,
  product: 3,
  conversion: 1,
  layer: 1,
  unrecorded: 1,
  sweep: 4,
  takeGradient: 1,
  useGradient: 1,
  forgetGradient: 1,
  update: 1,
  overwrite: 1,
  drop: 1,
  look: 1,
  lookAtTape: 1,
}

/** Random programs. */
export const programs: Arbitrary<Program> = fc.record({
  seed: fc.nat(1e6),
  rows: fc.constantFrom(1, 2, 3, 7),
  columns: fc.constantFrom(1, 3, 5, 17),
  steps: fc.array(
    fc.record({
      instruction: fc.oneof(
        ...Object.entries(weights).map(([name, weight]) => ({
          weight,
          arbitrary: fc.constant(name as keyof typeof instructions),
        })),
      ),
      a: fc.nat(1000),
      b: fc.nat(1000),
      c: fc.nat(1000),
    }),
    { minLength: 5, maxLength: 60 },
  ),
})

/**
 * Runs a program; `between` is called after every step. Gives all that the program has seen and all that it can reach
 * in the end.
 *
 * @throws Error where a tensor changed that nobody wrote to
 */
export function run(program: Program, between: () => void = () => undefined): unknown[] {
  const machine = new Machine(program)
  machine.verify(null)
  for (const step of program.steps) {
    machine.step(step)
    between()
    machine.verify(null)
  }
  const last = [...machine.held, ...machine.leaves.flatMap((x) => [x, x.grad ?? tensor([])])]
  return [...machine.seen, ...last.flatMap((x) => [x.shape, x.dtype, x.requiresGrad, [...x.data]])]
}
