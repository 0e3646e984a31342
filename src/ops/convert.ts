import { contiguous, empty } from '../core/contiguous.js'
import { checkDType, type DType, suffixOf } from '../core/dtype.js'
import { apply, type Operation } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'
import { KernelFamily } from '../runtime/kernels.js'
import { checkTensor } from './arguments.js'
import { mapElements } from './pieces.js'

const families = {
  float32: new KernelFamily('convert_f32'),
  float64: new KernelFamily('convert_f64'),
  int32: new KernelFamily('convert_i32'),
  bool: new KernelFamily('convert_u8'),
}

interface Conversion {
  readonly from: DType
  readonly to: DType
}

const convertOperation: Operation<Conversion> = {
  name: 'to',
  forward: ([input], { from, to: dtype }) => {
    const x = contiguous(input as Tensor)
    const out = empty(dtype, x.shape)
    mapElements(families[from], suffixOf(dtype), x, out)
    return out
  },
  derivatives: [{ saves: [], rule: (g, call) => to(g, call.attributes.from) }],
}

/**
 * The same numbers as another dtype; the tensor itself where it has it. Floats become int32 by truncation (saturating,
 * NaN as 0) and bool as "not 0". Differentiable between float32 and float64.
 */
export function to(x: Tensor, dtype: DType): Tensor {
  checkTensor('to', x)
  checkDType('to', dtype)
  if (x.dtype === dtype) return x
  return apply(convertOperation, [x], { from: x.dtype, to: dtype })
}
