import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  checkpoint,
  defineOp,
  GradientError,
  grad,
  hessian,
  jvp,
  manualSeed,
  noGrad,
  rand,
  randn,
  type Tensor,
  tapeOf,
  vjp,
} from 'wengert'
import { Parameter, SelfAttention } from 'wengert/nn'
import { expectError, expectSame, untyped } from '../support/expectations.js'
import { double } from './support.js'

type Layer = (x: Tensor) => Tensor

/** A layer with dropout, so that random numbers matter. */
function layerOf(weight: Tensor): Layer {
  return (x) => {
    const y = x.matmul(weight).tanh()
    return y.mul(rand(y.shape, { dtype: 'float64' }).gt(0.3).to('float64')).add(x.scale(0.5))
  }
}

function network() {
  manualSeed(7)
  const weights = Array.from({ length: 6 }, () => new Parameter(randn([5, 5], { dtype: 'float64' }).scale(0.4)))
  const layers = weights.map(layerOf)
  const x = randn([4, 5], { dtype: 'float64' }).requiresGrad_()
  const chain = (from: number, to: number) => (input: Tensor) =>
    layers.slice(from, to).reduce((value, layer) => layer(value), input)
  return { weights, x, chain }
}

const gradients = (loss: Tensor, leaves: readonly Tensor[], options = {}) => {
  for (const leaf of leaves) leaf.grad = null
  loss.backward(undefined, options)
  return leaves.map(({ grad: gradient }) => gradient?.toArray())
}

const arrangements: Record<string, (n: ReturnType<typeof network>) => Tensor> = {
  'one checkpoint': ({ x, chain }) => checkpoint(chain(0, 6), x),
  'one for each two layers': ({ x, chain }) =>
    checkpoint(chain(4, 6), checkpoint(chain(2, 4), checkpoint(chain(0, 2), x))),
  'the middle': ({ x, chain }) => chain(4, 6)(checkpoint(chain(2, 4), chain(0, 2)(x))),
  'one in another': ({ x, chain }) =>
    checkpoint((input: Tensor) => chain(4, 6)(checkpoint(chain(2, 4), chain(0, 2)(input))), x),
  'three deep': ({ x, chain }) =>
    checkpoint((a: Tensor) => checkpoint((b: Tensor) => checkpoint(chain(2, 6), chain(1, 2)(b)), chain(0, 1)(a)), x),
}

describe.each(Object.entries(arrangements))('%s', (_, arrange) => {
  test('has the same value and gradients, to the last bit, random numbers included', () => {
    const plain = network()
    const value = plain.chain(0, 6)(plain.x)
    const next = rand([3]).toArray()
    const wanted = gradients(value.square().sum(), [plain.x, ...plain.weights])
    const saving = network()
    const result = arrange(saving)
    expect(result.toArray()).toEqual(value.toArray())
    expect(rand([3]).toArray()).toEqual(next)
    const after = rand([3]).toArray()
    manualSeed(1)
    const before = rand([2]).toArray()
    manualSeed(1)
    expect(gradients(result.square().sum(), [saving.x, ...saving.weights])).toEqual(wanted)
    // The sweep has left the generator where it was.
    expect(rand([2]).toArray()).toEqual(before)
    expect(after).not.toEqual(before)
  })

  test('can be swept again, and differentiated again', () => {
    const plain = network()
    const leaves = [plain.x, ...plain.weights]
    const penalty = (loss: Tensor, all: readonly Tensor[]) => {
      gradients(loss, all, { createGraph: true })
      const total = all.map(({ grad: gradient }) => (gradient as Tensor).square().sum()).reduce((a, b) => a.add(b))
      return gradients(total, all)
    }
    const wanted = penalty(plain.chain(0, 6)(plain.x).square().sum(), leaves)
    const saving = network()
    const loss = arrange(saving).square().sum()
    const all = [saving.x, ...saving.weights]
    const first = gradients(loss, all, { retainGraph: true })
    expect(gradients(loss, all, { retainGraph: true })).toEqual(first)
    expect(penalty(loss, all)).toEqual(wanted)
  })

  test('keeps less', () => {
    const plain = network()
    const saving = network()
    const [all, less] = [tapeOf(plain.chain(0, 6)(plain.x)), tapeOf(arrange(saving))]
    expect(less.entries.length).toBeGreaterThan(0)
    expect(less.bytesSaved).toBeLessThan(0.75 * all.bytesSaved)
  })
})

describe('memory', () => {
  test('of one checkpoint is its inputs', () => {
    const { x, chain } = network()
    const y = checkpoint(chain(0, 6), x)
    expect(tapeOf(y).bytesSaved).toBe(4 * 5 * 8)
    const loss = y.sum()
    loss.backward(undefined, { retainGraph: true })
    expect(tapeOf(loss).bytesSaved).toBe(4 * 5 * 8)
    loss.backward()
    expect(tapeOf(loss).bytesSaved).toBe(0)
    expectError(() => loss.backward(), GradientError, 'backward', 'released')
  })

  test('of nested ones is the outermost’s inputs', () => {
    const { x, chain } = network()
    const y = checkpoint((a: Tensor) => checkpoint(chain(3, 6), checkpoint(chain(0, 3), a)), x)
    expect(tapeOf(y).bytesSaved).toBe(4 * 5 * 8)
  })
})

