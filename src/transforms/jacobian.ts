import { ArgumentError } from '../core/errors.js'
import { compositeAll } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { tensor, zeros, zerosLike } from '../ops/creation.js'
import { stack } from '../ops/joining.js'
import { reshape } from '../ops/views.js'
import { push } from './jvp.js'
import { type AnyFunction, pullTrace, trace } from './trace.js'
import { checkFunction, type Flat, flattenFloating, type TensorsLike } from './tree.js'

/** Options of `jacobian`. */
export interface JacobianOptions {
  /**
   * `reverse`: one evaluation and one sweep for each element of the result (a row of the matrix). `forward`: one
   * forward pass for each element of the input (a column). By default the cheaper one.
   */
  readonly mode?: 'reverse' | 'forward' | undefined
}

/** A tree built like the result, with a tree built like the input for each of its tensors. */
export type JacobianOf<Result, Input> = Result extends Tensor
  ? TensorsLike<Input>
  : Result extends object
    ? { [Key in keyof Result]: JacobianOf<Result[Key], Input> }
    : Result

/** A forward pass, with its evaluation, costs about as much as this many sweeps. */
const PASS_IN_SWEEPS = 4

const INPUT_NAME = 'the input'

/**
 * All partial derivatives of `fn` at `x`, in numerator layout: for tensors, a tensor of the result's shape followed by
 * the input's, `J[i…, j…] = ∂y[i…]/∂x[j…]`. Where input or result are trees of tensors, a tree built like the result, in
 * each place of which stands a tree built like the input. Nests like {@link grad}.
 *
 * `fn` may be called many times and must give the same each time.
 *
 * @throws ArgumentError where input or result is no tree of tensors, DTypeError where one is not floating
 */
export function jacobian<Input, Result>(
  fn: (x: Input) => Result,
  x: Input,
  options: JacobianOptions = {},
): JacobianOf<Result, Input> {
  const { mode } = options
  if (mode !== undefined && mode !== 'reverse' && mode !== 'forward') {
    throw new ArgumentError(`jacobian: mode must be 'reverse' or 'forward', got ${String(mode)}`)
  }
  return jacobianOf('jacobian', fn, x, mode) as JacobianOf<Result, Input>
}

/** The Jacobian, for transforms that are made of it and named differently. */
export function jacobianOf(op: string, fn: AnyFunction, x: unknown, mode?: 'reverse' | 'forward'): unknown {
  checkFunction(op, fn)
  const input = flattenFloating(op, x, INPUT_NAME)
  let output: Flat | undefined
  const blocks = compositeAll(() => {
    if (mode !== 'forward') {
      const traced = trace(op, fn, [x], [0], () => INPUT_NAME)
      output = traced.output
      if (mode === 'reverse' || sizeOf(output) <= PASS_IN_SWEEPS * sizeOf(input)) {
        const rows = unitsOf(output).map((units, place, { length }) =>
          units.map((unit, k) => {
            const last = place === length - 1 && k === units.length - 1
            return pullTrace(traced, unit, !last)
          }),
        )
        return assemble(output, input, (o, i) => (rows[o] ?? []).map((row) => row[i] as Tensor), 0)
      }
    }
    const columns = unitsOf(input).map((units) =>
      units.map((unit) => {
        const pushed = push(op, fn, [input], unit())
        output = pushed.output
        return pushed.tangents.map((tangent, o) => tangent ?? zerosLike(pushed.output.leaves[o] as Tensor))
      }),
    )
    output ??= trace(op, fn, [x], [0], () => INPUT_NAME).output
    return assemble(output, input, (o, i) => (columns[i] ?? []).map((column) => column[o] as Tensor), -1)
  })
  const { leaves, rebuild } = output as unknown as Flat
  const count = input.leaves.length
  return rebuild(leaves.map((_, o) => input.rebuild(blocks.slice(o * count, (o + 1) * count))))
}

function sizeOf({ leaves }: Flat): number {
  return leaves.reduce((size, leaf) => size + leaf.size, 0)
}

/** For each leaf and each of its elements the unit vector over all leaves, yet to be made; null in it for zeros. */
function unitsOf({ leaves }: Flat): (() => (Tensor | null)[])[][] {
  return leaves.map(({ size, shape, dtype }, place) =>
    Array.from({ length: size }, (_, element) => () => {
      const numbers = new Float64Array(size)
      numbers[element] = 1
      return leaves.map((_, other) => (other === place ? tensor(numbers, { shape, dtype }) : null))
    }),
  )
}

/** Joins rows (axis 0) or columns (axis −1) into blocks, one for each leaf of the output and each of the input. */
function assemble(
  output: Flat,
  input: Flat,
  partsOf: (output: number, input: number) => readonly Tensor[],
  axis: 0 | -1,
): Tensor[] {
  return output.leaves.flatMap(({ shape: rows, dtype }, o) =>
    input.leaves.map(({ shape: columns }, i) => {
      const parts = partsOf(o, i)
      const shape = [...rows, ...columns]
      return parts.length === 0 ? zeros(shape, { dtype }) : reshape(stack(parts, axis), shape)
    }),
  )
}
