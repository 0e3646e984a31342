// Layers: what they are made of, how they call each other, and what they refuse.
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  arange,
  attentionWeights,
  DTypeError,
  dropout,
  IndexError,
  linear,
  manualSeed,
  noGrad,
  ones,
  randn,
  ShapeError,
  Tensor,
  tanh,
  tapeOf,
  tensor,
  zeros,
} from 'wengert'
import {
  Buffer,
  Dropout,
  Embedding,
  GELU,
  LayerNorm,
  LearnedPositions,
  LearnedPositions2d,
  Linear,
  MLP,
  Module,
  Parameter,
  PatchEmbed,
  ReLU,
  RMSNorm,
  Sequential,
  SinusoidalPositions,
  SinusoidalPositions2d,
  TransformerBlock,
} from 'wengert/nn'
import { AdamW } from 'wengert/optim'
import { arenaStatistics } from '../../src/memory/arena.js'
import { expectError, expectNear, expectSame, untyped } from '../support/expectations.js'

class Counter extends Module {
  readonly total = new Buffer(zeros([1]))
  readonly table = new Buffer(ones([2]), { persistent: false })
  readonly gain = new Parameter(ones([1]))

  forward(x: Tensor): Tensor {
    if (this.training) this.total.copy_(this.total.add(1))
    return x.mul(this.gain)
  }
}

describe('Buffer', () => {
  test('belongs to its module without being learned', () => {
    const model = new Sequential(new Counter(), new Counter())
    expect(model.namedBuffers().map(([name]) => name)).toEqual(['0.total', '0.table', '1.total', '1.table'])
    expect(model.buffers()).toHaveLength(4)
    expect(model.parameters()).toHaveLength(2)
    expect(model.buffers().every(({ requiresGrad }) => !requiresGrad)).toBe(true)
  })

  test('is in the state dict if it is persistent', () => {
    const [from, to] = [new Counter(), new Counter()]
    from.forward(ones([1]))
    const state = from.stateDict()
    expect(Object.keys(state)).toEqual(['total', 'gain'])
    to.loadStateDict(state)
    expect(to.total.item()).toBe(1)
    expectError(() => to.loadStateDict({ gain: ones([1]) }), ArgumentError, 'loadStateDict', 'missing: total')
    expectError(
      () => to.loadStateDict({ ...state, table: ones([2]) }),
      ArgumentError,
      'loadStateDict',
      'unexpected: table',
    )
  })

  test('has numbers of its own', () => {
    const values = tensor([1, 2])
    const buffer = new Buffer(values)
    values.copy_(tensor([3, 4]))
    expect([buffer.toArray(), buffer instanceof Tensor]).toEqual([[1, 2], true])
    expectError(() => new Buffer(untyped(1)), ArgumentError, 'Buffer')
    expectError(() => new Buffer(values, untyped({ persist: true })), ArgumentError, 'Buffer', 'persist')
  })
})

