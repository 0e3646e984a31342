// Laws that hold for the derivatives of every function, whatever it is made of.
import { describe, expect, test } from 'vitest'
import {
  concat,
  gelu,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  logSoftmax,
  manualSeed,
  matmul,
  randn,
  softmax,
  stack,
  type Tensor,
  vjp,
  where,
} from 'wengert'
import { assertGradcheck } from 'wengert/testing'
import { expectNear } from '../support/expectations.js'
import { double, inner } from './support.js'

const random = (...shape: number[]) => randn(shape, { dtype: 'float64' })

/** Functions of two 3 × 4 tensors. */
const functions: Readonly<Record<string, (x: Tensor, y: Tensor) => Tensor>> = {
  arithmetic: (x, y) =>
    x
      .mul(y)
      .sub(x.div(y.square().add(1)))
      .add(x.neg()),
  broadcasting: (x, y) =>
    x
      .sum({ axis: 0 })
      .mul(y)
      .add(y.mean({ axis: 1, keepDims: true })),
  transcendental: (x, y) => x.exp().mul(y.tanh()).add(x.square().add(1).log()).add(y.sigmoid().sqrt()),
  errorFunction: (x, y) =>
    gelu(x)
      .mul(gelu(y, { approximate: 'tanh' }))
      .add(x.erf()),
  matmul: (x, y) => matmul(x, y.transpose()).tanh().matmul(x),
  softmax: (x, y) => softmax(x).mul(logSoftmax(y, 0)),
  views: (x, y) =>
    concat([x.transpose().reshape([3, 4]), y.slice([0, 1], [3, 4], [2, 2]).broadcastTo([2, 2]).reshape([1, 4])]),
  stacking: (x, y) => stack([x, y, x.mul(y)], 1),
  choice: (x, y) => where(x.gt(y), x.square(), y.maximum(0.1)).add(x.abs()).add(y.relu()),
  reductions: (x, y) =>
    x
      .max({ axis: 1 })
      .add(y.variance({ axis: 1 }))
      .mul(x.mul(y).sum({ axis: 1 })),
  constant: (x, y) => x.sign().add(y.detach()),
  identity: (x) => x,
}

/** Scalar functions of a vector. */
const scalars: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  cubic: (x) => x.pow(3).mul(x.sum()).sum(),
  quadratic: (x) => x.reshape([1, -1]).matmul(x.reshape([-1, 1])),
  smooth: (x) => x.exp().mul(x.tanh()).sum().add(softmax(x).square().sum()),
  separable: (x) => x.square().add(1).log().sum(),
  linear: (x) => x.scale(3).sum(),
}

describe.each(Object.entries(functions))('%s', (_, f) => {
  test('jvp and vjp are adjoint: ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩', () => {
    manualSeed(1)
    const [x, y, tx, ty] = [random(3, 4), random(3, 4), random(3, 4), random(3, 4)]
    const [value, tangent] = jvp(f, [x, y], [tx, ty])
    const [same, pullback] = vjp(f, x, y)
    expect(value.toArray()).toEqual(same.toArray())
    expect(value.toArray()).toEqual(f(x, y).toArray())
    const cotangent = random(...value.shape)
    const products = pullback(cotangent)
    const [left, right] = [inner([cotangent], [tangent]), inner(products, [tx, ty])]
    expect(Math.abs(left - right)).toBeLessThanOrEqual(1e-13 * (1 + Math.abs(left)))
  })

  test('jvp is linear in the tangent', () => {
    manualSeed(2)
    const [x, y, tx, ty] = [random(3, 4), random(3, 4), random(3, 4), random(3, 4)]
    const along = (a: Tensor, b: Tensor) => jvp(f, [x, y], [a, b])[1]
    const zero = double(0).broadcastTo([3, 4])
    const sum = along(tx, zero).scale(2).add(along(zero, ty))
    expectNear(along(tx.scale(2), ty), sum, { relative: 1e-13, absolute: 1e-13 })
  })

  test('forward over reverse is reverse over forward', () => {
    manualSeed(3)
    const [x, y, tx, ty] = [random(3, 4), random(3, 4), random(3, 4), random(3, 4)]
    const weights = random(...f(x, y).shape)
    const scalar = (a: Tensor, b: Tensor) => f(a, b).square().mul(weights).sum()
    const both = { argnums: [0, 1] } as const
    const [, forwardOverReverse] = jvp(grad(scalar, both), [x, y], [tx, ty])
    const reverseOverForward = grad((a: Tensor, b: Tensor) => jvp(scalar, [a, b], [tx, ty])[1], both)(x, y)
    const reverseOverReverse = grad((a: Tensor, b: Tensor) => {
      const [ga, gb] = grad(scalar, both)(a, b)
      return ga.mul(tx).sum().add(gb.mul(ty).sum())
    }, both)(x, y)
    forwardOverReverse.forEach((product, i) => {
      expectNear(product, reverseOverForward[i] as Tensor, { relative: 1e-11, absolute: 1e-11 })
      expectNear(product, reverseOverReverse[i] as Tensor, { relative: 1e-11, absolute: 1e-11 })
    })
  })

  test('the Jacobian by rows is the Jacobian by columns', () => {
    manualSeed(4)
    const [x, y] = [random(3, 4), random(3, 4)]
    const rows = jacobian((a: Tensor) => f(a, y), x, { mode: 'reverse' })
    const columns = jacobian((a: Tensor) => f(a, y), x, { mode: 'forward' })
    expect(rows.shape).toEqual([...f(x, y).shape, 3, 4])
    expectNear(rows, columns, { relative: 1e-12, absolute: 1e-13 })
  })
})

