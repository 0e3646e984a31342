import { contiguousStrides, type Shape, sizeOf } from '../../core/shape.js'

const MOST_ROWS = 16
const MOST_COLUMNS = 64

/** How far from right an element is: 0 right; up to 10, 1,000 or more tolerances off; 4 NaN or ∞ on one side only. */
export type Severity = 0 | 1 | 2 | 3 | 4

const marks = ['·', '-', '+', '#', '!'] as const

export const legend = '· right, - up to 10 tolerances off, + up to 1,000, # more, ! NaN or infinite'

/** A picture of the last two axes of an array of severities. */
export interface Picture {
  /** Which part is shown: `[1, :, :]`. */
  readonly part: string
  /** How many elements stand behind a character, along both axes; [1, 1] for a picture in full. */
  readonly block: readonly [rows: number, columns: number]
  readonly lines: readonly string[]
}

/** The matrix in the last two axes that holds the element at `place`; a character is the worst of its block. */
export function pictureOf(severities: readonly Severity[], shape: Shape, place: number): Picture {
  const lead = shape.slice(0, -2)
  const columns = shape[shape.length - 1] ?? 1
  const rows = shape[shape.length - 2] ?? 1
  const start = Math.floor(place / (rows * columns)) * rows * columns
  const height = Math.ceil(rows / MOST_ROWS)
  const width = Math.ceil(columns / MOST_COLUMNS)
  const lines = Array.from({ length: Math.ceil(rows / height) }, (_, i) => {
    const characters = Array.from({ length: Math.ceil(columns / width) }, (_, j) => {
      let worst: Severity = 0
      for (let row = i * height; row < Math.min(rows, (i + 1) * height); row++) {
        for (let column = j * width; column < Math.min(columns, (j + 1) * width); column++) {
          const severity = severities[start + row * columns + column] as Severity
          if (severity > worst) worst = severity
        }
      }
      return marks[worst]
    })
    return characters.join('')
  })
  const index = indexOf(place, shape).slice(0, lead.length)
  return { part: `[${[...index, ...shape.slice(-2).map(() => ':')].join(', ')}]`, block: [height, width], lines }
}

/** The index of the element at a place in row-major order. */
export function indexOf(place: number, shape: Shape): number[] {
  if (sizeOf(shape) === 0) return []
  let rest = place
  return contiguousStrides(shape).map((stride) => {
    const position = Math.floor(rest / stride)
    rest -= position * stride
    return position
  })
}
