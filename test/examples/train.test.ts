// The examples' training loop: what it shows, and how it stops and goes on.
import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type TrainOptions, train } from '../../examples/support/train.js'

function sink(isTTY: boolean): { readonly output: NonNullable<TrainOptions['output']>; text(): string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _, next) {
      text += String(chunk)
      next()
    },
  })
  return { output: Object.assign(stream, { isTTY, columns: 120 }), text: () => text }
}

const pause = (milliseconds: number) => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

describe('train', () => {
  test('makes every step once, in order, and saves at the end', async () => {
    const { output, text } = sink(false)
    const [made, saved]: [number[], number[]] = [[], []]
    const result = await train({
      steps: 7,
      step: (index) => made.push(index),
      save: (done) => void saved.push(done),
      saveEvery: 3,
      output,
    })
    expect(made).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(saved).toEqual([3, 6, 7])
    expect(result).toMatchObject({ ended: 'done', done: 7 })
    expect(text()).toMatch(/^step 7 of 7, loss [\d.]+, [\d.]+ steps\/s, 0 s left\n$/)
  })

  test('stops at a signal, having saved, and goes on', async () => {
    const controller = new AbortController()
    const [made, saved]: [number[], number[]] = [[], []]
    const options = {
      steps: 6,
      step: (index: number) => {
        made.push(index)
        if (index === 2) controller.abort()
        return 1
      },
      save: (done: number) => void saved.push(done),
      output: sink(false).output,
    }
    const stopped = await train({ ...options, signal: controller.signal })
    expect(stopped).toMatchObject({ ended: 'stopped', done: 3, loss: 1 })
    const { ended } = await train({ ...options, done: stopped.done })
    expect([ended, made, saved]).toEqual(['done', [0, 1, 2, 3, 4, 5], [3, 6]])
  })

  test('stops at Ctrl-C, too, and listens no longer', async () => {
    const listeners = process.listenerCount('SIGINT')
    const step = (index: number) => {
      if (index === 1) process.emit('SIGINT')
      return 1
    }
    expect(await train({ steps: 5, step, output: sink(false).output })).toMatchObject({ ended: 'stopped', done: 2 })
    expect(process.listenerCount('SIGINT')).toBe(listeners)
  })

  test('ends early where the loss falls no more', async () => {
    const step = (index: number) => Math.max(2, 10 - index)
    const result = await train({ steps: 100_000, step, patience: 5, output: sink(false).output })
    expect(result.ended).toBe('early')
    expect(result.loss).toBeCloseTo(2, 6)
    const flat = await train({ steps: 100, step: () => 1, patience: 5, output: sink(false).output })
    expect(flat).toMatchObject({ ended: 'early', done: 6 })
  })

  test('a loss of NaN ends it', async () => {
    const step = (index: number) => (index === 2 ? Number.NaN : 1)
    await expect(train({ steps: 5, step, output: sink(false).output })).rejects.toThrow('the loss of step 2 is NaN')
  })

  test('shows a bar with loss, speed and time left on a terminal', async () => {
    const { output, text } = sink(true)
    const step = () => {
      pause(30)
      return 0.5
    }
    await train({ steps: 6, step, output })
    expect(text()).toMatch(/step 6 of 6 {2}loss 0\.5000 {2}\d+(\.\d)? steps\/s {2}0 s left/)
  })
})
