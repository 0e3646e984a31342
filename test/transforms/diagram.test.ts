import { expect, test } from 'vitest'
import { defineOp, grad, type Tensor, tapeOf, tensor } from 'wengert'
import { MultiHeadAttention } from 'wengert/nn'

function small() {
  const x = tensor([1, 2], { requiresGrad: true })
  const y = x.mul(x).sum()
  const [leaf = 0, mul = 0, sum = 0] = tapeOf(y).entries.map(({ id }) => id)
  return { tape: tapeOf(y), leaf, mul, sum }
}

test('as a Mermaid flowchart', () => {
  const { tape, leaf, mul, sum } = small()
  expect(tape.toMermaid()).toBe(
    [
      'flowchart TD',
      `  n${leaf}(["${leaf} leaf<br/>(2,)"])`,
      `  n${mul}["${mul} mul<br/>(2,)<br/>8 bytes saved"]`,
      `  n${sum}["${sum} sum<br/>()"]`,
      `  n${leaf} --> n${mul}`,
      `  n${leaf} --> n${mul}`,
      `  n${mul} --> n${sum}`,
    ].join('\n'),
  )
})

test('as a DOT digraph', () => {
  const { tape, leaf, mul, sum } = small()
  expect(tape.toDot()).toBe(
    [
      'digraph tape {',
      `  n${leaf} [shape=ellipse, label="${leaf} leaf\\n(2,)"]`,
      `  n${mul} [shape=box, label="${mul} mul\\n(2,)\\n8 bytes saved"]`,
      `  n${sum} [shape=box, label="${sum} sum\\n()"]`,
      `  n${leaf} -> n${mul}`,
      `  n${leaf} -> n${mul}`,
      `  n${mul} -> n${sum}`,
      '}',
    ].join('\n'),
  )
})

test('names with special characters do not break out of their labels', () => {
  const odd = defineOp({ name: '"a\\b" <c>#', forward: (x: Tensor) => x.clone(), vjp: (g) => g })
  const tape = tapeOf(odd(tensor(1, { requiresGrad: true })))
  expect(tape.toMermaid()).toContain('#quot;a\\b#quot; #lt;c>#35;<br/>')
  expect(tape.toDot()).toContain('\\"a\\\\b\\" <c>#\\n')
})

test('of what was released, and of nothing', () => {
  const x = tensor(1, { requiresGrad: true })
  const y = x.exp()
  y.backward()
  expect(tapeOf(y).toMermaid()).toContain('<br/>released"]')
  expect(tapeOf(tensor(1)).toMermaid()).toBe('flowchart TD')
  expect(tapeOf(tensor(1)).toDot()).toBe('digraph tape {\n}')
})

test('of a call: all that it records, and the leaves that it reads', () => {
  const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 })
  const x = tensor([[1, 2, 3, 4]])
  let result: Tensor | undefined
  const tape = tapeOf(() => {
    const [first] = layer.parameters()
    first?.exp()
    result = layer.forward(x)
  })
  const reached = new Set(tapeOf(result as Tensor).entries.map(({ id }) => id))
  const beside = tape.entries.filter(({ id }) => !reached.has(id))
  expect(beside.map(({ op }) => op)).toContain('exp')
  expect(tape.entries.filter(({ op }) => op === 'leaf')).toHaveLength(4)
  expect([...reached].every((id) => tape.entries.some((entry) => entry.id === id))).toBe(true)
  const ids = tape.entries.map(({ id }) => id)
  expect(ids).toEqual([...ids].sort((a, b) => a - b))
  // What came before stays outside; a transform's own entries do too.
  const y = tensor(2, { requiresGrad: true }).exp()
  const part = tapeOf(() => y.square().mul(grad((a: Tensor) => a.sin())(tensor(1))))
  expect(part.entries.map(({ op }) => op)).toEqual(['square', 'mul'])
  expect(part.toMermaid()).not.toContain(`n${part.entries[0]?.inputs[0]} -->`)
})
