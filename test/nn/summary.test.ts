import { expect, test } from 'vitest'
import { ArgumentError, manualSeed, rand, randn, type Tensor, tensor } from 'wengert'
import { Dropout, Linear, MLP, Module, Parameter, Sequential, summary, TransformerBlock } from 'wengert/nn'
import { expectError, expectSame, untyped } from '../support/expectations.js'

class Model extends Module {
  readonly gain = new Parameter(tensor([1, 2]))
  readonly layers = [new Linear(3, 4), new Linear(4, 4)] as const
  readonly unused = new Linear(2, 2)
  forward(x: Tensor, more: Tensor): Tensor {
    const [first, second] = this.layers
    return second.forward(second.forward(first.forward(x))).add(more)
  }
}

test('lists modules with what they return and hold', () => {
  const result = summary(new Model(), randn([5, 3]), randn([4]))
  expect(result.rows).toEqual([
    { name: '', type: 'Model', outputs: [[5, 4]], parameters: 2 },
    { name: 'layers.0', type: 'Linear', outputs: [[5, 4]], parameters: 16 },
    {
      name: 'layers.1',
      type: 'Linear',
      outputs: [
        [5, 4],
        [5, 4],
      ],
      parameters: 20,
    },
    { name: 'unused', type: 'Linear', outputs: [], parameters: 6 },
  ])
  expect([result.parameters, result.trainable]).toEqual([44, 44])
})

test('its text is a table', () => {
  const model = new MLP([2, 1000, 1])
  model.parameters()[0]?.requiresGrad_(false)
  expect(String(summary(model, randn([4, 2])))).toBe(
    [
      'layer    type    output     parameters',
      '(model)  MLP     (4, 1)              0',
      '0        Linear  (4, 1000)       3,000',
      '1        ReLU    (4, 1000)           0',
      '2        Linear  (4, 1)          1,001',
      '4,001 parameters, 2,001 of them trainable',
    ].join('\n'),
  )
})

test('leaves the model and the generator as they were', () => {
  manualSeed(1)
  const dropout = new Dropout()
  const forward = (x: Tensor) => x.scale(2)
  const custom = Object.assign(new Linear(3, 3), { forward })
  const model = new Sequential(new TransformerBlock({ embedDim: 3, numHeads: 1, dropout: 0.5 }), dropout, custom)
  dropout.eval()
  model.layers.forEach((layer) => {
    if (layer instanceof Linear) layer.training = false
  })
  const before = model.modules().map(({ training }) => training)
  manualSeed(2)
  const expected = rand([3])
  manualSeed(2)
  expect(String(summary(model, randn([4, 3]).detach()))).toContain('TransformerBlock')
  manualSeed(2)
  summary(model, model.parameters()[2]?.detach() ?? randn([3, 3]))
  expectSame(rand([3]), expected)
  expect(model.modules().map(({ training }) => training)).toEqual(before)
  expect(custom.forward).toBe(forward)
  expect(Object.hasOwn(model, 'forward')).toBe(false)
})

test('after an error, too', () => {
  const model = new MLP([2, 1])
  expect(() => summary(model, randn([3, 5]))).toThrow(/linear/)
  expect([Object.hasOwn(model, 'forward'), model.training]).toEqual([false, true])
  expectError(() => summary(untyped({}), randn([1])), ArgumentError, 'summary')
})

test('parameters that are shared count once', () => {
  const layer = new Linear(2, 2)
  const tied = new Linear(2, 2)
  Object.assign(tied, { weight: layer.weight })
  expect(summary(new Sequential(layer, tied, layer), randn([2])).rows.map(({ parameters }) => parameters)).toEqual([
    0, 6, 2,
  ])
})
