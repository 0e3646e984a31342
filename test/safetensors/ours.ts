// The files that test/fixtures/safetensors/check.py reads in Python. Written by: npx tsx test/safetensors/ours.ts
import { writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { arange, manualSeed, randn, tensor, zeros } from '../../src/index.js'
import { MultiHeadAttention, torchAttentionState } from '../../src/nn/index.js'
import { serializeCheckpoint, serializeSafetensors } from '../../src/safetensors/index.js'

/** Every dtype, a scalar, an empty tensor, a view, special numbers and names beyond ASCII. */
export function everyDtype(): Uint8Array {
  const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0.1]
  return serializeSafetensors(
    {
      float32: tensor(special),
      float64: tensor(special, { dtype: 'float64' }),
      int32: tensor([2 ** 31 - 1, -(2 ** 31)], { dtype: 'int32' }),
      bool: tensor([
        [true, false],
        [false, true],
      ]),
      scalar: tensor(2.5),
      empty: zeros([0, 3]),
      transposed: arange(6).reshape([2, 3]).transpose(),
      'Gewicht "μ" \\ 𝛽': tensor([1, 2, 3], { dtype: 'float64' }),
    },
    { format: 'pt', author: 'wengert' },
  )
}

/** Tensors and plain values. */
export function checkpoint(): Uint8Array {
  return serializeCheckpoint({ step: 7, best: Number.POSITIVE_INFINITY, model: { weight: tensor([1, 2]) } })
}

/** A layer under PyTorch's names, with what it computes. */
function attention(): Uint8Array {
  manualSeed(3)
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, bias: true, dtype: 'float64' })
  for (const parameter of layer.parameters()) parameter.copy_(randn(parameter.shape, { dtype: 'float64' }))
  const x = randn([2, 5, 8], { dtype: 'float64' })
  return serializeSafetensors({ ...torchAttentionState(layer, 'layer.'), x, y: layer.forward(x) })
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  const folder = new URL('../fixtures/safetensors/', import.meta.url)
  const write = (name: string, bytes: Uint8Array) => {
    const path = fileURLToPath(new URL(`${name}.safetensors`, folder))
    writeFileSync(path, bytes)
    console.log(`${path}: ${bytes.length} bytes`)
  }
  write('wengert-dtypes', everyDtype())
  write('wengert-checkpoint', checkpoint())
  write('wengert-attention', attention())
}
