// grad, valueAndGrad, vjp, jvp, jacobian, hessian, hvp: arguments, results, and what they leave alone.
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  DTypeError,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  noGrad,
  ShapeError,
  type Tensor,
  tapeOf,
  tensor,
  valueAndGrad,
  vjp,
} from 'wengert'
import { MultiHeadAttention, Parameter } from 'wengert/nn'
import { expectError, untyped } from '../support/expectations.js'
import { double } from './support.js'

type Layers = { layers: { w: Tensor; b: Tensor | null }[]; scale: Tensor }
const layers = (): Layers => ({
  layers: [
    { w: double([2, 3]), b: double(1) },
    { w: double([5, 7]), b: null },
  ],
  scale: double(10),
})
const loss = ({ layers, scale }: Layers) => {
  const [first, second] = layers as [Layers['layers'][0], Layers['layers'][0]]
  return first.w
    .mul(second.w)
    .add(first.b as Tensor)
    .mul(scale)
    .sum()
}

/** Starts a gradient anew. */
function forget(x: Tensor): void {
  x.grad = null
}

/** The numbers of a tree. */
const numbers = (tree: unknown): unknown =>
  JSON.parse(JSON.stringify(tree, (_, value) => (value?.toArray === undefined ? value : value.toArray())))

const lossGradient = {
  layers: [
    { w: [50, 70], b: 20 },
    { w: [20, 30], b: null },
  ],
  scale: 33,
}

describe('trees of tensors', () => {
  test('a gradient is built like its argument', () => {
    expect(numbers(grad(loss)(layers()))).toEqual(lossGradient)
    const [value, gradient] = valueAndGrad(loss)(layers())
    expect([value.item(), numbers(gradient)]).toEqual([330, lossGradient])
  })

  test('a pullback takes what is built like the result and gives one tree for each argument', () => {
    const f = (p: Layers, x: Tensor) => ({ value: loss(p).mul(x), parts: [x.square(), p.scale] })
    const [output, pullback] = vjp(f, layers(), double(3))
    expect(numbers(output)).toEqual({ value: 990, parts: [9, 10] })
    const [p, x] = pullback({ value: double(1), parts: [double(100), double(1000)] })
    expect(numbers(p.layers)).toEqual([
      { w: [150, 210], b: 60 },
      { w: [60, 90], b: null },
    ])
    expect([p.scale.item(), x.item()]).toEqual([3 * 33 + 1000, 330 + 600])
    // Any number of times, and in any order of the keys.
    expect(numbers(pullback({ parts: [double(0), double(0)], value: double(1) })[1])).toBe(330)
  })

  test('jvp gives the tangent of every part of the result', () => {
    const f = (p: Layers, x: Tensor) => ({ value: loss(p).mul(x), unrelated: [double(5)] })
    const direction: Layers = {
      layers: [
        { w: double([1, 0]), b: double(0) },
        { w: double([0, 0]), b: null },
      ],
      scale: double(1),
    }
    const [output, tangent] = jvp(f, [layers(), double(3)], [direction, double(0)])
    expect(numbers(output)).toEqual({ value: 990, unrelated: [5] })
    expect(numbers(tangent)).toEqual({ value: 3 * (50 + 33), unrelated: [0] })
  })

  test('jacobian and hessian are trees of trees of blocks', () => {
    const f = ({ a, b }: { a: Tensor; b: Tensor }) => [a.mul(b), b.sum()]
    for (const mode of ['forward', 'reverse', undefined] as const) {
      const J = jacobian(f, { a: double([2, 3]), b: double([5]) }, { mode })
      expect(numbers(J)).toEqual([
        {
          a: [
            [5, 0],
            [0, 5],
          ],
          b: [[2], [3]],
        },
        { a: [0, 0], b: [1] },
      ])
    }
    const H = hessian(({ a, b }) => a.square().mul(b).sum(), { a: double([2, 3]), b: double(5) })
    expect(numbers(H)).toEqual({
      a: {
        a: [
          [10, 0],
          [0, 10],
        ],
        b: [4, 6],
      },
      b: { a: [4, 6], b: 0 },
    })
    const product = hvp(
      ({ a, b }) => a.square().mul(b).sum(),
      { a: double([2, 3]), b: double(5) },
      { a: double([1, 10]), b: double(100) },
    )
    expect(numbers(product)).toEqual({ a: [410, 700], b: 64 })
  })

  test('the same tensor in two places is two variables', () => {
    const x = double(3)
    expect(numbers(grad(([a, b]: [Tensor, Tensor]) => a.mul(b).mul(b))([x, x]))).toEqual([9, 18])
  })
})

