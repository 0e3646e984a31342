import fc from 'fast-check'
import { defineOp, manualSeed, mseLoss, rand, randn, type Tensor, tensor } from 'wengert'
import { Linear, Sequential } from 'wengert/nn'
import { assertGradcheck, assertGradgradcheck, checkGrads, gradcheck } from 'wengert/testing'
import { tensors } from 'wengert/testing/fast-check'
import 'wengert/testing/vitest'
import { beforeEach, describe, expect, test } from 'vitest'
import { Snake, snake } from './snake.js'

beforeEach(() => manualSeed(0))

// Differences need float64, and say something only about what requires a gradient.
const point = () => [
  randn([3, 4], { dtype: 'float64', requiresGrad: true }),
  rand([4], { dtype: 'float64' }).add(0.5).detach().requiresGrad_(),
]

describe('snake', () => {
  test('computes x + sin²(α x) / α', () => {
    const y = snake(tensor([[0, 1]], { dtype: 'float64' }), tensor([1, 2], { dtype: 'float64' }))
    expect(y).toBeCloseToTensor(tensor([[0, 1 + Math.sin(2) ** 2 / 2]], { dtype: 'float64' }))
  })

  test('has the gradients that differences find', () => assertGradcheck(snake, point()))

  test('and the second derivatives', () => assertGradgradcheck(snake, point()))

  test('in reverse and in forward mode, one over the other', () => {
    const { ok, checks } = checkGrads(snake, point() as [Tensor, Tensor], { order: 2 })
    expect(ok).toBe(true)
    expect(checks.map(({ modes }) => modes.join(' over '))).toContain('forward over reverse')
  })

  test('has them for any rows', () => {
    const rows = tensors({ minRank: 2, maxRank: 2, requiresGrad: true })
    const right = fc.property(rows, (x) => {
      const alpha = rand([x.shape[1] ?? 1], { dtype: 'float64' }).add(0.5)
      expect(gradcheck((given: Tensor) => snake(given, alpha), [x]).verdict).not.toBe('wrong')
    })
    fc.assert(right, { seed: 1, numRuns: 20 })
  })
})

describe('a mistake', () => {
  test('is found: α forgotten in the derivative', () => {
    const mistaken = defineOp({
      name: 'mistaken',
      forward: (x: Tensor, alpha: Tensor) => x.add(x.mul(alpha).sin().square().div(alpha)),
      vjp: (cotangent, { inputs: [x] }) => [cotangent.mul(x.scale(2).sin().add(1)), null],
    })
    const [x, alpha] = point() as [Tensor, Tensor]
    expect((given: Tensor) => mistaken(given, alpha)).not.toPassGradcheck([x])
  })
})

describe('Snake', () => {
  test('has right gradients within a network, towards its input and α', () => {
    const snakes = new Snake(4, { dtype: 'float64' })
    const linear = (from: number, to: number) => new Linear(from, to, { dtype: 'float64' })
    const model = new Sequential(linear(3, 4), snakes, linear(4, 2))
    const target = randn([5, 2], { dtype: 'float64' })
    const loss = (x: Tensor, alpha: Tensor) => {
      // The check gives its own numbers in place of the parameter.
      Object.assign(snakes, { alpha })
      return mseLoss(model.forward(x), target)
    }
    assertGradcheck(loss, [randn([5, 3], { dtype: 'float64', requiresGrad: true }), snakes.alpha])
  })
})
