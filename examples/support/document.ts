// What a terminal and a page show alike. Text may contain symbols like W_Q and d_k, whose second part the page sets as an
// index.
import type { ChalkInstance } from 'chalk'

/** A table; `text` columns are aligned to the left, numbers to the right. */
export interface Table {
  readonly kind: 'table'
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

export interface Column {
  readonly head: string
  /** A heading above this column and those beside it that share it. */
  readonly group?: string
  readonly text?: boolean
}

/** Values over d_k, on logarithmic axes, or as shares of 1 on a linear one. */
export interface Chart {
  readonly kind: 'chart'
  readonly title: string
  /** What is drawn upwards. */
  readonly quantity: string
  readonly scale: 'log' | 'share'
  readonly keyDims: readonly number[]
  readonly series: readonly Series[]
}

export interface Series {
  readonly name: string
  /** The letter that marks it in a terminal. */
  readonly mark: string
  readonly scaled: boolean
  readonly dashed?: boolean
  readonly values: readonly number[]
  /** A range around each value. */
  readonly band?: readonly (readonly [number, number])[]
}

/** Something drawn, which looks different in each. */
export interface Picture {
  readonly kind: 'picture'
  readonly title?: string
  /** The content of a figure of the page. */
  readonly html: string
  /** What stands in its place in a terminal; nothing by default. */
  readonly terminal?: (colours: ChalkInstance) => string
}

export interface Paragraph {
  readonly kind: 'text'
  readonly text: string
}

export type Part = Paragraph | Table | Chart | Picture

export interface Section {
  readonly title: string
  readonly parts: readonly Part[]
}

export function paragraph(text: string): Paragraph {
  return { kind: 'text', text }
}

export function table(title: string, columns: readonly Column[], rows: readonly (readonly string[])[]): Table {
  return { kind: 'table', title, columns, rows }
}
