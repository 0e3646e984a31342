// The tape: what is recorded, how it is swept, and where the gradients go.
import { describe, expect, test } from 'vitest'
import {
  add,
  concat,
  enableGrad,
  exp,
  matmul,
  mul,
  noGrad,
  ones,
  type Shape,
  stack,
  type Tensor,
  tapeOf,
  tensor,
  where,
  zeros,
} from 'wengert'
import type { TapeNode } from '../src/core/node.js'
import { apply, type Operation } from '../src/core/operation.js'
import { expectNear, expectSame, gradOf } from './support/expectations.js'
import { generate } from './support/reference.js'

const leaf = (data: Parameters<typeof tensor>[0], dtype: 'float32' | 'float64' = 'float64') =>
  tensor(data, { dtype, requiresGrad: true })

const numbersOf = (x: Tensor) => gradOf(x).toArray()

describe('backward', () => {
  test('gives a leaf the derivative', () => {
    const x = leaf([1, 2, 3])
    x.square().sum().backward()
    expect(numbersOf(x)).toEqual([2, 4, 6])
  })

  test('of a leaf itself is 1', () => {
    const x = leaf(5)
    x.backward()
    expect(numbersOf(x)).toBe(1)
    x.backward()
    expect(numbersOf(x)).toBe(2)
  })

  test('takes a cotangent: the vector of a vector-Jacobian product', () => {
    const x = leaf([1, 2])
    x.square().backward(tensor([10, 100], { dtype: 'float64' }))
    expect(numbersOf(x)).toEqual([20, 400])
  })

  test('takes a root with one element of any rank, and null for the cotangent', () => {
    const x = leaf([[3]])
    x.square().backward()
    expect(numbersOf(x)).toEqual([[6]])
    x.grad = null
    x.square().backward(null, { retainGraph: true })
    expect(numbersOf(x)).toEqual([[6]])
  })

  test('adds to what is there, until it is set to null', () => {
    const x = leaf([1, 2])
    x.sum().backward()
    x.mul(3).sum().backward()
    expect(numbersOf(x)).toEqual([4, 4])
    x.grad = null
    expect(x.grad).toBeNull()
    x.sum().backward()
    expect(numbersOf(x)).toEqual([1, 1])
  })

  test('adds to a gradient that the user has set, and leaves that tensor alone', () => {
    const x = leaf([1, 2])
    const mine = tensor([10, 20], { dtype: 'float64' })
    x.grad = mine
    x.sum().backward()
    expect(numbersOf(x)).toEqual([11, 21])
    expect(mine.toArray()).toEqual([10, 20])
  })

  test('reaches only the leaves that the root depends on', () => {
    const [x, y] = [leaf(1), leaf(2)]
    x.mul(3).backward()
    expect([numbersOf(x), y.grad]).toEqual([3, null])
  })

  test('leaves results without a gradient', () => {
    const x = leaf(1)
    const y = x.exp()
    y.square().backward()
    expect([y.grad, y.isLeaf, x.isLeaf]).toEqual([null, false, true])
  })

  test('two losses over shared leaves, apart and together', () => {
    const [x, y] = [leaf(2), leaf(3)]
    x.mul(y).backward()
    x.square().backward()
    const apart = [numbersOf(x), numbersOf(y)]
    for (const t of [x, y]) t.grad = null
    x.mul(y).add(x.square()).backward()
    expect([numbersOf(x), numbersOf(y)]).toEqual(apart)
    expect(apart).toEqual([7, 2])
  })
})

