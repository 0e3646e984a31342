// All wrong derivatives that are tried.
import type { Arbitrary } from 'fast-check'
import { type Case, catalogue } from './catalogue.js'
import { elementwise } from './mistakes/elementwise.js'
import { broadcasting, general } from './mistakes/general.js'
import type { Mistakes } from './mistakes/kit.js'
import { movement } from './mistakes/movement.js'
import { products } from './mistakes/products.js'
import { reductions } from './mistakes/reductions.js'
import type { WrongRule } from './substitute.js'

/** A wrong derivative of one operation, within a function that uses it. */
export interface Mutant {
  /** The function, as the catalogue calls it. */
  readonly subject: string
  /** The operation with the wrong derivative, as the tape calls it. */
  readonly operation: string
  /** What is wrong. */
  readonly kind: string
  readonly rule: WrongRule
  /** Random points at which it can show. */
  readonly cases: Arbitrary<Case>
}

/** Which operations the functions are made of; not named where both have the same name. */
const operations: Readonly<Record<string, readonly string[]>> = {
  'gelu, tanh': ['geluTanh'],
  tan: ['sin', 'cos', 'div'],
  logSigmoid: ['softplus'],
  leakyRelu: ['where'],
  elu: ['where', 'expm1'],
  hardtanh: ['clamp'],
  maskedFill: ['where'],
  mean: ['sum', 'scale'],
  cumprod: ['linearScan'],
  sort: ['indexSelect'],
  roll: ['slice', 'concat'],
  tile: ['broadcastTo'],
  stack: ['concat', 'add', 'mul'],
  tril: ['where'],
  linear: ['linear', 'add'],
  dot: ['matmul'],
  outer: ['mul'],
  einsum: ['matmul', 'permute'],
  layerNorm: ['normalise'],
  rmsNorm: ['normalise'],
  conv2d: ['matmul', 'add'],
  attention: ['scaledDotProductAttention'],
  mseLoss: ['square', 'sub'],
  cosineSimilarity: ['mul'],
}

/** Operations that broadcast their operands. */
const broadcasters = ['add', 'sub', 'mul', 'div', 'pow', 'atan2', 'maximum', 'minimum', 'logaddexp', 'where']

const special: Mistakes = { ...elementwise, ...reductions, ...movement, ...products }

export function allMutants(): Mutant[] {
  return Object.entries(catalogue).flatMap(([subject, cases]) => {
    const everywhere = (operations[subject] ?? [subject]).flatMap((operation) =>
      Object.entries(general).map(([kind, rule]) => ({ subject, operation, kind, rule, cases })),
    )
    const broadcast = broadcasters.includes(subject)
      ? Object.entries(broadcasting).map(([kind, rule]) => ({ subject, operation: subject, kind, rule, cases }))
      : []
    const own = (special[subject] ?? []).map(([kind, rule, place = {}]) => {
      return { subject, operation: subject, cases, ...place, kind, rule }
    })
    return [...everywhere, ...broadcast, ...own]
  })
}