describe('transforms', () => {
  const f = (x: Tensor) => x.exp().mul(x).sin()
  const saving = (x: Tensor) => checkpoint(f, x)
  test('of checkpointed functions, and in them', () => {
    const x = double(0.7)
    const cube = (a: Tensor) => checkpoint((b: Tensor) => grad((c: Tensor) => c.pow(4).scale(0.25))(b), a)
    expect(grad(saving)(x).item()).toBe(grad(f)(x).item())
    expect(grad(grad(saving))(x).item()).toBeCloseTo(grad(grad(f))(x).item(), 13)
    expect(jvp(saving, [x], [x])[1].item()).toBe(jvp(f, [x], [x])[1].item())
    expect(jvp(grad(saving), [x], [x])[1].item()).toBeCloseTo(jvp(grad(f), [x], [x])[1].item(), 13)
    expect(hessian(saving, x).item()).toBeCloseTo(hessian(f, x).item(), 13)
    expect(grad(cube)(double(2)).item()).toBeCloseTo(12, 12)
    expect(grad(grad(cube))(double(2)).item()).toBeCloseTo(12, 12)
    expect(grad(grad(grad(cube)))(double(2)).item()).toBeCloseTo(6, 12)
    const [, pullback] = vjp(saving, x)
    expect(pullback(double(1))[0].item()).toBe(pullback(double(1))[0].item())
  })

  test('of an operation of one’s own', () => {
    const twice = defineOp({ name: 'twice', forward: (x: Tensor) => x.scale(2), vjp: (g) => g.scale(2) })
    expect(grad((x: Tensor) => checkpoint((a: Tensor) => twice(a).square(), x))(double(3)).item()).toBe(24)
  })
})

test('takes and returns what the function does', () => {
  const x = double([1, 2], true)
  const f = (p: { x: Tensor }, name: string, k: number) => ({ name, parts: [p.x.exp().scale(k), p.x.square()] })
  const { name, parts } = checkpoint(f, { x }, 'me', 3)
  expect(name).toBe('me')
  ;(parts[1] as Tensor).sum().backward(undefined, { retainGraph: true })
  expect(x.grad?.toArray()).toEqual([2, 4])
  ;(parts[0] as Tensor).sum().backward()
  expectSame(x.grad as Tensor, x.detach().exp().scale(3).add(x.detach().scale(2)))
})

test('records nothing under noGrad, and nothing where nothing needs a gradient', () => {
  const x = double(1, true)
  expect(noGrad(() => checkpoint((a: Tensor) => a.exp(), x)).requiresGrad).toBe(false)
  expect(checkpoint((a: Tensor) => a.exp(), double(1)).requiresGrad).toBe(false)
})

test('modules', () => {
  const layer = new SelfAttention({ inputDim: 4, dtype: 'float64' })
  const x = randn([3, 4], { dtype: 'float64' })
  const run = (y: Tensor) => gradients(y.square().sum(), layer.parameters())
  expect(run(checkpoint((a: Tensor) => layer.forward(a), x))).toEqual(run(layer.forward(x)))
})

test('is called twice: once forward, and once for each sweep', () => {
  let calls = 0
  const x = double(2, true)
  const loss = checkpoint((a: Tensor) => {
    calls++
    return a.exp().mul(a)
  }, x)
  expect(calls).toBe(1)
  loss.backward(undefined, { retainGraph: true })
  expect(calls).toBe(2)
  loss.backward()
  expect(calls).toBe(3)
})

describe('errors', () => {
  test('no function', () => {
    expectError(() => checkpoint(untyped(double(1))), ArgumentError, 'checkpoint', 'function')
  })

  test('a function that does something else the second time', () => {
    const x = double(2, true)
    let calls = 0
    const loss = checkpoint((a: Tensor) => (calls++ === 0 ? a.exp().exp() : a.exp().sin()), x)
    expectError(() => loss.backward(), GradientError, 'backward', 'operation 1 was "exp" () and is "sin" () now')
    const shorter = checkpoint((a: Tensor) => (calls++ % 2 === 0 ? a.exp().exp() : a.exp()), x)
    expectError(() => shorter.backward(), GradientError, 'backward', 'is nothing now')
    expect(x.grad).toBeNull()
  })

  test('inputs and parameters changed in place', () => {
    const x = double([1, 2])
    const w = double([3, 4], true)
    const f = (a: Tensor) => a.mul(w).mul(w).sum()
    const first = checkpoint(f, x)
    x.copy_(double(0))
    expectError(() => first.backward(), GradientError, 'backward', 'an input of a checkpoint', 'changed in place')
    const second = checkpoint(f, x)
    w.copy_(double(0))
    expectError(() => second.backward(), GradientError, 'backward', 'changed in place', 'optimiser')
    expect(w.grad).toBeNull()
  })
})
