import { noGrad, rand, type Tensor, tensor } from 'wengert'
import { Embedding, LayerNorm, LearnedPositions, Linear, Module, TransformerBlock } from 'wengert/nn'

/** How many characters the model looks back on. */
export const CONTEXT = 64

/** A small transformer that tells from the characters so far which comes next. */
export class CharacterModel extends Module {
  readonly embedDim = 64
  readonly embedding: Embedding
  readonly positions: LearnedPositions
  readonly blocks: readonly TransformerBlock[]
  readonly norm: LayerNorm
  readonly output: Linear

  /** @param characters how many different ones there are */
  constructor(characters: number) {
    super()
    const { embedDim } = this
    this.embedding = new Embedding(characters, embedDim)
    this.positions = new LearnedPositions(CONTEXT, embedDim)
    this.blocks = [1, 2].map(() => new TransformerBlock({ embedDim, numHeads: 4 }))
    this.norm = new LayerNorm(embedDim)
    this.output = new Linear(embedDim, characters)
  }

  /** Logits (…, N, characters) of what follows each of the N characters, for int32 (…, N). */
  forward(x: Tensor): Tensor {
    const rows = this.positions.forward(this.embedding.forward(x))
    const seen = this.blocks.reduce((h, block) => block.forward(h, { causal: true }), rows)
    return this.output.forward(this.norm.forward(seen))
  }

  /** Writes on, one character after the other, each drawn with the probability that the model gives it. */
  continue(start: Iterable<number>, count: number): number[] {
    return noGrad(() => {
      const codes = [...start]
      for (let i = 0; i < count; i++) {
        const logits = this.forward(tensor(Int32Array.from(codes.slice(-CONTEXT)))).at(-1)
        codes.push(draw(logits.softmax(-1).data))
      }
      return codes
    })
  }
}

/** A place, with the probabilities given. */
function draw(probabilities: ArrayLike<number>): number {
  let left = rand([], { dtype: 'float64' }).item()
  for (let i = 0; i < probabilities.length; i++) {
    left -= probabilities[i] ?? 0
    if (left < 0) return i
  }
  return probabilities.length - 1
}
