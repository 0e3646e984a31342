// Transforms in loops: nothing to free, and nothing that grows.
import { describe, expect, test } from 'vitest'
import { checkpoint, defineOp, grad, hvp, jacobian, jvp, noGrad, randn, type Tensor, valueAndGrad, vjp } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'
import { arenaStatistics, setArenaBudget } from '../../src/memory/arena.js'
import { restoreArenaBudget } from '../support/arena.js'

restoreArenaBudget()

const BUDGET = 256 * 1024

const layer = new MultiHeadAttention({ embedDim: 16, numHeads: 2 })
const x = randn([8, 16])
const v = randn([8, 16])
const f = (a: Tensor) => layer.forward(a).square().mean()
const own = defineOp({
  name: 'own',
  forward: (a: Tensor) => a.exp().add(1),
  vjp: (g, { output }) => g.mul(output.sub(1)),
})

/** One step of a loop that keeps nothing. */
const steps: Record<string, () => void> = {
  grad: () => void grad(f)(x),
  'grad under noGrad': () => void noGrad(() => grad(f)(x)),
  valueAndGrad: () => void valueAndGrad((a: Tensor) => a.exp().tanh().sum())(x),
  vjp: () => {
    const [y, pullback] = vjp((a: Tensor) => layer.forward(a), x)
    pullback(y)
    pullback(y)
  },
  jvp: () => void jvp(f, [x], [v]),
  hvp: () => void noGrad(() => hvp(f, x, v)),
  'jacobian by rows': () => void jacobian((a: Tensor) => a.slice(0, 1).exp(), x.slice(0, 1), { mode: 'reverse' }),
  'jacobian by columns': () => void jacobian((a: Tensor) => a.exp(), x.slice(0, 1), { mode: 'forward' }),
  checkpoint: () => {
    checkpoint((a: Tensor) => f(a), x).backward()
    layer.zeroGrad()
  },
  defineOp: () => void grad((a: Tensor) => own(own(a).scale(0.1)).sum())(x),
  hooks: () => {
    const y = x.clone().requiresGrad_().exp().retainGrad()
    y.registerHook((g) => g.scale(2))
    y.sum().backward()
  },
}

test.each(Object.entries(steps))('%s stays within the budget', (_, step) => {
  setArenaBudget(BUDGET, BUDGET)
  let most = 0
  for (let i = 0; i < 300; i++) {
    step()
    const { residentBytes, extent } = arenaStatistics()
    most = Math.max(most, residentBytes, extent)
  }
  expect(most).toBeLessThanOrEqual(BUDGET)
})

describe('private values are freed at once', () => {
  const residentsOf = (step: () => void): number => {
    step()
    const before = arenaStatistics().residents
    for (let i = 0; i < 10; i++) step()
    return (arenaStatistics().residents - before) / 10
  }

  test('of gradients: the value and the gradient are left, and what the function itself has made', () => {
    // exp, tanh, sum; gradient
    expect(residentsOf(() => void grad((a: Tensor) => a.exp().tanh().sum())(x))).toBeLessThanOrEqual(4)
    expect(residentsOf(() => void noGrad(() => grad(f)(x)))).toBeLessThanOrEqual(4)
  })

  test('of Jacobians by rows: the rows are not left', () => {
    const row = x.slice(0, 1)
    expect(residentsOf(() => void jacobian((a: Tensor) => a.exp(), row, { mode: 'reverse' }))).toBeLessThanOrEqual(2)
  })

  test('of checkpoints: what the function makes, twice', () => {
    const step = () => {
      checkpoint((a: Tensor) => layer.forward(a), x)
        .sum()
        .backward()
      layer.zeroGrad()
    }
    // Two results of the layer, the sum, and the 1 that backward starts with.
    expect(residentsOf(step)).toBeLessThanOrEqual(4)
  })
})

test('a forward pass needs no more memory the deeper it goes', () => {
  const budget = 64 * 1024
  const deep = (length: number) => (a: Tensor) => {
    let y = a
    for (let i = 0; i < length; i++) y = y.mul(a).tanh()
    return y
  }
  setArenaBudget(budget, budget)
  const [value, tangent] = jvp(deep(3000), [x], [v])
  expect(arenaStatistics().extent).toBe(budget)
  expect(value.requiresGrad || tangent.requiresGrad).toBe(false)
  expect(tangent.data.every(Number.isFinite)).toBe(true)
})
