import { concat, randn, type Tensor } from 'wengert'
import { LayerNorm, Linear, Module, Parameter, PatchEmbed, SinusoidalPositions2d, TransformerBlock } from 'wengert/nn'
import { DIGITS, SIDE } from './images.js'

/** Pixels along a side of a patch. */
const PATCH = 7
/** Patches along a side of an image. */
export const GRID = SIDE / PATCH
/** D, the length of a row. */
export const EMBED_DIM = 64
/** H, the number of heads. */
export const HEADS = 4
export const BLOCKS = 2

/**
 * A vision transformer: the patches of an image, and in front of them a learned vector, the class token, in whose row
 * the answer is gathered.
 *
 * Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929.
 */
export class VisionTransformer extends Module {
  readonly patches = new PatchEmbed({ patchSize: PATCH, inChannels: 1, embedDim: EMBED_DIM })
  readonly positions = new SinusoidalPositions2d(GRID, GRID, EMBED_DIM, { base: 20 })
  readonly classToken = new Parameter(randn([1, 1, EMBED_DIM]).scale(0.02))
  readonly blocks: readonly TransformerBlock[] = Array.from(
    { length: BLOCKS },
    () => new TransformerBlock({ embedDim: EMBED_DIM, numHeads: HEADS, hiddenDim: 2 * EMBED_DIM }),
  )
  readonly norm = new LayerNorm(EMBED_DIM)
  readonly head = new Linear(EMBED_DIM, DIGITS)

  /** (B, DIGITS), logits, for images (B, 1, SIDE, SIDE). */
  forward(images: Tensor): Tensor {
    const rows = this.blocks.reduce((x, block) => block.forward(x), this.#rows(images))
    return this.head.forward(this.norm.forward(rows.slice([0, 0], [rows.shape[0] ?? 0, 1]).squeeze(1)))
  }

  /** (B, H, GRID²): how the class token spreads its attention over the patches in the last block. */
  classAttention(images: Tensor): Tensor {
    const last = this.blocks.at(-1) as TransformerBlock
    const rows = this.blocks.slice(0, -1).reduce((x, block) => block.forward(x), this.#rows(images))
    const attention = last.attention(rows)
    const [batch = 0, heads = 0, count = 0] = attention.shape
    return attention.slice([0, 0, 0, 1], [batch, heads, 1, count]).squeeze(2)
  }

  /** What the first block is given, (B, 1 + GRID², D). */
  #rows(images: Tensor): Tensor {
    const patches = this.positions.forward(this.patches.forward(images))
    const [batch = 0] = images.shape
    return concat([this.classToken.broadcastTo([batch, 1, EMBED_DIM]), patches], 1)
  }
}
