import { ArgumentError } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import { isTensor, type Tensor } from '../core/tensor.js'
import { tensor } from '../ops/creation.js'
import { jvp } from '../transforms/jvp.js'
import { checkFunction, flatten } from '../transforms/tree.js'
import { vjp } from '../transforms/vjp.js'
import { check } from './check.js'
import { VectorFunction } from './function.js'
import type { Names } from './layout.js'
import { crossCheckNote } from './notes.js'
import { type GradcheckOptions, OPTION_NAMES, type Settings, settingsFrom } from './options.js'
import { ForwardFunction } from './push.js'
import { GradcheckError, type GradcheckReport } from './report.js'
import { randomWeights, seeded, type Uniform } from './seeded.js'
import { dot } from './side.js'
import type { Verdict } from './verdict.js'

/** How derivatives are computed: by the sweep of `vjp`, or by the forward pass of `jvp`. */
export type GradMode = 'reverse' | 'forward'

/** Options of `checkGrads`: those of `gradcheck`, and: */
export interface CheckGradsOptions extends GradcheckOptions {
  /** Up to which order derivatives are checked; default 1. */
  readonly order?: number | undefined
  /** Which modes; default both. */
  readonly modes?: readonly GradMode[] | undefined
}

/** One of the checks that `checkGrads` makes. */
export interface GradsCheck {
  /** The modes of the derivative that was checked, the outermost first: `['forward', 'reverse']` is forward over reverse. */
  readonly modes: readonly GradMode[]
  readonly report: GradcheckReport
}

/** The result of `checkGrads`. As text, a few lines for each check. */
export interface CheckGradsReport {
  /** Whether all checks are. */
  readonly ok: boolean
  /** The worst of all checks' verdicts. */
  readonly verdict: Verdict
  readonly order: number
  /** By order, the lowest first. */
  readonly checks: readonly GradsCheck[]
  toString(): string
}

/** The function of the checked inputs alone. */
type Flat = (...inputs: Tensor[]) => Tensor[]

const OP = 'checkGrads'

/** Random pairs for which forward and reverse mode are compared. */
const PAIRS = 4
/** By how much their products may differ, in parts of the terms that they are the sums of. */
const AGREEMENT = 1e-9

/**
 * Checks the derivatives of `fn` to any order, in reverse mode (`vjp`), forward mode (`jvp`), and all their nestings:
 * order 2 with both modes is reverse, forward, and reverse over reverse, forward over reverse, reverse over forward,
 * forward over forward. Each is held against differences as in `gradcheck`, a derivative of order n against those of the
 * one of order n − 1, with random seeded tangents and cotangents. Where both modes are checked, they are also held
 * against each other, to 9 digits: ⟨w, J u⟩ = ⟨Jᵀ w, u⟩ for random w and u.
 *
 * ```ts
 * checkGrads((w, x) => matmul(x, w).tanh(), [w, x], { order: 2, modes: ['reverse', 'forward'] })
 * ```
 *
 * @param fn a function of as many arguments as there are `args`, giving a float64 tensor, or plain objects and arrays of
 *   them; made of what transforms can differentiate, so without `backward` inside
 * @param args tensors, or plain objects and arrays of tensors; other values are passed on. Checked are the tensors that
 *   have `requiresGrad`, or, where none has, all of float64
 * @returns all reports
 * @throws GradcheckError with the report of the first check that is not ok, and all of them in the message
 * @throws ArgumentError, GradientError or DTypeError as `gradcheck`, and for an order or modes that make no sense
 */
export function checkGrads<Args extends unknown[]>(
  fn: (...args: Args) => unknown,
  args: readonly [...Args],
  options: CheckGradsOptions = {},
): CheckGradsReport {
  checkFunction(OP, fn)
  checkOptions(OP, options, ['order', 'modes', ...OPTION_NAMES])
  const { order = 1, modes = ['reverse', 'forward'], ...rest } = options
  checkInteger(OP, 'order', order, 1)
  checkModes(modes)
  const settings = settingsFrom(OP, rest)
  const uniform = seeded(settings.seed)
  const checks: GradsCheck[] = []
  let level: Level[] = [levelOf(fn as (...given: unknown[]) => unknown, args)]
  for (let n = 1; n <= order; n++) {
    for (const each of level) checks.push(...checksOf(each, modes, settings))
    if (n < order) level = level.flatMap((each) => modes.map((mode) => derived(each, mode, uniform)))
  }
  const report = combined(checks, order)
  const failing = checks.find((each) => each.report.verdict === report.verdict)
  if (!report.ok && failing !== undefined) throw new GradcheckError(failing.report, String(report))
  return report
}

function checkModes(modes: readonly GradMode[]): void {
  const known: readonly unknown[] = ['reverse', 'forward']
  if (!Array.isArray(modes) || modes.length === 0 || new Set(modes).size < modes.length) {
    throw new ArgumentError(`${OP}: modes must be an array with 'reverse', 'forward' or both`)
  }
  const wrong: unknown = modes.find((mode) => !known.includes(mode))
  if (wrong !== undefined) throw new ArgumentError(`${OP}: modes are 'reverse' and 'forward', got ${String(wrong)}`)
}