describe('argnums', () => {
  const f = (x: Tensor, factor: number, y: Tensor) => x.square().mul(y).mul(factor)
  test('one position, or several', () => {
    const args = [double(3), 2, double(5)] as const
    expect(grad(f)(...args).item()).toBe(60)
    expect(grad(f, { argnums: 2 })(...args).item()).toBe(18)
    const [dy, dx] = grad(f, { argnums: [2, 0] })(...args)
    expect([dy.item(), dx.item()]).toEqual([18, 60])
    const [value, [only]] = valueAndGrad(f, { argnums: [2] })(...args)
    expect([value.item(), only.item()]).toEqual([90, 18])
  })
})

describe('what is left alone', () => {
  test('the grad of arguments and of everything else', () => {
    const x = double([1, 2], true)
    const w = double([3, 4], true)
    const f = (a: Tensor) => a.square().mul(w).sum()
    grad(f)(x)
    vjp(f, x)[1](double(1))
    jvp(f, [x], [double([1, 1])])
    jacobian(f, x)
    hessian(f, x)
    hvp(f, x, double([1, 1]))
    noGrad(() => grad(f)(x))
    expect([x.grad, w.grad]).toEqual([null, null])
  })

  test('results are off the tape where nothing outside of the transform needs a gradient', () => {
    const x = double([1, 2])
    const f = (a: Tensor) => a.square().sum()
    const [output, pullback] = vjp(f, x)
    const results = [...valueAndGrad(f)(x), output, pullback(double(1))[0], ...jvp(f, [x], [x]), jacobian(f, x)]
    expect(results.map(({ requiresGrad }) => requiresGrad)).toEqual(results.map(() => false))
    expect([grad((a: Tensor) => a.sum())(x).requiresGrad, hessian(f, x).requiresGrad]).toEqual([false, false])
    // A constant of an inner transform is none of the outer one's business.
    const nested = grad((a: Tensor) =>
      grad((b: Tensor) => a.mul(b).sum())(x)
        .square()
        .sum(),
    )(x)
    expect([nested.toArray(), nested.requiresGrad]).toEqual([[2, 4], false])
  })

  test('the tape of the caller can still be swept', () => {
    const x = double(2, true)
    const y = x.exp()
    const inner = grad((a: Tensor) => a.mul(y).mul(a))(double(3))
    noGrad(() => grad((a: Tensor) => a.mul(y))(y))
    y.backward(undefined, { retainGraph: true })
    expect(x.grad?.item()).toBe(y.item())
    forget(x)
    inner.backward()
    expect(x.grad?.item()).toBe(6 * y.item())
  })

  test('the user’s numbers: results share them with nothing', () => {
    const x = double([1, 2])
    const [value, pullback] = vjp((a: Tensor, b: Tensor) => a.add(b), x, double([5, 6]))
    const cotangent = double([7, 8])
    const [da, db] = pullback(cotangent)
    da.copy_(double(0))
    expect([db.toArray(), cotangent.toArray(), x.toArray(), value.toArray()]).toEqual([
      [7, 8],
      [7, 8],
      [1, 2],
      [6, 8],
    ])
  })

  test('recording goes on after the function has thrown', () => {
    const x = double(1)
    const fail = (_: Tensor): Tensor => {
      throw new Error('mine')
    }
    for (const run of [
      () => grad(fail)(x),
      () => vjp(fail, x),
      () => jvp(fail, [x], [x]),
      () => jacobian(fail, x),
      () => hvp(fail, x, x),
    ]) {
      expect(run).toThrow('mine')
      expect(noGrad(() => x.exp().requiresGrad)).toBe(false)
      expect(grad((a: Tensor) => a.square())(x).item()).toBe(2)
      expect(jvp((a: Tensor) => a.square(), [x], [x])[1].item()).toBe(2)
    }
  })
})