describe('Sequential', () => {
  test('names parameters by place, as PyTorch does, also where functions stand between', () => {
    const model = new Sequential(new Linear(2, 3), tanh, new Sequential(new Linear(3, 1)))
    expect(model.namedParameters().map(([name]) => name)).toEqual(['0.weight', '0.bias', '2.0.weight', '2.0.bias'])
    const [first, , last] = model.layers as readonly [Linear, unknown, Sequential]
    const x = randn([4, 2])
    expectSame(model.forward(x), last.forward(first.forward(x).tanh()))
  })

  test('a subclass keeps its own parts', () => {
    class Scaled extends Sequential {
      readonly gain = new Parameter(ones([1]))
      override forward(x: Tensor): Tensor {
        return super.forward(x).mul(this.gain)
      }
    }
    const model = new Scaled(new Linear(2, 2))
    expect(model.namedParameters().map(([name]) => name)).toEqual(['0.weight', '0.bias', 'gain'])
  })

  test('of no layers is the identity', () => {
    const x = randn([2])
    expect(new Sequential().forward(x)).toBe(x)
  })

  test('what a layer of the user keeps stays readable', () => {
    const seen: Tensor[] = []
    class Probe extends Module {
      forward(x: Tensor): Tensor {
        const y = x.scale(2)
        seen.push(x, y)
        return y.add(1)
      }
    }
    const patched = new ReLU()
    const { forward } = patched
    patched.forward = (x) => {
      const y = forward.call(patched, x)
      seen.push(y)
      return y
    }
    const keep = (x: Tensor) => {
      seen.push(x)
      return x.neg()
    }
    const model = new Sequential(new ReLU(), new Probe(), new ReLU(), keep, patched, new ReLU())
    noGrad(() => model.forward(ones([300])))
    // Other numbers take the place of whatever was freed.
    for (let i = 0; i < 20; i++) noGrad(() => model.forward(ones([300]).scale(9)))
    expect(seen.slice(0, 4).map((x) => x.data[299])).toEqual([1, 2, 3, 0])
  })

  test('refuses what is no layer, and what returns no tensor', () => {
    expectError(() => new Sequential(untyped(1)), ArgumentError, 'Sequential', 'number')
    expectError(() => new Sequential(untyped(ReLU)), ArgumentError, 'Sequential', 'new ReLU')
    class Silent extends Module {}
    expectError(() => new Sequential(untyped(new Silent())), ArgumentError, 'Sequential', 'forward')
    const model = new Sequential(untyped(() => 3))
    expectError(() => model.forward(ones([1])), ArgumentError, 'forward', 'number')
    expectError(() => model.forward(untyped(1)), ArgumentError, 'Sequential', 'tensor')
  })
})

describe('MLP', () => {
  test('has activations between its layers, not behind the last', () => {
    const model = new MLP([2, 4, 3, 1], { activation: tanh })
    expect(model.layers).toHaveLength(5)
    expect(model.namedParameters().map(([name, { shape }]) => `${name} ${shape}`)).toEqual([
      '0.weight 4,2',
      '0.bias 4',
      '2.weight 3,4',
      '2.bias 3',
      '4.weight 1,3',
      '4.bias 1',
    ])
  })

  test('drops out while it is trained', () => {
    manualSeed(1)
    const model = new MLP([4, 64, 8], { dropout: 0.5 })
    const x = randn([3, 4])
    expect(model.forward(x).data).not.toEqual(model.forward(x).data)
    model.eval()
    expectSame(model.forward(x), model.forward(x))
  })

  test('refuses what cannot be', () => {
    expectError(() => new MLP([2]), ArgumentError, 'MLP', '[2, 16, 1]')
    expectError(() => new MLP(untyped(2)), ArgumentError, 'MLP')
    expectError(() => new MLP([2, 0]), ArgumentError, 'MLP', 'size')
    expectError(() => new MLP([2, 1], { dropout: 2 }), ArgumentError, 'MLP', 'dropout', '[0, 1]')
    expectError(() => new MLP([2, 1], untyped({ hidden: 3 })), ArgumentError, 'MLP', 'hidden')
    expectError(() => new MLP([2, 1], { activation: untyped('relu') }), ArgumentError, 'MLP', 'layer')
  })
})

