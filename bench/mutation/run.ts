import fc, { type Arbitrary } from 'fast-check'
import { vectorJacobianProduct } from '../../src/autograd/vjp.js'
import { GradientError, type Tensor, tensor, zerosLike } from '../../src/index.js'
import { gradcheck } from '../../src/testing/index.js'
import { type Case, catalogue } from './catalogue.js'
import { allMutants, type Mutant } from './mutants.js'
import { withWrongRule } from './substitute.js'

/** At how many points a mutant is tried. */
const POINTS = 3

/** What became of a mutant. */
export interface MutantResult {
  readonly mutant: Mutant
  /** At how many points it was caught, of how many. */
  readonly caught: number
  readonly points: number
  /** A point at which it was not, with the report. */
  readonly survived: string | null
}

/** A check that failed though all rules are right. */
export interface FalseAlarm {
  readonly subject: string
  readonly inputs: string
  readonly report: string
}

/** Tries mutants. Caught are those that `gradcheck` finds wrong, or whose sweep throws, at every point. */
export function* runMutants(seed: number, mutants: readonly Mutant[] = allMutants()): Generator<MutantResult> {
  for (const mutant of mutants) yield tried(mutant, seed)
}

function tried(mutant: Mutant, seed: number): MutantResult {
  const { subject, operation, rule, cases } = mutant
  let points = 0
  let caught = 0
  let survived: string | null = null
  for (const { fn, inputs } of pointsFrom(cases, seed)) {
    const wrong = withWrongRule(fn, operation, rule)
    if (!differs(fn, wrong, inputs)) continue
    points++
    const verdict = verdictOn(wrong, inputs)
    if (verdict.wrong) caught++
    else survived ??= `${fc.stringify(inputs)}\n${verdict.report}`
    if (points === POINTS) break
  }
  if (points < POINTS) throw new Error(`${subject}, ${operation}: "${mutant.kind}" makes no difference`)
  return { mutant, caught, points, survived }
}

/** Up to 200 points, drawn as they are needed. */
function* pointsFrom(cases: Arbitrary<Case>, seed: number): Generator<Case> {
  for (let batch = 0; batch < 50; batch++) yield* fc.sample(cases, { seed: seed + batch, numRuns: 4 })
}

/** Whether a wrong rule changes the gradient at a point by more than 0.001 %: else it is not wrong there. */
function differs(fn: Case['fn'], wrong: Case['fn'], inputs: readonly Tensor[]): boolean {
  const right = gradientsOf(fn, inputs)
  let found: number[]
  try {
    found = gradientsOf(wrong, inputs)
  } catch (error) {
    if (error instanceof GradientError) return true
    throw error
  }
  const largest = Math.max(...right.map(Math.abs), ...found.map(Math.abs))
  // NaN is different, too.
  return right.some((value, i) => !(Math.abs(value - (found[i] as number)) <= 1e-5 * largest))
}

/** The gradients of ⟨w, fn⟩ towards all inputs, for some w. */
function gradientsOf(fn: Case['fn'], inputs: readonly Tensor[]): number[] {
  const outputs = [fn(...inputs)].flat() as Tensor[]
  const weights = outputs.map(({ shape, size }) =>
    tensor(
      new Float64Array(size).map((_, i) => 0.5 + ((0.37 * i) % 1)),
      { shape },
    ),
  )
  const products = vectorJacobianProduct(outputs, weights, inputs)
  return products.flatMap((product, i) => [...(product ?? zerosLike(inputs[i] as Tensor)).data])
}

/** How many points are drawn at once. */
const BATCH = 250

/** Checks right rules at random points of random functions, and yields the false alarms, batch by batch. */
export function* runCorrect(cases: number, seed: number, functions = catalogue): Generator<readonly FalseAlarm[]> {
  const named = Object.entries(functions).map(([subject, of]) => of.map((point) => ({ subject, ...point })))
  const any = fc.oneof(...named)
  for (let done = 0; done < cases; done += BATCH) {
    const points = fc.sample(any, { seed: seed + done, numRuns: Math.min(BATCH, cases - done) })
    yield points.flatMap(({ subject, fn, inputs }) => {
      const { ok, report } = verdictOn(fn, inputs)
      return ok ? [] : [{ subject, inputs: fc.stringify(inputs), report }]
    })
  }
}

/** Whether the check passes, and whether it finds the gradient wrong; a sweep that throws tells that, too. */
function verdictOn(fn: Case['fn'], inputs: readonly Tensor[]): { ok: boolean; wrong: boolean; report: string } {
  try {
    const report = gradcheck(fn, inputs)
    return { ok: report.ok, wrong: report.verdict === 'wrong', report: String(report) }
  } catch (error) {
    if (error instanceof GradientError) return { ok: false, wrong: true, report: error.message }
    throw error
  }
}
