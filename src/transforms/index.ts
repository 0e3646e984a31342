// The public transforms.
export { checkpoint } from './checkpoint.js'
export { defineOp, type OpCall, type OpDefinition } from './define-op.js'
export { type GradientsOf, type GradOptions, grad, valueAndGrad } from './grad.js'
export { hessian, hvp } from './hessian.js'
export { type JacobianOf, type JacobianOptions, jacobian } from './jacobian.js'
export { jvp } from './jvp.js'
export type { TensorsLike } from './tree.js'
export { type Pullback, vjp } from './vjp.js'