/** A function to be checked: `fn` itself, or a derivative of it. */
interface Level {
  readonly fn: Flat
  /** All of them are checked. */
  readonly inputs: readonly Tensor[]
  readonly names: Names
  /** The modes that made it, the outermost first. */
  readonly modes: readonly GradMode[]
}

function levelOf(fn: (...given: unknown[]) => unknown, args: readonly unknown[]): Level {
  if (!Array.isArray(args)) {
    throw new ArgumentError(`${OP}: args must be an array, the function's arguments in their order`)
  }
  const trees = args.map((arg: unknown, i) =>
    typeof arg === 'object' && arg !== null ? flatten(OP, arg, `argument ${i}`) : null,
  )
  const given = trees.flatMap((tree, i) =>
    (tree?.leaves ?? []).map((x, place) => ({ x, name: `argument ${i}${tree?.paths[place]}` })),
  )
  const marked = given.some(({ x }) => x.requiresGrad)
  const isChecked = (x: Tensor) => (marked ? x.requiresGrad : x.dtype === 'float64')
  const checked = given.filter(({ x }) => isChecked(x))
  const call = (...inputs: Tensor[]): Tensor[] => {
    let used = 0
    const rebuilt = trees.map((tree, i) =>
      tree === null ? args[i] : tree.rebuild(tree.leaves.map((x) => (isChecked(x) ? inputs[used++] : x))),
    )
    const output = fn(...rebuilt)
    // A single tensor, or none, is for the check itself to judge.
    if (isTensor(output) || typeof output !== 'object' || output instanceof Promise) return [output as Tensor]
    return [...flatten(OP, output, 'what the function returned').leaves]
  }
  return {
    fn: call,
    inputs: checked.map(({ x }) =>
      x.dtype === 'float64' ? tensor(x.data, { shape: x.shape, requiresGrad: true }) : x,
    ),
    names: {
      input: (position) => checked[position]?.name ?? '',
      output: (position) => `output ${position}`,
    },
    modes: [],
  }
}

function checksOf(level: Level, modes: readonly GradMode[], settings: Settings): GradsCheck[] {
  const { fn, inputs, names } = level
  const reverse = new VectorFunction(OP, fn, inputs, names)
  const forward = new ForwardFunction(reverse)
  return modes.map((mode, i) => {
    const path = [mode, ...level.modes]
    const title = `${OP}, ${path.join(' over ')}`
    const crossCheck = i > 0 ? () => crossChecked(reverse, forward, settings) : undefined
    const report = check(title, OP, mode === 'reverse' ? reverse : forward, names, settings, crossCheck)
    return { modes: path, report }
  })
}

/** ⟨w, J u⟩ in both modes; a note where they differ. */
function crossChecked(reverse: VectorFunction, forward: ForwardFunction, { seed }: Settings): string | null {
  const uniform = seeded(seed + 2)
  const sweep = reverse.derivative()
  const pass = forward.derivative()
  for (let i = 0; i < PAIRS; i++) {
    const cotangent = randomWeights(reverse.outputs.size, uniform)
    const tangent = randomWeights(reverse.inputs.size, uniform)
    const pushed = pass.push(tangent)
    const pulled = sweep.pull(cotangent).values
    const [byPass, bySweep] = [dot(cotangent, pushed), dot(pulled, tangent)]
    const size = dot(cotangent.map(Math.abs), pushed.map(Math.abs)) + dot(pulled.map(Math.abs), tangent.map(Math.abs))
    if (Math.abs(byPass - bySweep) > AGREEMENT * size) return crossCheckNote(byPass, bySweep)
  }
  return null
}

/** The derivative of a function as a function: `(x, cotangents) ↦ cotangentᵀ J`, or `(x, tangents) ↦ J · tangent`. */
function derived({ fn, inputs, names, modes }: Level, mode: GradMode, uniform: Uniform): Level {
  const count = inputs.length
  if (mode === 'forward') {
    return {
      fn: (...given) => jvp(fn, given.slice(0, count), given.slice(count))[1],
      inputs: [...inputs, ...inputs.map((x) => randomLike(x, uniform))],
      names: {
        input: (i) => (i < count ? names.input(i) : `tangent of ${names.input(i - count)}`),
        output: (i) => `tangent of ${names.output(i)}`,
      },
      modes: [mode, ...modes],
    }
  }
  const outputs = fn(...inputs)
  return {
    fn: (...given) => vjp(fn, ...given.slice(0, count))[1](given.slice(count)),
    inputs: [...inputs, ...outputs.map((x) => randomLike(x, uniform))],
    names: {
      input: (i) => (i < count ? names.input(i) : `cotangent of ${names.output(i - count)}`),
      output: (i) => `gradient of ${names.input(i)}`,
    },
    modes: [mode, ...modes],
  }
}

function randomLike({ size, shape }: Tensor, uniform: Uniform): Tensor {
  return tensor(randomWeights(size, uniform), { shape, requiresGrad: true })
}

function combined(checks: readonly GradsCheck[], order: number): CheckGradsReport {
  const verdicts = checks.map(({ report }) => report.verdict)
  const verdict = verdicts.includes('wrong') ? 'wrong' : verdicts.includes('noisy') ? 'noisy' : 'right'
  return {
    ok: verdict === 'right',
    verdict,
    order,
    checks,
    toString: () => checks.map(({ report }) => String(report)).join('\n'),
  }
}