describe('tensors used more than once', () => {
  test('in one operation', () => {
    const x = leaf([2, 3])
    const cases: [Tensor, number[]][] = [
      [add(x, x), [2, 2]],
      [x.sub(x), [0, 0]],
      [mul(x, x), [4, 6]],
      [x.div(x), [0, 0]],
      [x.maximum(x), [1, 1]],
      [concat([x, x, x]), [3, 3]],
      [stack([x, x], 1), [2, 2]],
      [where(tensor([true, false]), x, x), [1, 1]],
      [matmul(x, x), [4, 6]],
      [x.pow(x), [4 * (Math.log(2) + 1), 27 * (Math.log(3) + 1)]],
    ]
    for (const [y, expected] of cases) {
      x.grad = null
      y.sum().backward()
      expectNear(gradOf(x), { shape: [2], data: expected }, { relative: 4e-16 })
    }
  })

  test('a diamond', () => {
    const x = leaf(0.5)
    const y = x.exp()
    y.mul(y.square()).add(y).backward()
    // e³ˣ + eˣ
    expectNear(gradOf(x), { shape: [], data: [3 * Math.exp(1.5) + Math.exp(0.5)] }, { relative: 1e-15 })
  })

  test('diamonds upon diamonds are swept once each', () => {
    const x = leaf(1)
    let y: Tensor = x
    for (let i = 0; i < 60; i++) y = y.add(y)
    y.backward()
    expect(numbersOf(x)).toBe(2 ** 60)
    expect(tapeOf(y).entries).toHaveLength(61)
  })

  test('a result and what is made of it', () => {
    const x = leaf([1, 2])
    const y = x.scale(3)
    y.add(y.scale(10)).sum().add(y.sum()).backward()
    expect(numbersOf(x)).toEqual([36, 36])
  })

  test('views of one leaf in different orders', () => {
    const x = leaf([
      [1, 2],
      [3, 4],
    ])
    const weights = tensor(
      [
        [1, 10],
        [100, 1000],
      ],
      { dtype: 'float64' },
    )
    const total = x
      .transpose()
      .mul(weights)
      .sum()
      .add(x.mul(weights).sum())
      .add(x.reshape([4]).sum())
    total.backward()
    expect(numbersOf(x)).toEqual([
      [3, 111],
      [111, 2001],
    ])
  })
})

describe('cotangents that are views', () => {
  const shape: Shape = [2, 3, 4]
  const values = generate(shape, ([i = 0, j = 0, k = 0]) => i + 0.25 * j - 0.125 * k)
  const point = () => tensor([...values.data], { shape, dtype: 'float64', requiresGrad: true })

  const cases: [string, (x: Tensor) => Tensor, (position: readonly number[], value: number) => number][] = [
    ['a broadcast scalar', (x) => x.sum(), () => 1],
    [
      'a broadcast row',
      (x) => x.sum({ axis: 1 }).square().sum().scale(0.5),
      ([i = 0, , k = 0]) => 3 * i + 0.75 - 0.375 * k,
    ],
    ['a permuted one', (x) => x.permute([2, 0, 1]).square().sum(), (_, value) => 2 * value],
    [
      'a permuted broadcast one',
      (x) =>
        x
          .permute([1, 2, 0])
          .sum({ axis: [0, 2] })
          .sum(),
      () => 1,
    ],
    [
      'added to a permuted one',
      (x) => x.permute([2, 1, 0]).square().sum().add(x.square().sum()),
      (_, value) => 4 * value,
    ],
    [
      'added to a broadcast one',
      (x) => x.sum().add(x.square().sum()).add(x.mean()),
      (_, value) => 1 + 2 * value + 1 / 24,
    ],
    [
      'of a reshape of a permutation',
      (x) => x.permute([2, 1, 0]).reshape([12, 2]).square().sum(),
      (_, value) => 2 * value,
    ],
    ['through transposes and back', (x) => x.transpose().exp().transpose().log().sum(), () => 1],
    ['of a broadcast leaf', (x) => x.unsqueeze(0).broadcastTo([5, 2, 3, 4]).sum(), () => 5],
    [
      'of a slice',
      (x) => x.slice([0, 0, 0], [2, 3, 4], [1, 2, 3]).square().sum(),
      ([, j = 0, k = 0], value) => (j % 2 === 0 && k % 3 === 0 ? 2 * value : 0),
    ],
  ]
  test.each(cases)('%s', (_, fn, derivative) => {
    const x = point()
    fn(x).backward()
    let place = 0
    const expected = generate(shape, (position) => derivative(position, values.data[place++] as number))
    expectNear(gradOf(x), expected, { relative: 1e-14, absolute: 1e-15 })
    expect(gradOf(x).strides).toBeNull()
  })
})

