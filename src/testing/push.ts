// Derivatives of tensor functions by the forward pass.
import type { Tensor } from '../core/tensor.js'
import { tensor } from '../ops/creation.js'
import { jvp } from '../transforms/jvp.js'
import type { Checkable, Pushforward } from './checkable.js'
import { concatenate, type VectorFunction } from './function.js'
import type { Layout, Part, Vector } from './layout.js'

/** A function of tensors whose derivative is that of `jvp`. */
export class ForwardFunction implements Checkable {
  constructor(private readonly f: VectorFunction) {}

  get inputs(): Layout {
    return this.f.inputs
  }

  get point(): Vector {
    return this.f.point
  }

  get outputs(): Layout {
    return this.f.outputs
  }

  values(at: Vector): Vector {
    return this.f.values(at)
  }

  derivative(): Pushforward {
    const { f } = this
    const point = this.tensorsOf(f.point)
    const outputs = (...inputs: Tensor[]) => [...f.call(inputs)]
    return {
      mode: 'forward',
      values: f.values(f.point),
      push: (tangent) => concatenate(jvp(outputs, point, this.tensorsOf(tangent))[1], f.outputs.size),
    }
  }

  private tensorsOf(vector: Vector): Tensor[] {
    const { parts } = this.inputs
    return this.inputs.split(vector).map((values, i) => tensor(values, { shape: (parts[i] as Part).shape }))
  }
}