describe('TransformerBlock', () => {
  test.each(['pre', 'post'] as const)('%s-norm: takes masks, batches, and shows its attention', (norm) => {
    manualSeed(2)
    const block = new TransformerBlock({ embedDim: 8, numHeads: 2, norm })
    const x = randn([2, 5, 8])
    expect(block.forward(x).shape).toEqual([2, 5, 8])
    const attention = block.attention(x, { causal: true })
    expect(attention.shape).toEqual([2, 2, 5, 5])
    expectSame(attention, attention.tril())
    expectNear(attention.sum({ axis: -1 }), ones([2, 2, 5]), { absolute: 1e-6 })
    // Causal: what comes later changes nothing before.
    const other = x.clone()
    const changed = tensor([0, 0, 0, 0, 1])
      .reshape([5, 1])
      .mul(randn([5, 8]))
      .add(other)
    const earlier = (y: Tensor) => y.slice([0, 0, 0], [2, 4, 8])
    const causal = { causal: true }
    expectNear(earlier(block.forward(x, causal)), earlier(block.forward(changed, causal)), { absolute: 1e-5 })
  })

  test('names its parameters', () => {
    const block = new TransformerBlock({ embedDim: 4, numHeads: 2, bias: false, hiddenDim: 3 })
    expect(block.namedParameters().map(([name]) => name)).toEqual([
      'norm1.weight',
      'norm1.bias',
      'selfAttention.WQ',
      'selfAttention.WK',
      'selfAttention.WV',
      'selfAttention.WO',
      'norm2.weight',
      'norm2.bias',
      'mlp.0.weight',
      'mlp.2.weight',
    ])
    expect(block.mlp.parameters().map(({ shape }) => shape)).toEqual([
      [3, 4],
      [4, 3],
    ])
  })

  test('drops out while it is trained only', () => {
    manualSeed(3)
    const block = new TransformerBlock({ embedDim: 8, numHeads: 2, dropout: 0.5 })
    const x = randn([4, 8])
    expect(block.forward(x).data).not.toEqual(block.forward(x).data)
    block.eval()
    expectSame(block.forward(x), block.forward(x))
  })

  test.each(['pre', 'post'] as const)('%s-norm: drops what PyTorch drops, in its order', (norm) => {
    const block = new TransformerBlock({ embedDim: 8, numHeads: 2, norm, dropout: 0.4 })
    const { norm1, norm2, selfAttention, mlp } = block
    const [first, , , last] = mlp.layers as readonly [Linear, GELU, Dropout, Linear, Dropout]
    const x = randn([4, 8])
    const attend = (rows: Tensor) => {
      const heads = (weight: Tensor, bias: Tensor | null) =>
        linear(rows, weight, bias ?? undefined)
          .reshape([4, 2, 4])
          .transpose(0, 1)
      const { WQ, WK, WV, WO, bQ, bK, bV, bO } = selfAttention
      const a = dropout(attentionWeights(heads(WQ, bQ), heads(WK, bK)), { p: 0.4 })
      const y = a.matmul(heads(WV, bV)).transpose(0, 1).reshape([4, 8])
      return dropout(linear(y, WO, bO ?? undefined), { p: 0.4 })
    }
    const think = (rows: Tensor) => {
      const hidden = dropout(first.forward(rows).gelu(), { p: 0.4 })
      return dropout(linear(hidden, last.weight, last.bias ?? undefined), { p: 0.4 })
    }
    manualSeed(12)
    const y = block.forward(x)
    manualSeed(12)
    const pre = () => {
      const h = x.add(attend(norm1.forward(x)))
      return h.add(think(norm2.forward(h)))
    }
    const post = () => {
      const h = norm1.forward(x.add(attend(x)))
      return norm2.forward(h.add(think(h)))
    }
    expectNear(y, norm === 'pre' ? pre() : post(), { absolute: 1e-5 })
    expectNear(block.attention(x).sum({ axis: -1 }), ones([2, 4]), { absolute: 1e-6 })
  })

  test('refuses what cannot be', () => {
    const op = 'TransformerBlock'
    expectError(() => new TransformerBlock({ embedDim: 4, numHeads: 2, dropout: -1 }), ArgumentError, op, 'dropout')
    expectError(() => new TransformerBlock(untyped(undefined)), ArgumentError, op, 'embedDim')
    expectError(() => new TransformerBlock({ embedDim: 4, numHeads: 2, norm: untyped('none') }), ArgumentError, op)
    expectError(() => new TransformerBlock({ embedDim: 5, numHeads: 2 }), ArgumentError, 'MultiHeadAttention', '5')
    expectError(() => new TransformerBlock({ embedDim: 4, numHeads: 2, bias: untyped(0) }), ArgumentError, op, 'bias')
    expectError(() => new TransformerBlock({ embedDim: 4, numHeads: 2, dtype: 'int32' }), DTypeError, op, 'int32')
    const block = new TransformerBlock({ embedDim: 4, numHeads: 2 })
    for (const run of [(x: Tensor) => block.forward(x), (x: Tensor) => block.attention(x)]) {
      expectError(() => run(ones([3, 5])), ShapeError, op, '(…, N, 4)', '(3, 5)')
      expectError(() => run(ones([4])), ShapeError, op, '(4,)')
      expectError(() => run(untyped(undefined)), ArgumentError, op, 'undefined')
    }
    expectError(() => block.forward(ones([3, 4]), untyped({ masked: true })), ArgumentError, 'MultiHeadAttention')
  })
})