describe('gradients belong to their leaves', () => {
  const roots: [string, (a: Tensor, b: Tensor) => Tensor, Tensor | undefined][] = [
    ['the seed', (a, b) => a.add(b), ones([3], { dtype: 'float64' })],
    ['one cotangent', (a, b) => a.add(b).exp().sum(), undefined],
    ['a broadcast cotangent', (a, b) => a.add(b).sum(), undefined],
    [
      'a reshaped cotangent',
      (a, b) =>
        a
          .reshape([3, 1])
          .add(b.reshape([3, 1]))
          .square()
          .sum(),
      undefined,
    ],
    ['a concatenation', (a, b) => concat([a, b]).square().sum(), undefined],
  ]
  test.each(roots)('two leaves that receive %s', (_, fn, cotangent) => {
    for (const options of [{}, { createGraph: true }, { retainGraph: true }]) {
      const [a, b] = [leaf([1, 2, 3]), leaf([4, 5, 6])]
      fn(a, b).backward(cotangent, options)
      const before = numbersOf(b)
      gradOf(a).detach().copy_(tensor(99))
      expect(numbersOf(b)).toEqual(before)
      expect(cotangent?.toArray() ?? [1, 1, 1]).toEqual([1, 1, 1])
    }
  })

  test('the cotangent that was given is not the gradient', () => {
    const x = leaf([1, 2])
    const cotangent = tensor([3, 4], { dtype: 'float64' })
    x.reshape([2, 1]).reshape([2]).backward(cotangent)
    cotangent.copy_(tensor(0))
    expect(numbersOf(x)).toEqual([3, 4])
  })

  test('a gradient that the user holds stays as it is', () => {
    const x = leaf([1, 2])
    x.square().sum().backward()
    const first = gradOf(x)
    const view = first.reshape([2, 1])
    x.square().sum().backward()
    expect(first.toArray()).toEqual([2, 4])
    expect(view.toArray()).toEqual([[2], [4]])
    expect(numbersOf(x)).toEqual([4, 8])
    x.grad = null
    x.sum().backward()
    expect(first.toArray()).toEqual([2, 4])
  })

  test('and nothing holds the numbers of a leaf but the leaf', () => {
    const x = leaf([1, 2])
    x.sum().backward()
    gradOf(x).copy_(tensor([7, 7]))
    expect(x.toArray()).toEqual([1, 2])
    expect(numbersOf(x)).toEqual([7, 7])
  })
})

describe('dtypes of gradients', () => {
  test('each leaf gets its own dtype back', () => {
    const [x, y] = [leaf([1, 2], 'float32'), leaf([3, 4], 'float64')]
    const z = x.mul(y)
    expect(z.dtype).toBe('float64')
    z.sum().backward()
    expect([gradOf(x).dtype, numbersOf(x)]).toEqual(['float32', [3, 4]])
    expect([gradOf(y).dtype, numbersOf(y)]).toEqual(['float64', [1, 2]])
  })

  test('through conversions, there and back', () => {
    const x = leaf([0.1], 'float32')
    x.to('float64').square().to('float32').sum().backward()
    expect(gradOf(x).dtype).toBe('float32')
    expectNear(gradOf(x), { shape: [1], data: [0.2] }, { relative: 1e-7 })
  })

  test('int32 and bool operands take none', () => {
    const x = leaf([1, 2], 'float32')
    const k = tensor([3, 4], { dtype: 'int32' })
    x.mul(k).sum().backward()
    expect([gradOf(x).dtype, numbersOf(x), k.requiresGrad, k.grad]).toEqual(['float32', [3, 4], false, null])
    x.grad = null
    x.mul(tensor([true, false]))
      .sum()
      .backward()
    expect(numbersOf(x)).toEqual([1, 0])
  })

  test('concat and where of both dtypes', () => {
    const [x, y] = [leaf([1], 'float32'), leaf([2], 'float64')]
    concat([x, y])
      .square()
      .sum()
      .add(where(tensor(true), x, y).sum())
      .backward()
    expect([gradOf(x).dtype, numbersOf(x)]).toEqual(['float32', [3]])
    expect([gradOf(y).dtype, numbersOf(y)]).toEqual(['float64', [4]])
  })
})

