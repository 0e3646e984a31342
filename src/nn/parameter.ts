import { checkFloating } from '../core/dtype.js'
import { Tensor } from '../core/tensor.js'
import { checkTensor } from '../ops/arguments.js'
import { clone, detach } from '../ops/copy.js'

/** A tensor that a module learns: a leaf that requires its gradient, found by `Module.parameters`. */
export class Parameter extends Tensor {
  /**
   * @param values its first numbers; they are copied
   * @throws DTypeError unless they are floating
   */
  constructor(values: Tensor) {
    checkTensor('Parameter', values)
    checkFloating('Parameter', values.dtype)
    super(clone(detach(values)).storage, values.shape, null)
    this.requiresGrad_()
  }
}
