import { randn, type Tensor, where } from 'wengert'
import {
  LayerNorm,
  Linear,
  Module,
  Parameter,
  PatchEmbed,
  SinusoidalPositions,
  SinusoidalPositions2d,
  TransformerBlock,
} from 'wengert/nn'
import { GRID, PATCH, PATCHES, type Question } from './tiles.js'

/** How patches are told their places: not at all, by their number in reading order, or by row and column. */
export type PositionKind = 'none' | '1-D' | '2-D'

/** D, the length of a patch's vector. */
export const EMBED_DIM = 48
/** H, the number of heads. */
export const HEADS = 4
/** Wavelengths of the positions go from 2π to about 2π times this: a few tiles. */
const BASE = 20

/**
 * One transformer block that sees all patches of a tile but one, in whose place stands a learned vector, and tells the
 * share of water of that one.
 */
export class HiddenPatchModel extends Module {
  readonly patches = new PatchEmbed({ patchSize: PATCH, embedDim: EMBED_DIM })
  /** (D): what stands in the place of the hidden patch. */
  readonly cover = new Parameter(randn([EMBED_DIM]).scale(0.02))
  readonly positions: SinusoidalPositions | SinusoidalPositions2d | null
  readonly block = new TransformerBlock({ embedDim: EMBED_DIM, numHeads: HEADS, hiddenDim: 2 * EMBED_DIM })
  readonly norm = new LayerNorm(EMBED_DIM)
  readonly head = new Linear(EMBED_DIM, 1)

  constructor(kind: PositionKind) {
    super()
    if (kind === 'none') this.positions = null
    else if (kind === '1-D') this.positions = new SinusoidalPositions(PATCHES, EMBED_DIM, { base: BASE })
    else this.positions = new SinusoidalPositions2d(GRID, GRID, EMBED_DIM, { base: BASE })
  }

  /** (B): the logit of the hidden patch's share of water. */
  forward(question: Question): Tensor {
    const rows = this.block.forward(this.#rows(question))
    // All rows but the hidden one are replaced by 0, and so the sum is that row.
    const row = where(question.hidden, rows, 0).sum({ axis: -2 })
    return this.head.forward(this.norm.forward(row)).squeeze(-1)
  }

  /** (B, H, N, N): for each head, row n is how patch n spreads its attention. */
  attention(question: Question): Tensor {
    return this.block.attention(this.#rows(question))
  }

  /** What the block is given, (B, N, D). */
  #rows({ images, hidden }: Question): Tensor {
    const rows = where(hidden, this.cover, this.patches.forward(images))
    return this.positions === null ? rows : this.positions.forward(rows)
  }
}