describe('retainGraph', () => {
  test('lets the tape be swept again, and adds', () => {
    const x = leaf([1, 2])
    const loss = x.square().sum()
    loss.backward(undefined, { retainGraph: true })
    loss.backward(undefined, { retainGraph: true })
    expect(numbersOf(x)).toEqual([4, 8])
    loss.backward()
    expect(numbersOf(x)).toEqual([6, 12])
    expect(() => loss.backward()).toThrow('released')
  })

  test('two roots over one part', () => {
    const x = leaf(2)
    const shared = x.square()
    shared.exp().backward(undefined, { retainGraph: true })
    shared.log().backward()
    expectNear(gradOf(x), { shape: [], data: [4 * Math.exp(4) + 1] }, { relative: 1e-15 })
  })
})

describe('createGraph', () => {
  test('x³ to the fourth order', () => {
    const x = leaf(2)
    let y = x.mul(x).mul(x)
    for (const derivative of [12, 12, 6]) {
      x.grad = null
      y.backward(undefined, { createGraph: true })
      y = gradOf(x)
      expect(y.item()).toBe(derivative)
    }
    // The third derivative is the constant 6: nothing depends on x any more, or its derivative is 0.
    if (y.requiresGrad) {
      x.grad = null
      y.backward()
      expect(x.grad === null ? 0 : gradOf(x).item()).toBe(0)
    }
  })

  test('the exponential is its own derivative, to the third order', () => {
    const x = leaf([0.5, -1])
    const value = x.exp()
    let y = value
    for (let order = 1; order <= 3; order++) {
      x.grad = null
      y.sum().backward(undefined, { createGraph: true })
      y = gradOf(x)
      expectSame(y, value)
    }
  })

  test('mixed derivatives of x²y³', () => {
    const [x, y] = [leaf(2), leaf(3)]
    x.square().mul(y.pow(3)).backward(undefined, { createGraph: true })
    const [dx, dy] = [gradOf(x), gradOf(y)]
    expect([dx.item(), dy.item()]).toEqual([2 * 2 * 27, 4 * 3 * 9])
    for (const t of [x, y]) t.grad = null
    dx.backward(undefined, { retainGraph: true })
    expect([numbersOf(x), numbersOf(y)]).toEqual([2 * 27, 2 * 2 * 3 * 9])
    for (const t of [x, y]) t.grad = null
    dy.backward()
    expect([numbersOf(x), numbersOf(y)]).toEqual([2 * 2 * 3 * 9, 4 * 6 * 3])
  })

  test('a gradient penalty', () => {
    const x = leaf([1, 2])
    const w = leaf([3, 4])
    mul(x.square(), w).sum().backward(undefined, { createGraph: true })
    const penalty = gradOf(x).square().sum()
    for (const t of [x, w]) t.grad = null
    penalty.backward()
    // Σ(2xw)²: 8xw² and 8x²w
    expect(numbersOf(x)).toEqual([8 * 9, 8 * 2 * 16])
    expect(numbersOf(w)).toEqual([8 * 3, 8 * 4 * 4])
  })

  test('the gradients need gradients only where they depend on something', () => {
    const x = leaf([1, 2])
    x.square().sum().backward(undefined, { createGraph: true })
    expect(gradOf(x).requiresGrad).toBe(true)
    x.grad = null
    x.square().sum().backward()
    expect(gradOf(x).requiresGrad).toBe(false)
    // What a sweep that is not recorded adds to must not pass for differentiable afterwards.
    x.grad = null
    x.square().sum().backward(undefined, { createGraph: true })
    x.square().sum().backward()
    expect([gradOf(x).requiresGrad, numbersOf(x)]).toEqual([false, [4, 8]])
  })

  test('accumulation is differentiable too', () => {
    const x = leaf(3)
    x.square().backward(undefined, { createGraph: true })
    x.pow(3).backward(undefined, { createGraph: true })
    const both = gradOf(x)
    x.grad = null
    both.backward()
    // (2x + 3x²)′ = 2 + 6x
    expect(numbersOf(x)).toBe(20)
  })

  test('adding up without and with createGraph gives the same numbers', () => {
    const gradient = (createGraph: boolean) => {
      const x = tensor([0.3, -0.7, 1.1], { dtype: 'float64', requiresGrad: true })
      const y = x.tanh()
      let z = y.mul(x)
      for (let i = 0; i < 5; i++) z = z.add(y.mul(z)).sub(x.transpose(0, 0).scale(0.1))
      z.sum().backward(undefined, { createGraph })
      return gradOf(x)
    }
    expectSame(gradient(true), gradient(false))
  })
})