describe.each(Object.entries(scalars))('%s', (name, f) => {
  const point = () => double([0.3, -0.8, 1.2, 0.5])

  test('the gradient agrees with finite differences, and so does its gradient', () => {
    assertGradcheck(f, [point().requiresGrad_()])
    if (name !== 'linear') assertGradcheck((x) => grad(f)(x), [point().requiresGrad_()])
    if (name !== 'linear') assertGradcheck((x) => jvp(f, [x], [double([1, 2, -1, 0.5])])[1], [point().requiresGrad_()])
  })

  test('hvp is the Hessian times the vector, which is symmetric', () => {
    const x = point()
    const v = double([1, -2, 0.5, 3])
    const H = hessian(f, x)
    expect(H.shape).toEqual([4, 4])
    expectNear(H, H.transpose(), { relative: 1e-13, absolute: 1e-13 })
    expectNear(hvp(f, x, v), H.matmul(v), { relative: 1e-12, absolute: 1e-13 })
    expectNear(H, jacobian(grad(f), x, { mode: 'forward' }), { relative: 1e-12, absolute: 1e-13 })
    expectNear(
      H,
      jacobian((a: Tensor) => jacobian(f, a).reshape([4]), x),
      { relative: 1e-12, absolute: 1e-13 },
    )
  })
})

describe('nesting', () => {
  const f = (x: Tensor) => x.exp().mul(x)
  /** The n-th derivative of x eˣ at 0.7. */
  const exact = (n: number) => (n + 0.7) * Math.exp(0.7)
  type Scalar = (x: Tensor) => Tensor
  const forward = (fn: Scalar) => (x: Tensor) => jvp(fn, [x], [double(1)])[1]
  const reverse = (fn: Scalar) => grad(fn)
  const pulled = (fn: Scalar) => (x: Tensor) => vjp(fn, x)[1](double(1))[0]
  const whole = (fn: Scalar) => (x: Tensor) => jacobian(fn, x)
  const modes: Record<string, (fn: Scalar) => Scalar> = { f: forward, r: reverse, v: pulled, j: whole }

  const words = ['f', 'r', 'v', 'j'].flatMap((a) =>
    ['f', 'r', 'v', 'j'].flatMap((b) => [a + b, `${a}${b}f`, `${a}${b}r`]),
  )
  test.each([...words, 'rrrr', 'ffff', 'frfr', 'rfrf', 'vfjr'])('%s', (word) => {
    const derivative = [...word].reduceRight((fn, letter) => (modes[letter] as (fn: Scalar) => Scalar)(fn), f as Scalar)
    const result = derivative(double(0.7))
    expectNear(result, { shape: [], data: [exact(word.length)] }, { relative: 1e-13 })
    expect([result.requiresGrad, result.tangents?.size ?? 0]).toEqual([false, 0])
  })

  test.each(['f', 'r', 'v', 'j'])('%s within each other do not confuse their perturbations', (outer) => {
    for (const inside of ['f', 'r', 'v', 'j']) {
      const [d, e] = [modes[outer], modes[inside]] as [(fn: Scalar) => Scalar, (fn: Scalar) => Scalar]
      // d/dx (x · d/dy (x + y)) = 1, and d/dx (x · d/dy (x y) at y = 2) = 2x
      expect(d((x) => x.mul(e((y) => x.add(y))(double(1))))(double(1)).item()).toBe(1)
      expect(d((x) => x.mul(e((y) => x.mul(y))(double(2))))(double(3)).item()).toBe(6)
      // The inner one is constant where it is detached.
      expect(d((x) => x.mul(e((y) => x.detach().mul(y))(double(2))))(double(3)).item()).toBe(3)
    }
  })
})

test('the Jacobian of a softmax row is diag(a) − a aᵀ', () => {
  const x = double([0.2, -1, 3])
  const a = softmax(x).toArray() as number[]
  const wanted = a.flatMap((ai, i) => a.map((aj, j) => (i === j ? ai : 0) - ai * aj))
  for (const mode of ['forward', 'reverse', undefined] as const) {
    const J = jacobian((z: Tensor) => softmax(z), x, { mode })
    expectNear(J, { shape: [3, 3], data: wanted }, { absolute: 1e-15 })
  }
})