describe('single layers refuse what cannot be', () => {
  const x = ones([3, 4])
  const refused: [string, () => unknown, Parameters<typeof expectError>[1], string, ...string[]][] = [
    ['no features', () => new Linear(0, 1), ArgumentError, 'Linear', 'inFeatures'],
    ['half a feature', () => new Linear(1, 1.5), ArgumentError, 'Linear', 'outFeatures'],
    ['a bias that is no flag', () => new Linear(1, 1, { bias: untyped(1) }), ArgumentError, 'Linear', 'bias'],
    ['whole numbers', () => new Linear(1, 1, { dtype: 'int32' }), DTypeError, 'Linear', 'int32'],
    ['other features', () => new Linear(3, 1).forward(x), ShapeError, 'linear', '(3, 4)'],
    ['no rows', () => new Embedding(0, 1), ArgumentError, 'Embedding', 'numEmbeddings'],
    [
      'a row that is not there',
      () => new Embedding(3, 2).forward(tensor([3], { dtype: 'int32' })),
      IndexError,
      'embedding',
    ],
    ['floating rows', () => new Embedding(3, 2).forward(tensor([1])), DTypeError, 'embedding', 'float32'],
    ['an empty row', () => new LayerNorm([]), ShapeError, 'LayerNorm'],
    ['a row of nothing', () => new RMSNorm(0), ShapeError, 'RMSNorm'],
    ['a negative eps', () => new LayerNorm(4, { eps: -1 }), ArgumentError, 'LayerNorm', 'eps'],
    ['an eps of NaN', () => new RMSNorm(4, { eps: Number.NaN }), ArgumentError, 'RMSNorm', 'eps'],
    ['another row', () => new RMSNorm(3).forward(x), ShapeError, 'RMSNorm', '(3,)', '(3, 4)'],
    ['more axes than there are', () => new LayerNorm([2, 3, 4]).forward(x), ShapeError, 'LayerNorm'],
    ['another approximation', () => new GELU({ approximate: untyped('erf') }), ArgumentError, 'GELU'],
    ['no probability', () => new Dropout(1.5), ArgumentError, 'Dropout', '1.5'],
    ['an option as a probability', () => new Dropout(untyped({ p: 0.1 })), ArgumentError, 'Dropout'],
    ['no patch', () => new PatchEmbed({ patchSize: 0, embedDim: 1 }), ArgumentError, 'PatchEmbed', 'patchSize'],
    ['no options', () => new PatchEmbed(untyped(undefined)), ArgumentError, 'PatchEmbed', 'patchSize'],
    [
      'patches that do not fill the image',
      () => new PatchEmbed({ patchSize: 2, embedDim: 1 }).forward(ones([3, 4, 5])),
      ShapeError,
      'PatchEmbed',
      '2 × 2',
      '(3, 4, 5)',
    ],
    [
      'other channels',
      () => new PatchEmbed({ patchSize: 2, embedDim: 1, inChannels: 1 }).forward(ones([3, 4, 4])),
      ShapeError,
      'PatchEmbed',
    ],
    ['odd positions', () => new SinusoidalPositions(4, 3), ArgumentError, 'sinusoidalPositions', 'divisible by 2'],
    ['a base of 0', () => new SinusoidalPositions(4, 2, { base: 0 }), ArgumentError, 'sinusoidalPositions', 'base'],
    ['quarters that are not', () => new SinusoidalPositions2d(2, 2, 6), ArgumentError, 'sinusoidalPositions2d', '4'],
    ['odd halves', () => new LearnedPositions2d(2, 2, 3), ArgumentError, 'LearnedPositions2d', 'divisible by 2'],
    [
      'more rows than positions',
      () => new LearnedPositions(2, 4).forward(x),
      ShapeError,
      'LearnedPositions',
      'at most 2',
    ],
    ['an unfilled grid', () => new SinusoidalPositions2d(2, 2, 4).forward(x), ShapeError, 'SinusoidalPositions2d'],
    ['a grid of other rows', () => new LearnedPositions2d(2, 2, 4).forward(x), ShapeError, 'LearnedPositions2d', '4'],
  ]
  test.each(refused)('%s', (_, run, kind, op, ...says) => {
    expectError(run, kind, op, ...says)
  })
})

