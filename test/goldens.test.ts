// Values of PyTorch for every operation: output, gradients, and gradients of gradients. WENGERT_GOLDENS points at
// another file of the same form.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import { type DType, type Shape, Tensor, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'

interface Array_ {
  readonly shape: Shape
  readonly dtype: DType
  readonly data: readonly (number | 'inf' | '-inf' | 'nan')[]
}

interface Golden {
  readonly id: string
  readonly op: string
  readonly args: Readonly<Record<string, unknown>>
  readonly inputs: readonly Array_[]
  readonly output: Array_
  readonly cotangent?: Array_
  readonly grads?: readonly Array_[]
  readonly v?: readonly Array_[]
  readonly grads2?: readonly Array_[]
  readonly note?: string
}

const file = process.env['WENGERT_GOLDENS'] ?? new URL('fixtures/torch-f64.json', import.meta.url)
const goldens = JSON.parse(readFileSync(file, 'utf8')) as { source: string; cases: Golden[] }

const special = { inf: Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY, nan: Number.NaN }
const numbers = ({ data }: Array_) => data.map((value) => (typeof value === 'string' ? special[value] : value))
const asTensor = (array: Array_) =>
  tensor(numbers(array), { shape: array.shape, dtype: array.dtype, requiresGrad: array.dtype === 'float64' })

/** The options that cases have, by name; each operation reads its own. */
interface Args {
  readonly factor: number
  readonly exponent: number
  readonly shape: Shape
  readonly axes: readonly number[]
  readonly axis: number
  readonly start: readonly number[]
  readonly end: readonly number[]
  readonly step: readonly number[]
  readonly value: number
  readonly padding: readonly (readonly [number, number])[]
  readonly equation: string
  readonly numHeads: number
  readonly scale: 'sqrt' | 'none'
}
type Call = (inputs: readonly Tensor[], args: Args) => Tensor

/** How an operation takes its arguments, where it is not `op(...inputs)` or `op(...inputs, options)`. */
const calls: Readonly<Record<string, Call>> = {
  scale: ([x], { factor }) => wengert.scale(x as Tensor, factor),
  pow: ([a, b], { exponent }) => wengert.pow(a as Tensor, b ?? exponent),
  reshape: ([x], { shape }) => wengert.reshape(x as Tensor, shape),
  permute: ([x], { axes }) => wengert.permute(x as Tensor, axes),
  broadcastTo: ([x], { shape }) => wengert.broadcastTo(x as Tensor, shape),
  concat: (inputs, { axis }) => wengert.concat(inputs, axis),
  stack: (inputs, { axis }) => wengert.stack(inputs, axis),
  slice: ([x], { start, end, step }) => wengert.slice(x as Tensor, start, end, step),
  indexSelect: ([x, indices], { axis }) => wengert.indexSelect(x as Tensor, axis, indices as Tensor),
  maskedFill: ([x, mask], { value }) => wengert.maskedFill(x as Tensor, mask as Tensor, value),
  pad: ([x], { padding, value }) => wengert.pad(x as Tensor, padding, { value }),
  cumsum: ([x], { axis }) => wengert.cumsum(x as Tensor, axis),
  gather: ([x, indices], { axis }) => wengert.gather(x as Tensor, axis, indices as Tensor),
  einsum: (inputs, { equation }) => wengert.einsum(equation, ...inputs),
  softmax: ([x], { axis }) => wengert.softmax(x as Tensor, axis),
  logSoftmax: ([x], { axis }) => wengert.logSoftmax(x as Tensor, axis),
  scaledDotProductAttention: ([q, k, v, mask], args) => {
    const options = { ...(args as unknown as wengert.AttentionOptions), mask }
    return wengert.scaledDotProductAttention(q as Tensor, k as Tensor, v as Tensor, options)
  },
  multiHeadAttention: ([x, ...weights], { numHeads, scale }) => {
    const [WQ, , WV, WO] = weights as [Tensor, Tensor, Tensor, Tensor]
    const embedDim = WO.shape[0] as number
    const layer = new MultiHeadAttention({
      embedDim,
      numHeads,
      keyDim: (WQ.shape[0] as number) / numHeads,
      valueDim: (WV.shape[0] as number) / numHeads,
      scale,
      dtype: 'float64',
    })
    // The given leaves take the place of the layer's own parameters, so that gradients reach them.
    Object.assign(layer, Object.fromEntries(['WQ', 'WK', 'WV', 'WO'].map((name, i) => [name, weights[i]])))
    return layer.forward(x as Tensor)
  },
}

