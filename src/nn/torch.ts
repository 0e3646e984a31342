import { ArgumentError, showValue } from '../core/errors.js'
import type { Tensor } from '../core/tensor.js'
import { copy_, detach } from '../ops/copy.js'
import { concat, slice } from '../ops/joining.js'
import { MultiHeadAttention } from './attention.js'
import { Module } from './module.js'
import { Parameter } from './parameter.js'
import { checkState, type StateDict, writeState } from './state.js'

/** The parameters of PyTorch's `Linear`, under its names. */
class TorchLinear extends Module {
  readonly weight: Parameter
  readonly bias: Parameter | null
  constructor(weight: Tensor, bias: Tensor | null) {
    super()
    this.weight = new Parameter(weight)
    this.bias = bias && new Parameter(bias)
  }
}

/** The parameters of PyTorch's `MultiheadAttention`, under its names: queries, keys and values stacked by rows. */
class TorchAttention extends Module {
  readonly in_proj_weight: Parameter
  readonly in_proj_bias: Parameter | null
  readonly out_proj: TorchLinear
  constructor({ WQ, WK, WV, WO, bQ, bK, bV, bO }: MultiHeadAttention) {
    super()
    this.in_proj_weight = new Parameter(stacked([WQ, WK, WV]))
    this.in_proj_bias = bQ && bK && bV && new Parameter(stacked([bQ, bK, bV]))
    this.out_proj = new TorchLinear(WO, bO)
  }
}

function stacked(parts: readonly Tensor[]): Tensor {
  return concat(parts.map(detach), 0)
}

/**
 * The layer's parameters as the state dict of PyTorch's `nn.MultiheadAttention(embedDim, numHeads, bias)`, with which
 * it computes the same: `in_proj_weight` (3D × D: W_Q, W_K and W_V), `out_proj.weight` (D × D) and, where the layer has
 * biases, `in_proj_bias` (3D) and `out_proj.bias` (D). Copies.
 *
 * @param prefix what stands before each name, for example 'layers.0.self_attn.'
 * @throws ArgumentError where keyDim or valueDim is not D / H, the scale not 1/√d_k, or positions are rotary: PyTorch's layer has no
 *   others
 */
export function torchAttentionState(layer: MultiHeadAttention, prefix = ''): StateDict {
  checkLayer('torchAttentionState', layer, prefix)
  const state = new TorchAttention(layer).stateDict()
  return Object.fromEntries(Object.entries(state).map(([name, tensor]) => [prefix + name, tensor]))
}

/**
 * Writes the state dict of PyTorch's `nn.MultiheadAttention` (see `torchAttentionState`) into the layer's parameters,
 * in place and converted to their dtype. Layer and state dict must both have biases (PyTorch's default), or both not.
 *
 *     const layer = new MultiHeadAttention({ embedDim: 256, numHeads: 8, bias: true })
 *     loadTorchAttention(layer, loadSafetensors('model.safetensors').tensors, 'encoder.self_attn.')
 *
 * @param prefix only names that begin with it are read
 * @throws ArgumentError where names or shapes do not match exactly, with all of them listed; for a layer as above; and
 *   for the parameters of `kdim`, `vdim` and `add_bias_kv`, which self-attention does not have
 */
export function loadTorchAttention(layer: MultiHeadAttention, state: StateDict, prefix = ''): void {
  const op = 'loadTorchAttention'
  checkLayer(op, layer, prefix)
  checkState(op, state)
  const own = Object.fromEntries(Object.entries(state).filter(([name]) => name.startsWith(prefix)))
  for (const [name, option] of Object.entries(OTHER_PARAMETERS)) {
    if (Object.hasOwn(own, prefix + name)) {
      throw new ArgumentError(
        `${op}: ${prefix}${name} comes of PyTorch's ${option}; MultiHeadAttention is self-attention and has no such weights`,
      )
    }
  }
  const source = new TorchAttention(layer)
  const targets = source.namedParameters().map(([name, parameter]) => [prefix + name, parameter] as const)
  writeState(op, targets, own)
  split(source.in_proj_weight, [layer.WQ, layer.WK, layer.WV])
  copy_(layer.WO, source.out_proj.weight)
  const { bQ, bK, bV, bO } = layer
  if (source.in_proj_bias && bQ && bK && bV) split(source.in_proj_bias, [bQ, bK, bV])
  if (source.out_proj.bias && bO) copy_(bO, source.out_proj.bias)
}

/** Parameters of PyTorch's layer that ours has not, and the options that they come of. */
const OTHER_PARAMETERS = {
  q_proj_weight: 'kdim or vdim',
  k_proj_weight: 'kdim or vdim',
  v_proj_weight: 'kdim or vdim',
  bias_k: 'add_bias_kv',
  bias_v: 'add_bias_kv',
}

function split(rows: Parameter, targets: readonly Parameter[]): void {
  const size = (rows.shape[0] as number) / targets.length
  targets.forEach((target, i) => {
    copy_(target, slice(detach(rows), i * size, (i + 1) * size))
  })
}

function checkLayer(op: string, layer: MultiHeadAttention, prefix: string): void {
  if (!(layer instanceof MultiHeadAttention)) {
    throw new ArgumentError(`${op}: the layer must be a MultiHeadAttention, got ${showValue(layer)}`)
  }
  if (typeof prefix !== 'string')
    throw new ArgumentError(`${op}: the prefix must be a string, got ${showValue(prefix)}`)
  const { embedDim, numHeads, keyDim, valueDim, scale } = layer
  const size = embedDim / numHeads
  if (keyDim !== size || valueDim !== size) {
    throw new ArgumentError(
      `${op}: PyTorch's layer has keys and values of length D / H = ${size}, this one ${keyDim} and ${valueDim}`,
    )
  }
  if (layer.isRotary) {
    throw new ArgumentError(`${op}: PyTorch's layer does not turn queries and keys, this one does (rotary)`)
  }
  if (scale !== 1 / Math.sqrt(keyDim)) {
    throw new ArgumentError(
      `${op}: PyTorch's layer multiplies scores with 1/√d_k = ${1 / Math.sqrt(keyDim)}, this one with ${scale}`,
    )
  }
}