describe('recorded arguments and closures', () => {
  test('backward reaches a recorded argument through the gradient and the value', () => {
    const x = double(3, true)
    const [value, gradient] = valueAndGrad((a: Tensor) => a.pow(3))(x)
    value.add(gradient).backward()
    // 3x² + 6x
    expect(x.grad?.item()).toBe(27 + 18)
  })

  test('and through tangents', () => {
    const x = double(3, true)
    const v = double(2, true)
    const [value, tangent] = jvp((a: Tensor) => a.pow(3), [x], [v])
    value.add(tangent).backward()
    // x³ + 3x² v
    expect([x.grad?.item(), v.grad?.item()]).toEqual([27 + 36, 27])
  })

  test('parameters that the function closes over receive their gradients', () => {
    const w = new Parameter(double([2, 3]))
    const x = double([1, 5])
    const derivative = grad((a: Tensor) => a.square().mul(w).sum())(x)
    derivative.sum().backward()
    expect(w.grad?.toArray()).toEqual([2, 10])
    forget(w)
    jvp((a: Tensor) => a.square().mul(w), [x], [double([1, 1])])[1]
      .sum()
      .backward()
    expect(w.grad?.toArray()).toEqual([2, 10])
    forget(w)
    const [, pullback] = vjp((a: Tensor) => a.square().mul(w), x)
    const cotangent = double([1, 1], true)
    pullback(cotangent)[0].sum().backward()
    expect([w.grad?.toArray(), cotangent.grad?.toArray()]).toEqual([
      [2, 10],
      [4, 30],
    ])
  })

  test('a gradient penalty on a module', () => {
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, dtype: 'float64' })
    const x = double([
      [1, 2, 3, 4],
      [0.5, -1, 2, 0],
    ])
    grad((a: Tensor) => layer.forward(a).square().sum())(x)
      .square()
      .sum()
      .backward()
    expect(layer.parameters().every(({ grad: g }) => g?.data.every(Number.isFinite) === true)).toBe(true)
  })

  test('under noGrad nothing is recorded, and the inner derivative is there all the same', () => {
    const x = double(3, true)
    const w = double(2, true)
    const f = (a: Tensor) => a.pow(3).mul(w)
    const results = noGrad(() => [...valueAndGrad(f)(x), ...jvp(f, [x], [double(1)])])
    expect(results.map((result) => result.item())).toEqual([54, 54, 54, 54])
    expect(results.some(({ requiresGrad }) => requiresGrad)).toBe(false)
  })

  test('noGrad and detach within the function cut it off, forward and reverse', () => {
    const f = (a: Tensor) =>
      noGrad(() => a.square())
        .mul(a)
        .add(a.detach().mul(a))
    expect(grad(f)(double(3)).item()).toBe(12)
    expect(jvp(f, [double(3)], [double(1)])[1].item()).toBe(12)
  })

  test('only what leads to the arguments is swept', () => {
    const x = double(1)
    const w = double(2, true)
    const derivative = grad((a: Tensor) => a.mul(w.exp().log().exp()))(x)
    // The chain behind w is read, not swept: one entry for alias, product and what follows from its rule.
    expect(tapeOf(derivative).entries.filter(({ op }) => op === 'log')).toHaveLength(1)
    derivative.backward()
    expect(w.grad?.item()).toBeCloseTo(Math.exp(2), 12)
  })
})

describe('functions that do not depend on their argument', () => {
  test('have zero derivatives', () => {
    const x = double([1, 2])
    const constant = (_: Tensor) => double(5)
    expect(grad(constant)(x).toArray()).toEqual([0, 0])
    expect(jvp(constant, [x], [x])[1].item()).toBe(0)
    expect(vjp(constant, x)[1](double(1))[0].toArray()).toEqual([0, 0])
    expect(jacobian(constant, x).toArray()).toEqual([0, 0])
    expect(jacobian(constant, x, { mode: 'forward' }).toArray()).toEqual([0, 0])
    const parameter = double(3, true)
    expect(grad((_: Tensor) => parameter)(x).toArray()).toEqual([0, 0])
  })

  test('empty tensors', () => {
    const x = tensor([], { dtype: 'float64' })
    for (const mode of ['forward', 'reverse'] as const) {
      expect(jacobian((a: Tensor) => a.exp(), x, { mode }).shape).toEqual([0, 0])
      expect(jacobian((a: Tensor) => a.sum(), x, { mode }).shape).toEqual([0])
    }
    expect(grad((a: Tensor) => a.sum())(x).shape).toEqual([0])
  })
})

describe('zero cotangents and tangents stay zero', () => {
  test('where the derivative is infinite', () => {
    const f = (x: Tensor) => x.gt(0).logicalNot().to('float64').mul(0).add(x.sqrt().mul(0)).sum()
    const x = double([0, 4])
    expect(grad(f)(x).toArray()).toEqual([0, 0])
    expect(jvp((a: Tensor) => a.sqrt(), [x], [double([0, 1])])[1].toArray()).toEqual([0, 0.25])
  })
})

