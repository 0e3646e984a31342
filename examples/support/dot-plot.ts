import type { Chart } from './document.js'
import { percent } from './format.js'

const WIDTH = 61

/** A chart in characters: one line for each d_k, each series a mark on a horizontal axis. */
export function dotPlot({ quantity, scale, keyDims, series }: Chart): string {
  const values = series.flatMap((one) => one.values)
  const axis = scale === 'log' ? decades(values) : shares
  const place = (value: number) => Math.round(axis.position(value) * (WIDTH - 1))
  const line = (marks: readonly (readonly [number, string])[], ground: string) => {
    const characters = Array.from({ length: WIDTH }, () => ground)
    for (const [at, mark] of marks) {
      // Marks that meet are drawn beside each other.
      let free = at
      while (free < WIDTH && characters[free] !== ground && characters[free] !== '┊') free++
      characters[Math.min(free, WIDTH - 1)] = mark
    }
    return characters.join('')
  }
  const ticks = axis.ticks.map((tick) => [place(tick), '┊'] as const)
  const rows = keyDims.map((keyDim, i) => {
    const marks = series.flatMap((one) => {
      const value = one.values[i]
      return value === undefined ? [] : [[place(value), one.mark] as const]
    })
    return `${String(keyDim).padStart(7)}  ${line([...ticks, ...marks], ' ')}`.trimEnd()
  })
  let labels = ''
  for (const tick of axis.ticks) {
    const label = axis.label(tick)
    const start = Math.max(0, place(tick) - Math.floor(label.length / 2))
    if (start > labels.length || labels === '') labels = labels.padEnd(start) + label
  }
  const legend = series.map((one) => `${one.mark} ${one.name}`).join('   ')
  return [`    d_k  ${labels}   ${quantity}`, ...rows, `         ${legend}`].join('\n')
}

interface Axis {
  readonly ticks: readonly number[]
  /** 0 at the left end, 1 at the right end. */
  position(value: number): number
  label(tick: number): string
}

const shares: Axis = { ticks: [0, 0.25, 0.5, 0.75, 1], position: (value) => value, label: percent }

/** A logarithmic axis from a power of ten below all positive values to one above. */
function decades(values: readonly number[]): Axis {
  const exponents = values.filter((value) => value > 0).map((value) => Math.log10(value))
  const low = Math.floor(Math.min(...exponents))
  const high = Math.max(low + 1, Math.ceil(Math.max(...exponents)))
  const step = Math.max(1, Math.ceil((high - low) / 6))
  const count = Math.floor((high - low) / step) + 1
  return {
    ticks: Array.from({ length: count }, (_, i) => 10 ** (high - (count - 1 - i) * step)),
    position: (value) => (value > 0 ? (Math.log10(value) - low) / (high - low) : 0),
    label: (tick) => `1e${Math.round(Math.log10(tick))}`,
  }
}
