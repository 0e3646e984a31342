import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  backward,
  DTypeError,
  defineOp,
  GradientError,
  grad,
  hessian,
  jacobian,
  jvp,
  ones,
  ShapeError,
  type Tensor,
  tapeOf,
  tensor,
  where,
  zeros,
} from 'wengert'
import { assertGradcheck, assertGradgradcheck } from 'wengert/testing'
import { expectError, untyped } from '../support/expectations.js'
import { double } from './support.js'

const cube = defineOp({
  name: 'cube',
  forward: (x: Tensor) => x.mul(x).mul(x),
  vjp: (cotangent, { inputs: [x] }) => cotangent.mul(x.square()).scale(3),
})

/** xʸ by way of JavaScript's own numbers. */
const power = defineOp({
  name: 'power',
  forward: (x: Tensor, y: Tensor) => {
    const exponents = y.data
    return tensor(
      x.data.map((value, i) => value ** (exponents[i] as number)),
      { shape: x.shape, dtype: x.dtype },
    )
  },
  vjp: (cotangent, { inputs: [x, y], output }) => [
    cotangent.mul(y).mul(x.pow(y.sub(1))),
    cotangent.mul(output).mul(x.log()),
  ],
})

describe('an operation of one’s own', () => {
  test('passes the checks of the built-in ones, to second order', () => {
    const x = double([0.5, 1.5, 2.5], true)
    const y = double([2, -1, 0.5], true)
    assertGradcheck(cube, [x])
    assertGradgradcheck(cube, [x])
    assertGradcheck(power, [x, y])
    assertGradgradcheck(power, [x, y])
  })

  test('may change the cotangent that it gets in place, and nobody else’s changes', () => {
    const identity = defineOp({
      name: 'identity',
      forward: (x: Tensor) => x.clone(),
      vjp: (cotangent) => cotangent.copy_(double([5])),
    })
    const [x, y] = [double([2], true), double([2], true)]
    const seed = double([1])
    identity(x).add(y).backward(seed)
    expect([x.grad?.toArray(), y.grad?.toArray(), seed.toArray()]).toEqual([[5], [1], [1]])
  })

  test('nests, in forward mode too', () => {
    const x = double(2)
    expect(grad(cube)(x).item()).toBe(12)
    expect(grad(grad(cube))(x).item()).toBe(12)
    expect(grad(grad(grad(cube)))(x).item()).toBe(6)
    expect(jvp(cube, [x], [double(10)])[1].item()).toBe(120)
    expect(jvp(grad(cube), [x], [double(10)])[1].item()).toBe(120)
    expect(jacobian(cube, double([1, 2]), { mode: 'forward' }).toArray()).toEqual([
      [3, 0],
      [0, 12],
    ])
    expect(hessian((a: Tensor) => power(a, a).sum(), double([2])).item()).toBeCloseTo(
      // (xˣ)″ = xˣ ((1 + ln x)² + 1/x)
      4 * ((1 + Math.log(2)) ** 2 + 0.5),
      12,
    )
  })

  test('stands on the tape under its name, and nothing of its inside does', () => {
    const x = double([1, 2], true)
    const y = cube(x)
    expect(tapeOf(y).entries.map(({ op }) => op)).toEqual(['leaf', 'cube'])
    backward(y.sum())
    expect(x.grad?.toArray()).toEqual([3, 12])
  })

  test('takes arguments that are no tensors, and tensors that cannot be differentiated', () => {
    const pick = defineOp({
      name: 'pick',
      forward: (x: Tensor, places: Tensor, options: { factor: number }) =>
        x.indexSelect(0, places).scale(options.factor),
      vjp: (cotangent, { inputs: [x, places, { factor }] }) => {
        // Row i of the selection is row places[i] of x: the cotangent goes back by the transposed matrix.
        const rows = Array.from({ length: x.size }, (_, row) => row)
        const selection = double(
          (places.toArray() as number[]).map((place) => rows.map((row) => Number(place === row))),
        )
        return [selection.transpose().matmul(cotangent).scale(factor), null, null]
      },
    })
    const x = double([1, 2, 3])
    const places = tensor([2, 0, 2], { dtype: 'int32' })
    expect(grad((a: Tensor) => pick(a, places, { factor: 10 }).sum())(x).toArray()).toEqual([10, 0, 20])
  })

  test('may pass nothing to an input', () => {
    const first = defineOp({ name: 'first', forward: (a: Tensor, _b: Tensor) => a.clone(), vjp: (g) => [g, null] })
    const [a, b] = [double(1, true), double(2, true)]
    first(a, b).backward()
    expect([a.grad?.item(), b.grad]).toEqual([1, null])
    const step = defineOp({ name: 'step', forward: (x: Tensor) => x.gt(0).to('float64'), vjp: () => null })
    expect(grad((x: Tensor) => step(x).mul(x))(double(3)).item()).toBe(1)
    expect(jvp((x: Tensor) => step(x).mul(x), [double(3)], [double(1)])[1].item()).toBe(1)
  })

  test('gets tensors off the tape, and its result is a tensor of its own', () => {
    const mine = double([5])
    let seen: Tensor | undefined
    const constant = defineOp({
      name: 'constant',
      forward: (x: Tensor) => {
        seen = x
        return mine
      },
      vjp: (g) => g,
    })
    const x = double([1], true)
    const y = constant(x)
    expect([seen?.requiresGrad, y.requiresGrad, mine.requiresGrad]).toEqual([false, true, false])
  })

  test('may write into what it makes', () => {
    const filled = defineOp({
      name: 'filled',
      forward: (x: Tensor) => zeros(x.shape, { dtype: x.dtype }).copy_(x.exp()),
      vjp: (g, { output }) => g.mul(output),
    })
    expect(grad(filled)(double(1)).item()).toBe(double(1).exp().item())
  })

  test('what the rule was given stays readable', () => {
    const kept: Tensor[] = []
    const keeping = defineOp({
      name: 'keeping',
      forward: (x: Tensor) => x.exp(),
      vjp: (g, { inputs, output }) => {
        kept.push(g, ...inputs, output)
        return g.mul(output)
      },
    })
    const x = double([1, 2], true)
    keeping(x.scale(2)).square().sum().backward()
    const e = [Math.exp(2), Math.exp(4)]
    for (let i = 0; i < 100; i++) ones([2], { dtype: 'float64' }).exp()
    const values = kept.map((tensor_) => tensor_.toArray() as number[])
    expect(values[1]).toEqual([2, 4])
    values[2]?.forEach((value, i) => {
      expect(value).toBeCloseTo(e[i] as number, 10)
    })
    values[0]?.forEach((value, i) => {
      expect(value).toBeCloseTo(2 * (e[i] as number), 10)
    })
  })
})

