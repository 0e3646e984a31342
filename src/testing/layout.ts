import { contiguousStrides, type Shape, sizeOf } from '../core/shape.js'

/** Numbers of one or more tensors, end to end. */
export type Vector = Float64Array<ArrayBuffer>

/** How reports call the arguments and results of the checked function. */
export interface Names {
  input(position: number): string
  output(position: number): string
}

/** One of several tensors whose numbers lie end to end. */
export interface Part {
  /** Place among the arguments, or among the results, of the checked function. */
  readonly position: number
  /** How reports call it. */
  readonly name: string
  readonly shape: Shape
}

/** One number of one part. */
export interface Place {
  readonly part: Part
  /** One index for each axis; `[]` in a scalar. */
  readonly index: readonly number[]
}

/** Tensors as one vector: all numbers of the first in row-major order, then those of the next. */
export class Layout {
  /** Number of numbers. */
  readonly size: number
  private readonly offsets: number[] = []

  constructor(readonly parts: readonly Part[]) {
    let size = 0
    for (const part of parts) {
      this.offsets.push(size)
      size += sizeOf(part.shape)
    }
    this.size = size
  }

  /** The numbers of each part, as views of the vector. */
  split(vector: Vector): Vector[] {
    return this.parts.map((part, i) => {
      const start = this.offsets[i] as number
      return vector.subarray(start, start + sizeOf(part.shape))
    })
  }

  /** Which number of which part stands at a place of the vector. */
  locate(place: number): Place {
    const which = this.parts.findIndex((part, i) => place < (this.offsets[i] as number) + sizeOf(part.shape))
    const part = this.parts[which] as Part
    let rest = place - (this.offsets[which] as number)
    const index = contiguousStrides(part.shape).map((stride) => {
      const position = Math.floor(rest / stride)
      rest -= position * stride
      return position
    })
    return { part, index }
  }
}

/** `input 0 [1, 2]`; the name alone for a scalar. */
export function showPlace(name: string, index: readonly number[]): string {
  return index.length === 0 ? name : `${name} [${index.join(', ')}]`
}
