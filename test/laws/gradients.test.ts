// Gradients of random compositions: against finite differences, and against each other.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualSeed, randn, type Tensor, tapeOf, zeros } from 'wengert'
import { assertGradcheck, assertGradgradcheck } from 'wengert/testing'
import { vectorJacobianProduct } from '../../src/autograd/vjp.js'
import { expectNear, expectSame } from '../support/expectations.js'
import { type RandomFunction, randomFunctions } from '../support/functions.js'

/** Leaves of the function's shapes. */
function leavesOf({ shapes }: RandomFunction, seed: number): Tensor[] {
  manualSeed(seed)
  return shapes.map((shape) => randn(shape, { dtype: 'float64', requiresGrad: true }))
}

const points = fc.tuple(randomFunctions, fc.nat(1e6))

describe('against finite differences', () => {
  test('first derivatives', () => {
    fc.assert(
      fc.property(points, ([f, seed]) => assertGradcheck(f.call, leavesOf(f, seed), { atol: 1e-9 })),
      { numRuns: 200 },
    )
  })

  test('second derivatives', () => {
    // Saturated compositions have second derivatives that are less than the rounding of what they are computed from.
    const options = { atol: 1e-6 }
    fc.assert(
      fc.property(points, ([f, seed]) => assertGradgradcheck(f.call, leavesOf(f, seed), options)),
      { numRuns: 100 },
    )
  })
})

describe('against each other', () => {
  /** The gradients of a function, swept in one way or the other. */
  function gradients(f: RandomFunction, seed: number, createGraph: boolean): Tensor[] {
    const leaves = leavesOf(f, seed)
    f.call(...leaves).backward(undefined, { createGraph })
    return leaves.map((leaf) => leaf.grad ?? zeros(leaf.shape, { dtype: 'float64' }))
  }

  test('a sweep that is recorded gives the same bits as one that adds up in place', () => {
    fc.assert(
      fc.property(points, ([f, seed]) => {
        const recorded = gradients(f, seed, true)
        // Attention has one kernel for its rule, and one made of operations where the sweep is recorded.
        const { entries } = tapeOf(f.call(...leavesOf(f, seed)))
        const isFused = entries.some(({ op }) => op === 'scaledDotProductAttention')
        gradients(f, seed, false).forEach((gradient, i) => {
          if (isFused) expectNear(gradient, recorded[i] as Tensor, { relative: 1e-12, absolute: 1e-12 })
          else expectSame(gradient, recorded[i] as Tensor)
        })
      }),
    )
  })

  test('two sweeps add up to twice one, bit by bit', () => {
    fc.assert(
      fc.property(points, ([f, seed]) => {
        const once = gradients(f, seed, false)
        const leaves = leavesOf(f, seed)
        const root = f.call(...leaves)
        root.backward(undefined, { retainGraph: true })
        root.backward()
        leaves.forEach((leaf, i) => {
          expectSame(leaf.grad ?? zeros(leaf.shape, { dtype: 'float64' }), (once[i] as Tensor).scale(2))
        })
      }),
    )
  })

  test('the vector-Jacobian product is the gradient, and leaves grad alone', () => {
    fc.assert(
      fc.property(points, ([f, seed]) => {
        const expected = gradients(f, seed, false)
        const leaves = leavesOf(f, seed)
        const root = f.call(...leaves)
        const one = zeros([], { dtype: 'float64' }).add(1)
        vectorJacobianProduct(root, one, leaves).forEach((product, i) => {
          expectSame(product ?? zeros((leaves[i] as Tensor).shape), expected[i] as Tensor)
        })
        expect(leaves.map(({ grad }) => grad)).toEqual(leaves.map(() => null))
      }),
    )
  })

  test('the vector-Jacobian product is linear in the vector', () => {
    fc.assert(
      fc.property(points, fc.double({ min: -3, max: 3, noNaN: true }), ([f, seed], factor) => {
        const leaves = leavesOf(f, seed)
        // A result with many elements: what the function was made of, before it became one number.
        const [x, y] = leaves as [Tensor, Tensor, Tensor]
        const roots = x.mul(f.call(...leaves)).add(y.tanh())
        const [g, h] = [randn(roots.shape, { dtype: 'float64' }), randn(roots.shape, { dtype: 'float64' })]
        const product = (cotangent: Tensor) =>
          vectorJacobianProduct(roots, cotangent, leaves, { retainGraph: true }).map(
            (found, i) => found ?? zeros((leaves[i] as Tensor).shape, { dtype: 'float64' }),
          )
        const [ofG, ofH] = [product(g), product(h)]
        product(g.add(h.scale(factor))).forEach((combined, i) => {
          const expected = (ofG[i] as Tensor).add((ofH[i] as Tensor).scale(factor))
          expectNear(combined, expected, { relative: 1e-11, absolute: 1e-11 })
        })
      }),
    )
  })

  test('everything a sweep passed is released, and nothing else', () => {
    fc.assert(
      fc.property(points, ([f, seed]) => {
        const leaves = leavesOf(f, seed)
        const root = f.call(...leaves)
        root.backward(undefined, { retainGraph: true })
        expect(tapeOf(root).entries.some(({ released }) => released)).toBe(false)
        root.backward()
        const tape = tapeOf(root)
        expect(tape.bytesSaved).toBe(0)
        expect(tape.entries.every(({ op, released }) => released === (op !== 'leaf'))).toBe(true)
      }),
    )
  })
})
