// Layers give PyTorch's outputs and gradients. The fixture's script stands beside it.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type DType, type Shape, Tensor, tensor } from 'wengert'
import * as nn from 'wengert/nn'
import { assertGradcheck, assertGradgradcheck } from 'wengert/testing'
import { expectNear, expectSame, gradOf } from '../support/expectations.js'

interface Numbers {
  readonly shape: Shape
  readonly dtype: DType
  readonly data: readonly number[]
}

interface Case {
  readonly layer: string
  readonly args: readonly unknown[]
  readonly state: Readonly<Record<string, Numbers>>
  readonly x: Numbers
  readonly y: Numbers
  readonly cotangent: Numbers
  readonly gradX: Numbers | null
  readonly grads: Readonly<Record<string, Numbers>>
}

const fixture = JSON.parse(readFileSync(new URL('../fixtures/torch-layers.json', import.meta.url), 'utf8')) as {
  readonly source: string
  readonly cases: readonly Case[]
}

const make = ({ data, shape, dtype }: Numbers) => tensor([...data], { shape, dtype })
const tolerance = { absolute: 1e-12, relative: 1e-10 }

const exported: Readonly<Record<string, unknown>> = nn

type Forward = nn.Module & { forward(x: Tensor): Tensor }

/** The layer of a case with its state; null for a plain function. */
function layerOf({ layer, args, state }: Case, dtype: DType = 'float64'): Forward | null {
  if (layer === 'rotary' || layer === 'rotary2d') return null
  const construct = exported[layer] as new (...args: readonly unknown[]) => Forward
  const bare: readonly string[] = ['GELU', 'ReLU', 'SiLU', 'Dropout']
  const last = args.at(-1)
  const hasOptions = typeof last === 'object' && last !== null && !Array.isArray(last)
  const options = { ...(hasOptions ? last : {}), dtype }
  const made = bare.includes(layer)
    ? new construct(...args)
    : new construct(...(hasOptions ? args.slice(0, -1) : args), options)
  made.loadStateDict(Object.fromEntries(Object.entries(state).map(([name, value]) => [name, make(value)])))
  return made.eval()
}

function functionOf({ layer, args }: Case): (x: Tensor) => Tensor {
  const [options] = args as readonly [{ readonly positions?: readonly number[] }]
  const positions = options.positions && tensor([...options.positions])
  const fn = exported[layer] as (x: Tensor, options: unknown) => Tensor
  return (x) => fn(x, positions === undefined ? options : { ...options, positions })
}

const named = fixture.cases.map((example) => [`${example.layer} ${JSON.stringify(example.args)}`, example] as const)

describe(`values of ${fixture.source}`, () => {
  test.each(named)('%s', (_, example) => {
    const module = layerOf(example)
    const x = make(example.x)
    if (example.gradX !== null) x.requiresGrad_()
    const y = module === null ? functionOf(example)(x) : module.forward(x)
    expectNear(y, make(example.y), tolerance)
    if (!y.requiresGrad) return
    y.backward(make(example.cotangent))
    if (example.gradX !== null) expectNear(gradOf(x), make(example.gradX), tolerance)
    const parameters = module?.namedParameters() ?? []
    expect(parameters.map(([name]) => name).sort()).toEqual(Object.keys(example.grads).sort())
    for (const [name, parameter] of parameters) {
      expectNear(gradOf(parameter), make(example.grads[name] as Numbers), tolerance)
    }
  })
})

describe('in float32', () => {
  test.each(named.filter(([, { layer }]) => !layer.startsWith('rotary')))('%s', (_, example) => {
    const x = make(example.x)
    const y = (layerOf(example, 'float32') as Forward).forward(example.gradX === null ? x : x.to('float32'))
    expect(y.dtype).toBe('float32')
    expectNear(y.to('float64'), make(example.y), { absolute: 3e-6, relative: 3e-6 })
  })
})

describe('gradients, and gradients of gradients, are those of differences', () => {
  test.each(named.filter(([, { gradX }]) => gradX !== null))('%s', (_, example) => {
    const module = layerOf(example)
    const x = make(example.x).requiresGrad_()
    const fn = module === null ? functionOf(example) : (input: Tensor) => module.forward(input)
    assertGradcheck(fn, [x])
    assertGradgradcheck(fn, [x])
  })
})

test('state dicts go around: every layer loads what another one of its kind has', () => {
  for (const [, example] of named) {
    const module = layerOf(example)
    if (module === null) continue
    const state = module.stateDict()
    expect(Object.keys(state).sort()).toEqual(Object.keys(example.state).sort())
    for (const value of Object.values(state)) expect(value).toBeInstanceOf(Tensor)
    const blank = Object.fromEntries(Object.entries(state).map(([name, value]) => [name, value.scale(0)]))
    module.loadStateDict(blank)
    module.loadStateDict(state)
    expectSame(module.forward(make(example.x)), (layerOf(example) as Forward).forward(make(example.x)))
  }
})
