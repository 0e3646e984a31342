// Modules: finding parameters, saving and loading them.
import { describe, expect, test } from 'vitest'
import { ArgumentError, manualSeed, noGrad, ones, Tensor, tensor, zeros } from 'wengert'
import { Module, MultiHeadAttention, Parameter, SelfAttention } from 'wengert/nn'
import { expectError, expectSame, gradOf, untyped } from './support/expectations.js'

class Leaf extends Module {
  readonly weight: Parameter
  constructor(value: number) {
    super()
    this.weight = new Parameter(tensor([value]))
  }
}

class Tree extends Module {
  readonly gain = new Parameter(tensor(2))
  readonly layers = [new Leaf(1), new Leaf(2)]
  readonly nested = { ignored: new Parameter(tensor(9)) }
  readonly more: [Parameter, [Leaf]] = [new Parameter(tensor(3)), [new Leaf(4)]]
  readonly shared: Leaf
  readonly nothing = null
  readonly plain = tensor(5)
  readonly name = 'tree'
  constructor() {
    super()
    this.shared = this.layers[0] as Leaf
  }
}

describe('Parameter', () => {
  test('is a leaf that requires its gradient, with numbers of its own', () => {
    const values = tensor([1, 2])
    const parameter = new Parameter(values)
    expect(parameter).toBeInstanceOf(Tensor)
    expect([parameter.requiresGrad, parameter.isLeaf, parameter.shape, parameter.dtype]).toEqual([
      true,
      true,
      [2],
      'float32',
    ])
    values.copy_(tensor([8, 9]))
    expect(parameter.toArray()).toEqual([1, 2])
    expect(String(parameter)).toBe('Tensor([1, 2], shape (2,), float32, requiresGrad)')
  })

  test('of a result on the tape is a leaf all the same', () => {
    const x = tensor([1, 2], { requiresGrad: true, dtype: 'float64' })
    const parameter = noGrad(() => new Parameter(x.scale(2)))
    const other = new Parameter(x.scale(2))
    expect([parameter.dtype, parameter.isLeaf, other.isLeaf, other.requiresGrad]).toEqual(['float64', true, true, true])
    other.sum().backward()
    expect([x.grad, gradOf(other).toArray()]).toEqual([null, [1, 1]])
  })

  test('of a view keeps the order of the view', () => {
    const parameter = new Parameter(
      tensor([
        [1, 2],
        [3, 4],
      ]).transpose(),
    )
    expect(parameter.toArray()).toEqual([
      [1, 3],
      [2, 4],
    ])
  })
})

describe('Module', () => {
  test('names its parameters in the order of assignment, each once', () => {
    const tree = new Tree()
    expect(tree.namedParameters().map(([name]) => name)).toEqual([
      'gain',
      'layers.0.weight',
      'layers.1.weight',
      'more.0',
      'more.1.0.weight',
    ])
    expect(tree.parameters()).toEqual(tree.namedParameters().map(([, parameter]) => parameter))
    expect(tree.parameters()[1]).toBe(tree.shared.weight)
  })

  test('finds modules, itself first, each once', () => {
    const tree = new Tree()
    expect(tree.modules()).toEqual([tree, ...tree.layers, tree.more[1][0]])
  })

  test('may know the module that it is a part of', () => {
    const tree = new Tree()
    const child = Object.assign(tree.layers[1] as Leaf, { parent: tree })
    expect(tree.parameters()).toHaveLength(5)
    expect(child.modules()).toHaveLength(4)
  })

  test('trains and evaluates with all its parts', () => {
    const tree = new Tree()
    const modes = () => tree.modules().map(({ training }) => training)
    expect(modes()).toEqual([true, true, true, true])
    expect(tree.eval()).toBe(tree)
    expect(modes()).toEqual([false, false, false, false])
    expect(tree.train()).toBe(tree)
    expect(modes()).toEqual([true, true, true, true])
    tree.train(false)
    expect(modes()).toEqual([false, false, false, false])
  })

  test('zeroGrad sets all gradients to null', () => {
    const tree = new Tree()
    tree
      .parameters()
      .map((parameter) => parameter.sum())
      .reduce((sum, value) => sum.add(value))
      .backward()
    expect(tree.parameters().every(({ grad }) => grad !== null)).toBe(true)
    tree.zeroGrad()
    expect(tree.parameters().every(({ grad }) => grad === null)).toBe(true)
  })

  test('lists a parameter that is frozen, and leaves it out of the tape', () => {
    const layer = new SelfAttention({ inputDim: 2 })
    layer.WV.requiresGrad_(false)
    layer
      .forward(ones([3, 2]))
      .sum()
      .backward()
    expect(layer.parameters()).toHaveLength(3)
    expect(layer.WV.grad).toBeNull()
  })
})