test('first values are those of PyTorch: uniform on ±1/√in', () => {
  manualSeed(4)
  for (const layer of [new Linear(100, 200), new PatchEmbed({ patchSize: 5, inChannels: 4, embedDim: 200 })]) {
    for (const parameter of layer.parameters()) {
      expect(Math.max(...parameter.data.map(Math.abs))).toBeLessThanOrEqual(0.1)
      expect(Math.max(...parameter.data.map(Math.abs))).toBeGreaterThan(0.095)
    }
  }
})

test('positions are added to fewer rows than there are places', () => {
  const positions = new SinusoidalPositions(10, 4)
  expectSame(
    positions
      .forward(zeros([2, 3, 4]))
      .slice([1, 0, 0], [2, 3, 4])
      .reshape([3, 4]),
    positions.table.slice(0, 3),
  )
  expect(positions.stateDict()).toEqual({})
})

test('a model records no more than its layers would by themselves', () => {
  const [first, second] = [new Linear(3, 4), new Linear(4, 2)]
  const x = randn([5, 3])
  const ops = (y: Tensor) => tapeOf(y).entries.map(({ op }) => op)
  expect(ops(new Sequential(first, new GELU(), second).forward(x))).toEqual(
    ops(second.forward(first.forward(x).gelu())),
  )
})

test('an embedding gathers the gradients of rows that are used twice', () => {
  const layer = new Embedding(4, 2)
  layer
    .forward(tensor([1, 3, 1], { dtype: 'int32' }))
    .sum()
    .backward()
  expect(layer.weight.grad?.toArray()).toEqual([
    [0, 0],
    [2, 2],
    [0, 0],
    [1, 1],
  ])
  expect(layer.forward(arange(4)).shape).toEqual([4, 2])
})

test('of a model’s numbers, only its output stays', () => {
  const model = new Sequential(
    new PatchEmbed({ patchSize: 2, inChannels: 1, embedDim: 8 }),
    new LearnedPositions2d(4, 4, 8),
    new TransformerBlock({ embedDim: 8, numHeads: 2, dropout: 0.1 }),
    new TransformerBlock({ embedDim: 8, numHeads: 2, norm: 'post', rotary: true }),
    new TransformerBlock({ embedDim: 8, numHeads: 2, rotary: { rows: 4, columns: 4 } }),
    new RMSNorm(8),
    new MLP([8, 16, 1]),
  )
  const optimizer = new AdamW(model.parameters())
  const images = randn([3, 1, 8, 8])
  const forward = () => noGrad(() => model.forward(images))
  const step = () => {
    optimizer.zeroGrad()
    model.forward(images).backward(ones([3, 16, 1]))
    optimizer.step()
  }
  const added = (run: () => void) => {
    run()
    const counts = Array.from({ length: 10 }, () => {
      const before = arenaStatistics().residents
      run()
      return arenaStatistics().residents - before
    })
    // Now and then, what was used long ago leaves as well, and comes in again.
    return counts.sort((a, b) => a - b)[5]
  }
  expect(added(forward)).toBe(1)
  // The output, and the cotangent that the step makes.
  expect(added(step)).toBe(2)
})