describe('estimators', () => {
  test('straight through: rounds, and passes the cotangent as if it had not', () => {
    const roundStraightThrough = defineOp({
      name: 'roundStraightThrough',
      forward: (x: Tensor) => x.round(),
      vjp: (cotangent) => cotangent,
    })
    const x = double([0.4, 1.6])
    expect(roundStraightThrough(x).toArray()).toEqual([0, 2])
    expect(grad((a: Tensor) => roundStraightThrough(a).square().sum())(x).toArray()).toEqual([0, 4])
    expect(jvp(roundStraightThrough, [x], [double([1, 5])])[1].toArray()).toEqual([1, 5])
  })

  test('gradient reversal: does nothing, and turns the cotangent around', () => {
    const reverseGradient = defineOp({
      name: 'reverseGradient',
      forward: (x: Tensor, _factor: number) => x,
      vjp: (cotangent, { inputs: [, factor] }) => [cotangent.scale(-factor), null],
    })
    const x = double([1, 2])
    expect(reverseGradient(x, 3).toArray()).toEqual([1, 2])
    expect(grad((a: Tensor) => reverseGradient(a, 3).square().sum())(x).toArray()).toEqual([-6, -12])
    expect(x.requiresGrad).toBe(false)
  })

  test('a cotangent clipped on its way', () => {
    const clip = defineOp({
      name: 'clip',
      forward: (x: Tensor, _limit: number) => x,
      vjp: (cotangent, { inputs: [, limit] }) => [
        where(cotangent.abs().gt(limit), cotangent.sign().scale(limit), cotangent),
        null,
      ],
    })
    expect(
      grad((a: Tensor) =>
        clip(a, 1)
          .mul(double([0.5, -7]))
          .sum(),
      )(double([1, 1])).toArray(),
    ).toEqual([0.5, -1])
  })
})

