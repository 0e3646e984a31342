import { describe, expect, test } from 'vitest'
import {
  AnomalyError,
  ArgumentError,
  checkpoint,
  defineOp,
  detectAnomaly,
  grad,
  jvp,
  layerNorm,
  logaddexp,
  type Tensor,
  tensor,
  where,
} from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { expectError, untyped } from '../support/expectations.js'
import { double } from './support.js'

/** The error that a function throws under detectAnomaly. */
function anomalyOf(fn: () => unknown): AnomalyError {
  try {
    detectAnomaly(fn)
  } catch (error) {
    if (error instanceof AnomalyError) return error
    throw error
  }
  throw new Error('nothing was found')
}

/** The line of this file from which it is called. */
function here(): number {
  return Number(/anomaly\.test\.ts:(\d+)/.exec((new Error().stack as string).split('\n')[2] as string)?.[1])
}

const lineOf = (error: AnomalyError) => Number(/anomaly\.test\.ts:(\d+):\d+$/.exec(error.line ?? '')?.[1])

describe('an output', () => {
  test('that becomes infinite: named with its inputs and the line', () => {
    const x = double([1, 0, 2])
    let line = 0
    const error = anomalyOf(() => {
      const y = x.scale(2)
      line = here() + 1
      return y.log().sum().exp()
    })
    expect([error.op, error.at, lineOf(error)]).toEqual(['log', 'output', line])
    expect(error.name).toBe('AnomalyError')
    expect(error.message).toContain(
      `detectAnomaly: "log" made -Infinity at [1] (1 of 3 elements) from input 0: float64 (3,) in [0, 4]; called at `,
    )
  })

  test('that becomes NaN, also where its inputs are infinite', () => {
    const error = anomalyOf(() => double([1, -1]).sqrt())
    expect([error.op, error.message]).toEqual(['sqrt', expect.stringContaining('NaN at [1]')])
    const difference = anomalyOf(() => double([[1, Number.POSITIVE_INFINITY]]).sub(Number.POSITIVE_INFINITY))
    expect(difference.message).toContain(
      'made NaN at [0, 1] (2 of 2 elements) from input 0: float64 (1, 2) in [1, 1] and 1 infinite',
    )
  })

  test('but not of what an operation computes on its way', () => {
    const x = double([3e200, 4e200])
    expect(detectAnomaly(() => x.norm().item())).toBeCloseTo(5e200, -190)
    expect(detectAnomaly(() => logaddexp(double(Number.NEGATIVE_INFINITY), 1).item())).toBe(1)
    expect(anomalyOf(() => layerNorm(double([2, 2]), undefined, undefined, { eps: 0 })).op).toBe('normalise')
  })

  test('within a module: the line of the user’s call', () => {
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 })
    const x = tensor([[3e38, 3e38, -3e38, 3e38]])
    let line = 0
    const error = anomalyOf(() => {
      line = here() + 1
      return layer.forward(x)
    })
    expect([error.at, lineOf(error)]).toEqual(['output', line])
  })

  test('of a transform and of an operation of one’s own', () => {
    expect(anomalyOf(() => grad((x: Tensor) => x.log())(double(0))).op).toBe('log')
    const bad = defineOp({ name: 'bad', forward: (x: Tensor) => tensor([Number.NaN]).mul(x), vjp: (g) => g })
    expect(anomalyOf(() => bad(tensor([1]))).op).toBe('bad')
  })
})

describe('a cotangent', () => {
  test('that becomes infinite: named with the operation that was recorded, and its line', () => {
    const x = double([1, 0], true)
    let line = 0
    const error = anomalyOf(() => {
      line = here() + 1
      const y = x.sqrt()
      y.sum().backward()
    })
    expect([error.op, error.at, lineOf(error)]).toEqual(['sqrt', 'cotangent', line])
    expect(error.message).toContain(
      'detectAnomaly: the rule of "sqrt" made Infinity at [1] (1 of 2 elements) in the cotangent of input 0, ' +
        "from its output's cotangent float64 (2,) in [1, 1]; it had been computed from input 0: float64 (2,) in [0, 1]",
    )
    expect(x.grad).toBeNull()
  })

  test('of the second order: the line of the operation whose rule it came from', () => {
    const x = double([0], true)
    let line = 0
    const error = anomalyOf(() => {
      line = here() + 1
      const y = x.pow(1.5)
      y.backward(undefined, { createGraph: true })
      const first = x.grad as Tensor
      first.backward()
    })
    expect([error.at, lineOf(error)]).toEqual(['cotangent', line])
  })

  test('in a transform, under checkpoint', () => {
    const error = anomalyOf(() => grad((x: Tensor) => checkpoint((a: Tensor) => a.sqrt(), x))(double(0)))
    expect([error.op, error.at]).toEqual(['sqrt', 'cotangent'])
  })
})

describe('is no anomaly', () => {
  test('what the data bring in, what a mask writes, and what a zero cotangent meets', () => {
    const result = detectAnomaly(() => {
      const x = double([Number.NaN, 4, 0], true)
      const masked = where(x.gt(0), x.sqrt(), 0)
      masked.sum().backward()
      const scores = double([[1, 2]]).maskedFill(tensor([[false, true]]), Number.NEGATIVE_INFINITY)
      const weights = scores.softmax()
      const tangent = jvp((a: Tensor) => a.sqrt(), [double([0, 4])], [double([0, 1])])[1]
      return [x.grad, weights, tangent].map((value) => value?.toArray())
    })
    expect(result).toEqual([[0, 0.25, 0], [[1, 0]], [0, 0.25]])
  })

  test('fully masked attention', () => {
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 })
    const x = tensor([
      [1, 2, 3, 4],
      [4, 3, 2, 1],
    ])
    const mask = tensor([
      [false, false],
      [true, false],
    ])
    detectAnomaly(() => layer.forward(x, { mask }).sum().backward())
    expect(layer.parameters().every(({ grad: g }) => g?.data.every(Number.isFinite) === true)).toBe(true)
  })
})

test('returns what the function returns, and ends with it, also by an error', () => {
  expect(detectAnomaly(() => 'text')).toBe('text')
  expect(() => detectAnomaly(() => double(0).log())).toThrow(AnomalyError)
  expect(double(0).log().item()).toBe(Number.NEGATIVE_INFINITY)
  expectError(() => detectAnomaly(untyped(3)), ArgumentError, 'detectAnomaly', 'function')
})