function callFor(op: string): Call {
  if (calls[op] !== undefined) return calls[op]
  const fn = (wengert as Readonly<Record<string, unknown>>)[op]
  return (inputs, args) => {
    if (typeof fn !== 'function') throw new Error(`wengert has no operation ${op}`)
    const options = Object.fromEntries(
      Object.entries(args).map(([name, value]) => [name, value === null ? undefined : value]),
    )
    return (fn as (...values: unknown[]) => Tensor)(...inputs, ...(Object.keys(options).length === 0 ? [] : [options]))
  }
}

function expectClose(actual: Tensor | null, expected: Array_, what: string): void {
  const wanted = numbers(expected)
  const got = actual === null ? wanted.map(() => 0) : [...actual.data]
  if (actual !== null) expect(actual.shape, `${what}: shape`).toEqual(expected.shape)
  wanted.forEach((value, i) => {
    const found = got[i] as number
    const close =
      Object.is(found, value) || found === value || Math.abs(found - value) <= 1e-12 + 1e-10 * Math.abs(value)
    expect(close, `${what}[${i}]: got ${found}, PyTorch has ${value}`).toBe(true)
  })
}

function check(golden: Golden, call: Call): void {
  const inputs = golden.inputs.map(asTensor)
  const leaves = inputs.filter((input) => input.dtype === 'float64')
  const output = call(inputs, golden.args as unknown as Args)
  expect(output).toBeInstanceOf(Tensor)
  expectClose(output, golden.output, 'output')
  if (golden.cotangent === undefined || golden.grads === undefined) return
  output.backward(asTensor({ ...golden.cotangent, dtype: 'float64' }).detach(), { createGraph: true })
  // Where a note says that an input's gradient is not compared, the list is shorter.
  const gradients = leaves.map((leaf) => leaf.grad)
  golden.grads.forEach((expected, i) => {
    expectClose(gradients[i] ?? null, expected, `gradient of input ${i}`)
  })
  if (golden.v === undefined || golden.grads2 === undefined) return
  let total = tensor(0, { dtype: 'float64' })
  golden.v.forEach((direction, i) => {
    const gradient = gradients[i]
    if (gradient != null) total = total.add(gradient.mul(asTensor(direction).detach()).sum())
  })
  for (const leaf of leaves) leaf.grad = null
  if (total.requiresGrad) total.backward()
  golden.grads2.forEach((expected, i) => {
    expectClose(leaves[i]?.grad ?? null, expected, `second-order gradient of input ${i}`)
  })
}

/** Of two vectors. */
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((total, value, i) => total + value * (b[i] as number), 0)

/** By forward mode, ⟨ȳ, J v⟩ for a direction v over all inputs; PyTorch's is Σ ⟨gradient, v⟩. */
function checkForward(golden: Golden, call: Call): void {
  const { grads, cotangent } = golden
  if (grads === undefined || cotangent === undefined) return
  const inputs = golden.inputs.map((input) => asTensor(input).detach())
  const places = inputs.flatMap(({ dtype }, place) => (dtype === 'float64' ? [place] : [])).slice(0, grads.length)
  const leaves = places.map((place) => inputs[place] as Tensor)
  const directions = leaves.map(({ size, shape }) =>
    tensor(
      Float64Array.from({ length: size }, (_, i) => Math.cos(1 + 7 * i)),
      { shape },
    ),
  )
  const fn = (...given: Tensor[]) => {
    const all = [...inputs]
    places.forEach((place, i) => {
      all[place] = given[i] as Tensor
    })
    return call(all, golden.args as unknown as Args)
  }
  const [output, tangent] = wengert.jvp(fn, leaves, directions)
  expectClose(output, golden.output, 'output')
  const found = dot(numbers(cotangent), [...tangent.data])
  const terms = directions.map(({ data }, i) => dot(numbers(grads[i] as Array_), [...data]))
  const sizes = directions.map(({ data }, i) => dot(numbers(grads[i] as Array_).map(Math.abs), [...data].map(Math.abs)))
  const wanted = terms.reduce((total, term) => total + term, 0)
  const size = Math.max(...sizes, Math.abs(wanted), 1)
  expect(Math.abs(found - wanted), `⟨ȳ, J v⟩: ${found}, by PyTorch ${wanted}`).toBeLessThan(1e-10 * size)
}

describe(`values of ${goldens.source}`, () => {
  for (const golden of goldens.cases) {
    const note = golden.note === undefined ? '' : ` (${golden.note})`
    const call = callFor(golden.op)
    const name = `${golden.id}: ${golden.op} ${JSON.stringify(golden.args)}${note}`
    test(name, () => check(golden, call))
    test(`${name}, under checkpoint`, () => check(golden, (...given) => wengert.checkpoint(call, ...given)))
    test(`${name}, in forward mode`, () => checkForward(golden, call))
  }
})