describe('modes', () => {
  test('noGrad records nothing and returns what the function returns', () => {
    const x = leaf(2)
    const y = noGrad(() => x.square())
    expect([y.item(), y.requiresGrad, y.isLeaf]).toEqual([4, false, true])
    expect(noGrad(() => 'text')).toBe('text')
    expect(x.square().requiresGrad).toBe(true)
  })

  test('enableGrad records within noGrad', () => {
    const x = leaf(2)
    noGrad(() => {
      expect(x.exp().requiresGrad).toBe(false)
      const y = enableGrad(() => {
        expect(noGrad(() => x.exp()).requiresGrad).toBe(false)
        return x.square()
      })
      expect(x.exp().requiresGrad).toBe(false)
      y.backward()
    })
    expect(numbersOf(x)).toBe(4)
  })

  test('leaves can be made, and swept from, under noGrad', () => {
    const x = noGrad(() => leaf(2))
    expect(x.requiresGrad).toBe(true)
    const y = x.exp()
    noGrad(() => y.backward())
    expect(numbersOf(x)).toBe(y.item())
    expect(gradOf(x).requiresGrad).toBe(false)
  })

  test('createGraph records also under noGrad', () => {
    const x = leaf(2)
    const y = x.pow(3)
    noGrad(() => y.backward(undefined, { createGraph: true }))
    const first = gradOf(x)
    x.grad = null
    first.backward()
    expect(numbersOf(x)).toBe(12)
  })

  test('detach cuts off, and shares the numbers', () => {
    const x = leaf([1, 2])
    const cut = x.detach()
    expect([cut.requiresGrad, cut.isLeaf]).toEqual([false, true])
    x.mul(cut).sum().backward()
    expect(numbersOf(x)).toEqual([1, 2])
    cut.copy_(tensor([5, 6]))
    expect(x.toArray()).toEqual([5, 6])
  })

  test('clone has numbers of its own, and is differentiable', () => {
    const x = leaf([1, 2])
    const y = x.clone()
    x.copy_(tensor([5, 6]))
    expect(y.toArray()).toEqual([1, 2])
    y.scale(3).sum().backward()
    expect(numbersOf(x)).toEqual([3, 3])
  })

  test('a gradient asked for later does not reach back', () => {
    const x = tensor([1, 2])
    const before = x.exp()
    x.requiresGrad_()
    expect(before.requiresGrad).toBe(false)
    expect(x.exp().requiresGrad).toBe(true)
  })
})

