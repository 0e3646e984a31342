import type { TapeNode } from '../core/node.js'
import { type Observer, withObserver } from '../core/operation.js'
import type { Tensor } from '../core/tensor.js'

type Collector = (entry: TapeNode, output: Tensor) => void

let collector: Collector | null = null

const observe: Observer = (_operation, _inputs, _attributes, output) => {
  if (collector !== null && output.node !== null) collector(output.node, output)
}

/** Who is told of every entry that is recorded at present, and of the tensor it hangs on; null for nobody. */
export function currentCollector(): Collector | null {
  return collector
}

/** Runs `fn` and tells `collect` of every entry that it records; with null nobody is told. */
export function withCollector<Result>(collect: Collector | null, fn: () => Result): Result {
  if (collect === null && collector === null) return fn()
  const before = collector
  collector = collect
  try {
    return collect === null ? fn() : withObserver(observe, fn)
  } finally {
    collector = before
  }
}
