import type { DType } from '../core/dtype.js'
import { rand } from '../ops/random.js'
import { Parameter } from './parameter.js'

/**
 * A weight (out × in) with entries uniform on ±√(6 / (in + out)), so that values and cotangents keep their variance.
 *
 * Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
 */
export function glorotUniform(out: number, inputs: number, dtype: DType): Parameter {
  const bound = Math.sqrt(6 / Math.max(1, inputs + out))
  return new Parameter(
    rand([out, inputs], { dtype })
      .scale(2 * bound)
      .sub(bound),
  )
}
