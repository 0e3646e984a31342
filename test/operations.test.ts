// The list of operations says of every one what it is, and its examples are right.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as wengert from 'wengert'
import * as operations from '../src/ops/index.js'

interface Row {
  readonly name: string
  readonly cells: readonly string[]
}

const text = readFileSync(new URL('../src/ops/README.md', import.meta.url), 'utf8')

/** The tables' rows, without their heads. */
const rows: Row[] = text.split('\n').flatMap((line) => {
  const cells = line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim())
  const name = /^`(\w+)`$/.exec(cells[0] ?? '')?.[1]
  return name === undefined ? [] : [{ name, cells }]
})

test('every operation is listed once, and nothing else', () => {
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(operations).sort())
})

test('each with formula, rule, domain and example', () => {
  for (const { name, cells } of rows) {
    expect(cells.length, name).toBe(5)
    expect(
      cells.every((cell) => cell !== ''),
      name,
    ).toBe(true)
    expect(cells[4], name).toMatch(new RegExp(`^\`.*\\b${name}\\(.*\` → \`.*\`$`))
  }
})

/** The value of an expression that uses names of the library. */
function evaluate(expression: string, more: Readonly<Record<string, unknown>> = {}): unknown {
  const names = { ...wengert, ...more }
  const value: unknown = new Function(...Object.keys(names), `return (${expression})`)(...Object.values(names))
  return wengert.isTensor(value) ? value.toArray() : value
}

/** Rounded to the digits that the examples have. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null), (_, part) =>
    typeof part === 'number' ? Number(part.toPrecision(5)) + 0 : part,
  )

describe('the example of', () => {
  test.each(rows)('$name', ({ cells }) => {
    const [, expression, result] = /^`(.*)` → `(.*)`$/.exec(cells[4] as string) as RegExpExecArray
    expect(rounded(evaluate(expression as string))).toEqual(rounded(evaluate(result as string)))
  })
})

describe('the domain of', () => {
  const dtypes = { floating: ['float32', 'float64'], numbers: ['float32', 'float64', 'int32'] } as const
  const all = ['float32', 'float64', 'int32', 'bool'] as const
  const told = rows.flatMap(({ name, cells }) => {
    const kind = /^(floating|numbers|any)\b/.exec(cells[3] as string)?.[1] as 'floating' | 'numbers' | 'any' | undefined
    const expression = /^`(.*)` →/.exec(cells[4] as string)?.[1] as string
    // Of one tensor, whose dtype can be changed.
    const single = kind !== undefined && (expression.match(/tensor\(/g) ?? []).length === 1
    return single ? [{ name, kind, expression }] : []
  })

  test.each(told)('$name: $kind', ({ kind, expression }) => {
    const accepted: readonly wengert.DType[] = kind === 'any' ? all : dtypes[kind]
    for (const dtype of all) {
      const run = () =>
        evaluate(expression.replace(/\btensor\(/, 'like('), {
          like: (data: wengert.TensorData) => wengert.tensor(data, { dtype: 'float32' }).to(dtype),
        })
      if (accepted.includes(dtype)) expect(run, dtype).not.toThrow()
      else expect(run, dtype).toThrow(wengert.DTypeError)
    }
  })
})

test('the README leads to the list', () => {
  expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain('(src/ops/README.md)')
})