describe('errors', () => {
  const x = double([1, 2])
  test('grad', () => {
    expectError(() => grad(untyped(x)), ArgumentError, 'grad', 'a function of tensors', 'a tensor')
    expectError(() => grad((a: Tensor) => a)(x), ShapeError, 'grad', '(2,)', 'no scalar', 'sum()')
    expectError(() => grad((a: Tensor) => untyped([a.sum(), a.sum()]))(x), ArgumentError, 'grad', 'one tensor')
    expectError(() => grad((a: Tensor) => untyped(a.sum().item()))(x), ArgumentError, 'grad', 'number', 'tensor(...)')
    expectError(
      () => grad((_: Tensor) => untyped(Promise.resolve(x)))(x),
      ArgumentError,
      'grad',
      'Promise',
      'synchronous',
    )
    expectError(() => grad((a: Tensor) => a.sum().gt(0))(x), DTypeError, 'grad', 'returned is bool')
    expectError(() => grad((a: Tensor) => a.sum())(untyped(3)), ArgumentError, 'grad', 'argument 0', 'number')
    expectError(() => grad((a: Tensor) => a.sum())(untyped(undefined)), ArgumentError, 'grad', 'holds no tensor')
    expectError(
      () => grad((a: Tensor) => a.sum(), { argnums: 1 })(x),
      ArgumentError,
      'grad',
      'argument 1',
      '1 argument',
    )
    for (const argnums of [-1, 0.5, [], [0, 0], '0', null]) {
      expectError(() => grad(() => x, { argnums: untyped(argnums) }), ArgumentError, 'grad', 'argnums')
    }
    expectError(
      () => grad((p: { a: Tensor[] }) => (p.a[0] as Tensor).sum())({ a: [x, tensor([1], { dtype: 'int32' })] }),
      DTypeError,
      'grad',
      'argument 0.a[1] is int32',
    )
    expectError(
      () => grad((_: Tensor) => x)(untyped({ a: { b: new MultiHeadAttention({ embedDim: 2, numHeads: 1 }) } })),
      ArgumentError,
      'grad',
      'argument 0.a.b is an instance of MultiHeadAttention',
    )
    const circular: { a?: unknown } = {}
    circular.a = circular
    expectError(() => grad((_: Tensor) => x)(untyped(circular)), ArgumentError, 'grad', 'argument 0.a contains itself')
  })

  test('vjp', () => {
    expectError(() => vjp(untyped(() => x)), ArgumentError, 'vjp', 'at least one')
    const [, pullback] = vjp((a: Tensor) => ({ y: a.exp(), z: a.sum() }), x)
    expectError(() => pullback(untyped({ y: x })), ArgumentError, 'vjp', 'there is no tensor the cotangent.z')
    expectError(
      () => pullback(untyped({ y: x, z: x, w: x })),
      ArgumentError,
      'vjp',
      'the cotangent.w is not in what the function returned',
    )
    expectError(() => pullback({ y: x, z: x }), ShapeError, 'vjp', 'the cotangent.z has shape (2,)', 'has ()')
    expectError(() => pullback({ y: tensor([1, 2]), z: double(1) }), DTypeError, 'vjp', 'float32', 'float64')
  })

  test('jvp', () => {
    const f = (a: Tensor) => a.exp()
    expectError(() => jvp(f, untyped(x), untyped(x)), ArgumentError, 'jvp', 'arrays')
    expectError(() => jvp(f, [x], untyped([])), ArgumentError, 'jvp', '1 and 0')
    expectError(() => jvp(f, [x], [double(1)]), ShapeError, 'jvp', 'tangent 0 has shape ()', 'primal 0 has (2,)')
    expectError(() => jvp(f, [x], [tensor([1, 2])]), DTypeError, 'jvp', 'tangent 0 is float32')
  })

  test('jacobian, hessian and hvp say their own names', () => {
    expectError(() => jacobian(() => x, untyped(1)), ArgumentError, 'jacobian', 'the input must be')
    expectError(() => jacobian(() => x, x, { mode: untyped('both') }), ArgumentError, 'jacobian', 'both')
    expectError(() => hessian((a: Tensor) => a, x), ShapeError, 'hessian', 'no scalar')
    expectError(() => hvp((a: Tensor) => a, x, x), ShapeError, 'hvp', 'no scalar')
    expectError(() => hvp((a: Tensor) => a.sum(), x, double(1)), ShapeError, 'hvp', 'the vector has shape ()')
    expectError(() => hessian(untyped(null), x), ArgumentError, 'hessian', 'function')
  })
})
