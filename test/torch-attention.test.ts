// PyTorch's nn.MultiheadAttention: its state dict here and back, its outputs and its gradients.
import { describe, expect, test } from 'vitest'
import { ArgumentError, type Tensor, tensor, zeros } from 'wengert'
import {
  loadTorchAttention,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  type StateDict,
  torchAttentionState,
} from 'wengert/nn'
import { parseSafetensors } from 'wengert/safetensors'
import { bitsOf, fixture } from './safetensors/files.js'
import { expectError, expectNear, gradOf, untyped } from './support/expectations.js'

const layerOf = (options: Partial<MultiHeadAttentionOptions> = {}) =>
  new MultiHeadAttention({ embedDim: 8, numHeads: 2, bias: true, dtype: 'float64', ...options })

/** The tensors whose names begin with a prefix, without it. */
function part(tensors: StateDict, prefix: string): StateDict {
  const entries = Object.entries(tensors).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(entries.map(([name, tensor]) => [name.slice(prefix.length), tensor]))
}

/** The layer's gradients as a state dict of PyTorch's names. */
function gradients(layer: MultiHeadAttention): StateDict {
  const holder = layerOf({ bias: layer.bQ !== null })
  const own = new Map(layer.namedParameters())
  for (const [name, parameter] of holder.namedParameters()) parameter.copy_(gradOf(own.get(name) as Tensor))
  return torchAttentionState(holder)
}

describe.each([
  ['torch-attention', true],
  ['torch-attention-no-bias', false],
])('%s', (file, bias) => {
  const { tensors } = parseSafetensors(fixture(file))
  const get = (name: string) => tensors[name] as Tensor

  test('is loaded, and computes and differentiates as it does there', () => {
    const layer = layerOf({ bias })
    loadTorchAttention(layer, tensors, 'layer.')
    const x = get('x').clone().requiresGrad_()
    const y = layer.forward(x)
    const near = { relative: 1e-12, absolute: 1e-12 }
    expectNear(y, get('y'), near)
    expectNear(layer.attention(x), get('weights'), near)
    y.mul(get('cotangent')).sum().backward()
    expectNear(gradOf(x), get('grad.x'), near)
    const expected = part(tensors, 'grad.')
    const found = gradients(layer)
    expect(Object.keys(found)).toHaveLength(bias ? 4 : 2)
    for (const [name, gradient] of Object.entries(found)) expectNear(gradient, expected[name] as Tensor, near)
  })

  test('is written back with the same names and bits', () => {
    const layer = layerOf({ bias })
    loadTorchAttention(layer, tensors, 'layer.')
    expect(bitsOf(torchAttentionState(layer))).toEqual(bitsOf(part(tensors, 'layer.')))
    expect(Object.keys(torchAttentionState(layer, 'block.0.'))).toEqual(
      Object.keys(torchAttentionState(layer)).map((name) => `block.0.${name}`),
    )
  })

  test('is converted to the dtype of the layer', () => {
    const layer = layerOf({ bias, dtype: 'float32' })
    loadTorchAttention(layer, tensors, 'layer.')
    expectNear(layer.forward(get('x').to('float32')), get('y'), { relative: 1e-5, absolute: 1e-5 })
  })
})

test('the state is a copy', () => {
  const layer = layerOf()
  const before = torchAttentionState(layer)
  const bits = bitsOf(before)
  layer.WQ.copy_(zeros([8, 8]))
  layer.bO?.copy_(tensor([1, 2, 3, 4, 5, 6, 7, 8]))
  expect(bitsOf(before)).toEqual(bits)
  const other = layerOf()
  loadTorchAttention(other, before)
  before['in_proj_weight']?.copy_(zeros([24, 8]))
  expect(bitsOf(torchAttentionState(other))).toEqual(bits)
})

describe('refused', () => {
  const { tensors } = parseSafetensors(fixture('torch-attention'))
  const state = part(tensors, 'layer.')

  test('layers that PyTorch has not', () => {
    for (const options of [
      { keyDim: 3 },
      { valueDim: 5 },
      { scale: 'none' as const },
      { scale: 0.3 },
      { rotary: true },
    ]) {
      const layer = layerOf(options)
      expectError(() => torchAttentionState(layer), ArgumentError, 'torchAttentionState', "PyTorch's layer")
      expectError(() => loadTorchAttention(layer, state), ArgumentError, 'loadTorchAttention', "PyTorch's layer")
    }
    expect(Object.keys(torchAttentionState(layerOf({ scale: 1 / Math.sqrt(4) })))).toHaveLength(4)
  })

  test('parameters of kdim, vdim and add_bias_kv', () => {
    const cross = parseSafetensors(fixture('torch-cross-attention')).tensors
    expectError(() => loadTorchAttention(layerOf(), cross), ArgumentError, 'loadTorchAttention', 'kdim or vdim')
    const more = { ...state, bias_k: zeros([1, 1, 8]) }
    expectError(() => loadTorchAttention(layerOf(), more), ArgumentError, 'loadTorchAttention', 'add_bias_kv')
  })

  test('names and shapes that do not match, with all of them listed and nothing changed', () => {
    const layer = layerOf()
    const before = bitsOf(layer.stateDict())
    const { in_proj_bias, 'out_proj.weight': _, ...rest } = state
    const wrong = { ...rest, in_proj_bias: (in_proj_bias as Tensor).slice(1), more: tensor(1) }
    const load = () => loadTorchAttention(layer, wrong)
    const op = 'loadTorchAttention'
    const all = /missing: out_proj.weight.*unexpected: more.*in_proj_bias has shape \(23,\)/s
    expectError(load, ArgumentError, op, all)
    const bare = () => loadTorchAttention(layerOf({ bias: false }), state)
    expectError(bare, ArgumentError, op, 'unexpected: in_proj_bias, out_proj.bias')
    const less = parseSafetensors(fixture('torch-attention-no-bias')).tensors
    const biased = () => loadTorchAttention(layer, less, 'layer.')
    expectError(biased, ArgumentError, op, 'missing: layer.in_proj_bias, layer.out_proj.bias')
    const elsewhere = () => loadTorchAttention(layer, tensors, 'layers.')
    expectError(elsewhere, ArgumentError, op, 'missing: layers.in_proj_weight')
    expect(bitsOf(layer.stateDict())).toEqual(before)
  })

  test('what is no layer, state or prefix', () => {
    expectError(() => torchAttentionState(untyped({})), ArgumentError, 'torchAttentionState', 'MultiHeadAttention')
    expectError(() => loadTorchAttention(untyped(null), state), ArgumentError, 'loadTorchAttention', 'the layer')
    expectError(() => loadTorchAttention(layerOf(), untyped(null)), ArgumentError, 'loadTorchAttention', 'the state')
    expectError(() => loadTorchAttention(layerOf(), state, untyped(1)), ArgumentError, 'loadTorchAttention', 'prefix')
  })
})
