import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  checkpoint,
  GradientError,
  grad,
  jvp,
  noGrad,
  registerHook,
  retainGrad,
  ShapeError,
  type Tensor,
} from 'wengert'
import { expectError, untyped } from '../support/expectations.js'
import { double } from './support.js'

describe('registerHook', () => {
  test('sees the whole cotangent once, of results and of leaves', () => {
    const x = double([1, 2], true)
    const y = x.scale(3)
    const seen: unknown[] = []
    registerHook(y, (g) => {
      seen.push(['y', g.toArray()])
    })
    x.registerHook((g) => {
      seen.push(['x', g.toArray()])
    })
    y.mul(y).add(y).sum().add(x.sum()).backward()
    expect(seen).toEqual([
      ['y', [7, 13]],
      ['x', [22, 40]],
    ])
    expect(x.grad?.toArray()).toEqual([22, 40])
  })

  test('changes the cotangent for everything before', () => {
    const [x, y] = [double([1, 2], true), double([3, 4], true)]
    const product = x.mul(y)
    product.registerHook((g) => g.scale(10))
    product.registerHook((g) => g.add(1))
    x.registerHook((g) => g.neg())
    product.sum().backward()
    expect([x.grad?.toArray(), y.grad?.toArray()]).toEqual([
      [-33, -44],
      [11, 22],
    ])
  })

  test('may change its cotangent in place, and nothing that has the same numbers changes', () => {
    const set = (g: Tensor) => void g.copy_(double([5]))
    const [x, y, z] = [double([2], true), double([2], true), double([2], true)]
    const seed = double([1])
    for (const leaf of [x, y]) leaf.registerHook(set)
    // Both operands get the one cotangent that was given.
    x.add(z).add(y).backward(seed)
    expect([x, y, z, seed].map((t) => (t === seed ? t : (t.grad as Tensor)).toArray())).toEqual([[5], [5], [1], [1]])
    // The cotangent that sign passes on is a constant of the library's.
    const [first, second] = [double([2], true), double([2], true)]
    first.registerHook(set)
    first.sign().sum().backward()
    second.sign().sum().backward()
    expect([first.grad?.toArray(), second.grad?.toArray()]).toEqual([[5], [0]])
  })

  test('is taken away again, each by itself', () => {
    const x = double(1, true)
    const double_ = (g: Tensor) => g.scale(2)
    const first = x.registerHook(double_)
    const second = x.registerHook(double_)
    const run = () => {
      x.grad = null
      x.scale(1).backward()
      return (x.grad as unknown as Tensor).item()
    }
    expect(run()).toBe(4)
    first()
    first()
    expect(run()).toBe(2)
    second()
    expect(run()).toBe(1)
  })

  test('a hook that takes itself away while it runs', () => {
    const x = double(1, true)
    let calls = 0
    const remove = x.registerHook(() => {
      calls++
      remove()
    })
    x.registerHook((g) => g.scale(2))
    for (let i = 0; i < 2; i++) x.scale(1).backward()
    expect([calls, x.grad?.item()]).toEqual([1, 4])
  })

  test('is recorded under createGraph', () => {
    const x = double(3, true)
    const y = x.square()
    y.registerHook((g) => g.mul(y))
    y.backward(undefined, { createGraph: true })
    const first = x.grad as Tensor
    expect(first.item()).toBe(54)
    x.grad = null
    first.backward()
    // (2x³)′ = 6x², and the hook of y multiplies what the second sweep brings to y by y = 9 once more: 2x · (2x) y
    expect((x.grad as unknown as Tensor).item()).toBe(2 * 9 + 2 * 3 * 6 * 9)
  })

  test('may keep what it sees', () => {
    const kept: Tensor[] = []
    const x = double([1, 2], true)
    let y: Tensor = x
    for (let i = 0; i < 5; i++) {
      y = y.scale(2)
      y.registerHook((g) => void kept.push(g))
    }
    y.add(y).sum().backward()
    for (let i = 0; i < 20; i++) x.exp().sum().backward()
    expect(kept.map((g) => g.toArray())).toEqual([2, 4, 8, 16, 32].map((value) => [value, value]))
  })

  test('works in transforms and under checkpoint', () => {
    const f = (x: Tensor) => {
      const y = x.square()
      y.registerHook((g) => g.scale(10))
      return y.sum()
    }
    const x = double([1, 2])
    expect(grad(f)(x).toArray()).toEqual([20, 40])
    expect(grad((a: Tensor) => checkpoint(f, a))(x).toArray()).toEqual([20, 40])
    // A cotangent is nothing that a forward pass has.
    expect(jvp((a: Tensor) => a.square(), [x], [x])[1].toArray()).toEqual([2, 8])
  })

  test('of an argument is not called in the sweep of a transform that takes it', () => {
    const x = double(2, true)
    let calls = 0
    x.registerHook(() => void calls++)
    const derivative = grad((a: Tensor) => a.pow(3))(x)
    expect(calls).toBe(0)
    derivative.backward()
    expect(calls).toBe(1)
  })

  test('may itself sweep, another tape or the same', () => {
    const x = double(2, true)
    const y = x.square()
    const seen: number[] = []
    y.registerHook((g) => {
      seen.push(g.item(), grad((a: Tensor) => a.pow(3))(x.detach()).item())
      if (seen.length === 2) y.backward(double(100), { retainGraph: true })
    })
    y.mul(3).backward()
    expect(seen).toEqual([3, 12, 100, 12])
    expect(x.grad?.item()).toBe(4 * 103)
  })

  test('errors', () => {
    const x = double([1, 2], true)
    expectError(() => registerHook(double(1), () => {}), GradientError, 'registerHook', 'needs no gradient')
    expectError(() => registerHook(untyped(1), () => {}), ArgumentError, 'registerHook', 'tensor')
    expectError(() => registerHook(x, untyped(1)), ArgumentError, 'registerHook', 'function')
    const hooks: [unknown, new (message: string) => GradientError, string][] = [
      [() => 3, ArgumentError, 'number'],
      [async () => {}, ArgumentError, 'object'],
      [(g: Tensor) => g.sum(), ShapeError, 'float64 ()'],
      [(g: Tensor) => g.to('float32'), ShapeError, 'float32 (2,)'],
    ]
    for (const [hook, kind, says] of hooks) {
      const y = x.scale(2)
      y.registerHook(untyped(hook))
      expectError(() => y.sum().backward(), kind, 'registerHook', says)
    }
    expect(x.grad).toBeNull()
  })

  test('an error thrown by a hook passes through, and the tape is as it was', () => {
    const x = double(2, true)
    const y = x.square()
    const remove = y.registerHook(() => {
      throw new Error('mine')
    })
    expect(() => y.backward(undefined, { retainGraph: true })).toThrow('mine')
    remove()
    y.backward()
    expect(x.grad?.item()).toBe(4)
  })
})

describe('retainGrad', () => {
  test('gathers the cotangent of a result in its grad', () => {
    const x = double([1, 2], true)
    const y = retainGrad(x.square())
    const z = y.scale(3).retainGrad()
    z.sum().backward(undefined, { retainGraph: true })
    expect([x.grad, y.grad, z.grad].map((g) => g?.toArray())).toEqual([
      [6, 12],
      [3, 3],
      [1, 1],
    ])
    z.sum().backward()
    expect([x.grad, y.grad].map((g) => g?.toArray())).toEqual([
      [12, 24],
      [6, 6],
    ])
  })

  test('takes what hooks have made of it', () => {
    const x = double(1, true)
    const y = x.exp().retainGrad()
    y.registerHook((g) => g.scale(5))
    y.backward()
    expect(y.grad?.item()).toBe(5)
  })

  test('changes nothing for a leaf, and is an error without a gradient', () => {
    const x = double(1, true)
    x.retainGrad().scale(2).backward()
    expect(x.grad?.item()).toBe(2)
    expectError(() => retainGrad(double(1)), GradientError, 'retainGrad', 'needs no gradient')
    expectError(() => noGrad(() => x.exp().retainGrad()), GradientError, 'retainGrad', 'needs no gradient')
  })
})