describe('tapeOf', () => {
  test('lists the entries in the order of execution', () => {
    const x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    )
    const w = tensor([1, 2])
    const loss = x.mul(w).exp().sum()
    const tape = tapeOf(loss)
    const [first = 0, second = 0, third = 0, fourth = 0] = tape.entries.map(({ id }) => id)
    expect(second > first && third > second && fourth > third).toBe(true)
    expect(tape.entries).toEqual([
      { id: first, op: 'leaf', inputs: [], inputShapes: [], shape: [2, 2], bytesSaved: 0, released: false },
      {
        id: second,
        op: 'mul',
        inputs: [first, null],
        inputShapes: [[2, 2], [2]],
        shape: [2, 2],
        bytesSaved: 8,
        released: false,
      },
      { id: third, op: 'exp', inputs: [second], inputShapes: [[2, 2]], shape: [2, 2], bytesSaved: 16, released: false },
      { id: fourth, op: 'sum', inputs: [third], inputShapes: [[2, 2]], shape: [], bytesSaved: 0, released: false },
    ])
    expect(tape.bytesSaved).toBe(24)
    const digits = String(fourth).length
    const id = (value: number) => String(value).padStart(digits)
    const input = (value: number, shape: string) => `${value} ${shape}`
    expect(tape.toString()).toBe(
      [
        `${'id'.padStart(digits)}  op    ${'inputs'.padEnd(digits + 15)}  output  bytes saved`,
        `${id(first)}  leaf  ${''.padEnd(digits + 15)}  (2, 2)            0`,
        `${id(second)}  mul   ${input(first, '(2, 2), · (2,)').padEnd(digits + 15)}  (2, 2)            8`,
        `${id(third)}  exp   ${input(second, '(2, 2)').padEnd(digits + 15)}  (2, 2)           16`,
        `${id(fourth)}  sum   ${input(third, '(2, 2)').padEnd(digits + 15)}  ()                0`,
        '4 entries, 24 bytes saved',
      ].join('\n'),
    )
  })

  test('counts values that several entries saved once', () => {
    const x = tensor([1, 2, 3, 4], { requiresGrad: true })
    const y = x.mul(x)
    const tape = tapeOf(y.square().sum().add(y.square().sum()))
    const saved = Object.fromEntries(tape.entries.map(({ op, bytesSaved }) => [op, bytesSaved]))
    expect(saved).toMatchObject({ mul: 16, square: 16, sum: 0, add: 0 })
    expect(tape.bytesSaved).toBe(32)
  })

  test('shows what has been released', () => {
    const x = tensor([1, 2], { requiresGrad: true })
    const loss = x.exp().sum()
    const before = tapeOf(loss)
    loss.backward()
    expect(before.entries.map(({ released }) => released)).toEqual([false, false, false])
    const after = tapeOf(loss)
    expect(after.entries.map(({ released }) => released)).toEqual([false, true, true])
    expect(after.bytesSaved).toBe(0)
    expect(after.toString()).toContain('released')
  })

  test('is empty for what needs no gradient', () => {
    const tape = tapeOf(tensor(1).exp())
    expect([tape.entries, tape.bytesSaved]).toEqual([[], 0])
    expect(tape.toString()).toContain('0 entries')
  })

  test('leaves out what the root does not depend on', () => {
    const x = tensor(1, { requiresGrad: true })
    x.square()
    const y = x.exp()
    exp(x)
    expect(tapeOf(y).entries.map(({ op }) => op)).toEqual(['leaf', 'exp'])
  })
})

describe('deep chains', () => {
  test('of 100,000 operations neither overflow the stack nor lose anything', () => {
    const x = leaf(1)
    let y: Tensor = x
    for (let i = 0; i < 100_000; i++) y = y.scale(i % 2 === 0 ? 2 : 0.5)
    expect(y.item()).toBe(1)
    expect(tapeOf(y).entries).toHaveLength(100_001)
    y.backward()
    expect(numbersOf(x)).toBe(1)
  })

  test('of 100,000 operations that save their values', () => {
    const x = leaf([0, 0.5])
    let y: Tensor = x
    for (let i = 0; i < 100_000; i++) y = y.mul(1).add(0)
    y.tanh().sum().backward()
    expectNear(gradOf(x), { shape: [2], data: [1, 1 - Math.tanh(0.5) ** 2] }, { relative: 1e-15 })
  })

  /** How often a sweep over a chain reads an entry's parents and calls its rule. */
  function workOf(length: number): { reads: number; calls: number } {
    const work = { reads: 0, calls: 0 }
    const counted: Operation<undefined> = {
      name: 'counted',
      forward: ([x]) => noGrad(() => (x as Tensor).clone()),
      derivatives: [
        {
          saves: [],
          rule: (g) => {
            work.calls++
            return g
          },
        },
      ],
    }
    const x = leaf(1)
    let y: Tensor = x
    for (let i = 0; i < length; i++) {
      y = apply(counted, [y], undefined)
      const node = y.node as TapeNode
      const { parents } = node
      Object.defineProperty(node, 'parents', {
        get: () => {
          work.reads++
          return parents
        },
      })
    }
    y.backward()
    expect(numbersOf(x)).toBe(1)
    return work
  }

  test('take work in proportion to their length', () => {
    const [short, long] = [workOf(1000), workOf(20_000)]
    expect(short.calls).toBe(1000)
    expect(long.calls).toBe(20_000)
    expect(long.reads).toBe(20 * short.reads)
  })
})

test('gradients of empty tensors are empty', () => {
  const x = zeros([0, 3], { requiresGrad: true })
  x.exp().mul(2).sum().backward()
  expect(x.grad?.shape).toEqual([0, 3])
})
