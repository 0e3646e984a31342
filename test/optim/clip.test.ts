import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, type Tensor, tensor } from 'wengert'
import { clipGradNorm, clipGradValue } from 'wengert/optim'
import { composite } from '../../src/core/operation.js'
import { arenaStatistics } from '../../src/memory/arena.js'
import { expectError, gradOf, untyped } from '../support/expectations.js'

const lists = fc.array(fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 4,
})

function withGradients(values: readonly (readonly number[])[]): Tensor[] {
  return values.map((gradient) => {
    const x = tensor([...gradient], { dtype: 'float64', requiresGrad: true })
    x.grad = tensor([...gradient], { dtype: 'float64' })
    return x
  })
}

const gradients = (parameters: readonly Tensor[]) => parameters.flatMap((x) => [...gradOf(x).data])

describe('clipGradNorm', () => {
  test('leaves short gradients alone, shortens long ones, and keeps their direction', () => {
    fc.assert(
      fc.property(lists, fc.double({ min: 0.1, max: 20, noNaN: true }), (values, bound) => {
        const parameters = withGradients(values)
        const before = values.flat()
        const length = clipGradNorm(parameters, bound)
        expect(length).toBeCloseTo(Math.hypot(...before), 10)
        const factor = Math.min(1, bound / (length + 1e-6))
        gradients(parameters).forEach((value, i) => {
          expect(value).toBeCloseTo((before[i] as number) * factor, 10)
        })
      }),
    )
  })

  test('does not change a gradient that somebody holds', () => {
    const [x] = withGradients([[3, 4]]) as [Tensor]
    const held = gradOf(x)
    expect(clipGradNorm([x], 1)).toBe(5)
    expect(held.toArray()).toEqual([3, 4])
    expect(gradOf(x).toArray()).toEqual([3 / 5.000001, 4 / 5.000001])
  })

  test('leaves out parameters without a gradient; of none, the length is 0', () => {
    const bare = tensor([1], { requiresGrad: true })
    expect(clipGradNorm([bare, ...withGradients([[2]])], 1)).toBe(2)
    expect([clipGradNorm([bare], 1), bare.grad]).toEqual([0, null])
  })

  test('a gradient of NaN makes all of them NaN, so that it is seen', () => {
    const parameters = withGradients([[1], [Number.NaN]])
    expect(clipGradNorm(parameters, 1)).toBeNaN()
    expect(gradients(parameters)).toEqual([Number.NaN, Number.NaN])
  })

  test('frees what it replaces', () => {
    const x = tensor(new Float32Array(4096), { requiresGrad: true })
    const step = () => {
      x.grad = null
      composite(() => x.add(1).square().sum()).backward()
      clipGradNorm([x], 1e-3)
      clipGradValue([x], 1e-6)
    }
    for (let i = 0; i < 5; i++) step()
    const before = arenaStatistics().residentBytes
    for (let i = 0; i < 50; i++) step()
    expect(arenaStatistics().residentBytes - before).toBeLessThan(50 * 4096)
  })
})

test('clipGradValue clamps every number', () => {
  fc.assert(
    fc.property(lists, fc.double({ min: 0, max: 6, noNaN: true }), (values, bound) => {
      const parameters = withGradients(values)
      clipGradValue(parameters, bound)
      const clamped = values.flat().map((value) => Math.min(bound, Math.max(-bound, value)))
      // 0 and −0 are the same number here.
      expect(gradients(parameters).map((value) => value + 0)).toEqual(clamped.map((value) => value + 0))
    }),
  )
})

test('bounds and parameters are checked before anything changes', () => {
  const parameters = withGradients([[3]])
  expectError(() => clipGradNorm(parameters, -1), ArgumentError, 'clipGradNorm', 'maxNorm', '-1')
  expectError(() => clipGradValue(parameters, Number.NaN), ArgumentError, 'clipGradValue', 'clipValue')
  expectError(() => clipGradNorm(untyped(3), 1), ArgumentError, 'clipGradNorm', 'list')
  expectError(() => clipGradValue(untyped([...parameters, 3]), 1), ArgumentError, 'clipGradValue', 'tensor')
  expect(gradients(parameters)).toEqual([3])
})