describe('errors name the operation', () => {
  const x = double([1, 2], true)
  const op = (forward: unknown, vjp: unknown) =>
    defineOp<[Tensor]>({ name: 'mine', forward: untyped(forward), vjp: untyped(vjp) })
  const identity = (a: Tensor) => a
  const swept =
    (vjp: unknown, forward: unknown = identity) =>
    () =>
      op(forward, vjp)(x).sum().backward()

  test('of the definition', () => {
    expectError(() => defineOp(untyped({ forward: identity, vjp: identity })), ArgumentError, 'defineOp', 'name')
    expectError(
      () => defineOp(untyped({ name: 'mine', vjp: identity })),
      ArgumentError,
      'defineOp',
      'forward of "mine"',
    )
    expectError(
      () => defineOp(untyped({ name: 'mine', forward: identity })),
      ArgumentError,
      'defineOp',
      'vjp of "mine"',
    )
  })

  test('of forward', () => {
    expectError(() => op(() => 3, identity)(x), ArgumentError, 'mine', 'what forward returns', 'number')
    expectError(() => op(() => undefined, identity)(x), ArgumentError, 'mine', 'what forward returns')
    expectError(() => op(async () => x, identity)(x), ArgumentError, 'mine', 'Promise')
    expectError(
      () => op((a: Tensor) => a.copy_(double([0, 0])), identity)(x.detach().clone()),
      GradientError,
      'mine',
      'changed its input 0 in place',
    )
  })

  test('of vjp', () => {
    expectError(
      swept(() => 3),
      ArgumentError,
      'mine',
      'vjp must return a tensor',
      'number',
    )
    expectError(
      swept(() => undefined),
      ArgumentError,
      'mine',
      'vjp must return',
    )
    expectError(
      swept(async () => x),
      ArgumentError,
      'mine',
      'Promise',
    )
    expectError(
      swept((g: Tensor) => [g, g]),
      ArgumentError,
      'mine',
      '2 products for 1 argument',
    )
    expectError(
      swept(() => ['g']),
      ArgumentError,
      'mine',
      'what vjp returns for argument 0',
      'string',
    )
    expectError(
      swept((g: Tensor) => g.sum()),
      ShapeError,
      'mine',
      'argument 0 of shape (2,)',
      'shape ()',
    )
    expectError(
      swept((g: Tensor) => g.to('float32')),
      DTypeError,
      'mine',
      'float64',
      'float32',
    )
    const two = defineOp({ name: 'two', forward: (a: Tensor, b: Tensor) => a.mul(b), vjp: (g) => g })
    expectError(() => two(x, x).sum().backward(), ArgumentError, 'two', 'array')
    const indexed = defineOp({ name: 'indexed', forward: (a: Tensor, _: Tensor) => a, vjp: (g) => [g, g] })
    expectError(
      () =>
        indexed(x, tensor([1, 2], { dtype: 'int32' }))
          .sum()
          .backward(),
      DTypeError,
      'indexed',
      'argument 1',
      'int32',
    )
    const told = defineOp({ name: 'told', forward: (a: Tensor, _: number) => a, vjp: (g) => [g, g] })
    expectError(() => told(x, 1).sum().backward(), ArgumentError, 'told', 'argument 1', 'no tensor')
    expect(x.grad).toBeNull()
  })

  test('forward mode through a rule that is not made of operations', () => {
    const opaque = op(identity, (g: Tensor) => tensor(g.data, { dtype: 'float64' }))
    expectError(() => jvp(opaque, [double([1, 2])], [double([1, 2])]), GradientError, 'jvp', '"mine"', 'return null')
  })
})