describe('stateDict and loadStateDict', () => {
  test('copy what has been learned, by name', () => {
    manualSeed(1)
    const from = new MultiHeadAttention({ embedDim: 4, numHeads: 2, bias: true })
    const to = new MultiHeadAttention({ embedDim: 4, numHeads: 2, bias: true })
    const state = from.stateDict()
    expect(Object.keys(state)).toEqual(['WQ', 'WK', 'WV', 'WO', 'bQ', 'bK', 'bV', 'bO'])
    to.loadStateDict(state)
    for (const [name, parameter] of to.namedParameters()) {
      expectSame(parameter, state[name] as Tensor)
      expect([parameter.requiresGrad, parameter.isLeaf]).toEqual([true, true])
    }
    const x = ones([3, 4])
    expectSame(to.forward(x), from.forward(x))
  })

  test('the copies are independent, and need no gradient', () => {
    const layer = new Leaf(1)
    const state = layer.stateDict()
    noGrad(() => layer.weight.copy_(tensor([7])))
    expect([(state['weight'] as Tensor).toArray(), state['weight']?.requiresGrad]).toEqual([[1], false])
    layer.loadStateDict(state)
    ;(state['weight'] as Tensor).copy_(tensor([5]))
    expect(layer.weight.toArray()).toEqual([1])
  })

  test('parameters keep their dtype and identity', () => {
    const layer = new Leaf(1)
    const { weight } = layer
    layer.loadStateDict({ weight: tensor([0.1], { dtype: 'float64' }) })
    expect([layer.weight, layer.weight.dtype, layer.weight.item()]).toEqual([weight, 'float32', Math.fround(0.1)])
  })

  test('what does not match is listed in full, and nothing is changed', () => {
    const tree = new Tree()
    const state: Record<string, Tensor> = { ...tree.stateDict(), extra: tensor(1), 'more.0': ones([2]) }
    delete state['gain']
    state['layers.0.weight'] = tensor([100])
    expectError(
      () => tree.loadStateDict(state),
      ArgumentError,
      'loadStateDict',
      'missing: gain',
      'unexpected: extra',
      'more.0 has shape (2,) instead of ()',
    )
    expect(tree.shared.weight.toArray()).toEqual([1])
    expectError(
      () => new Leaf(1).loadStateDict({ weight: untyped([1]) }),
      ArgumentError,
      'loadStateDict',
      'weight is no tensor',
    )
    expectError(() => new Leaf(1).loadStateDict({}), ArgumentError, 'loadStateDict', 'missing: weight')
  })

  test('names that objects inherit are no parameters', () => {
    const layer = new Leaf(1)
    expectError(
      () => layer.loadStateDict(Object.create(layer.stateDict())),
      ArgumentError,
      'loadStateDict',
      'missing: weight',
    )
  })
})

describe('first values', () => {
  test('are within ±√(6 / (in + out)) and fill that range', () => {
    manualSeed(3)
    const layer = new SelfAttention({ inputDim: 300, keyDim: 100, dtype: 'float64' })
    const bound = Math.sqrt(6 / 400)
    for (const weight of layer.parameters()) {
      const { data } = weight
      expect(Math.max(...data.map(Math.abs))).toBeLessThanOrEqual(bound)
      // The variance of numbers uniform on ±b is b²/3; of 30,000, the estimate is off by 0.5 %.
      expect(weight.detach().variance().item() / (bound ** 2 / 3)).toBeCloseTo(1, 1)
    }
  })

  test('come from the seed', () => {
    const make = () => {
      manualSeed(5)
      return new MultiHeadAttention({ embedDim: 4, numHeads: 2 })
    }
    const [first, second] = [make(), make()]
    first.parameters().forEach((parameter, i) => {
      expectSame(parameter, second.parameters()[i] ?? zeros([]))
    })
  })

  test('biases are 0 at first', () => {
    const { bQ } = new MultiHeadAttention({ embedDim: 4, numHeads: 2, bias: true })
    expect(bQ?.toArray()).toEqual([0, 0, 0, 0])
  })
})
