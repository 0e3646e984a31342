import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { noGrad, randint, type Tensor, tensor } from 'wengert'

const file = fileURLToPath(new URL('../data/sonnets.txt', import.meta.url))

/** The share of the text, from its beginning, that is trained on. */
const TRAINED = 0.9

/** Pieces of text, each character beside the one that follows it. */
export interface Pieces {
  /** int32 (count, length). */
  readonly x: Tensor
  /** The same, one character further on. */
  readonly target: Tensor
}

/** A text as numbers: its characters in the order of their codes. */
export class Text {
  readonly characters: readonly string[]
  readonly training: Int32Array
  readonly test: Int32Array

  /** Shakespeare's sonnets. */
  constructor(text = readFileSync(file, 'utf8')) {
    this.characters = [...new Set(text)].sort()
    const codes = this.encode(text)
    const end = Math.floor(TRAINED * codes.length)
    this.training = codes.subarray(0, end)
    this.test = codes.subarray(end)
  }

  encode(text: string): Int32Array {
    const codes = new Map(this.characters.map((character, i) => [character, i]))
    return Int32Array.from(text, (character) => codes.get(character) ?? 0)
  }

  decode(codes: Iterable<number>): string {
    return Array.from(codes, (code) => this.characters[code]).join('')
  }
}

/** Pieces from random places. */
export function randomPieces(codes: Int32Array, count: number, length: number): Pieces {
  return piecesAt(codes, Array.from(noGrad(() => randint(0, codes.length - length, [count]).data)), length)
}

/** The pieces one behind the other, without what is left over at the end. */
export function allPieces(codes: Int32Array, length: number): Pieces {
  const count = Math.floor((codes.length - 1) / length)
  return piecesAt(
    codes,
    Array.from({ length: count }, (_, i) => i * length),
    length,
  )
}

function piecesAt(codes: Int32Array, starts: readonly number[], length: number): Pieces {
  const cut = (shift: number) => {
    const values = new Int32Array(starts.length * length)
    starts.forEach((start, i) => {
      values.set(codes.subarray(start + shift, start + shift + length), i * length)
    })
    return tensor(values, { shape: [starts.length, length] })
  }
  return { x: cut(0), target: cut(1) }
}
