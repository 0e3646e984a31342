// What a library must be able to do to be compared.
import { readFileSync } from 'node:fs'
import type { Input, Task } from './works.js'

/** A library that has made itself ready for one task. */
export interface Contestant {
  /**
   * The numbers that the task computes, from its inputs, the first time: y; of attention with backward the loss and
   * the gradients of WQ, WK, WV and WO; of the XOR step the four parameters after it.
   */
  outputs(): Promise<readonly Float32Array[]>
  /** Milliseconds that `repetitions` of the task take. */
  time(repetitions: number): Promise<number>
  /** Gives back what the task holds. */
  close(): void
}

export interface Peer {
  readonly name: string
  /** The threads that it uses. */
  readonly threads: number
  /** The library and its version, for the report. */
  readonly version: string
  /** Null where the library does not do the task. */
  prepare(task: Task, inputs: readonly Input[]): Promise<Contestant | null>
  close(): void
}

/** The time of a function that has computed its results when it returns. */
export function timeOf(repetitions: number, run: () => void): number {
  const start = performance.now()
  for (let i = 0; i < repetitions; i++) run()
  return performance.now() - start
}

/** The time of a function that has computed its results when its promise is fulfilled. */
export async function timeOfAsync(repetitions: number, run: () => Promise<void>): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < repetitions; i++) await run()
  return performance.now() - start
}

/** Name and version of a package in this folder. */
export function versionOf(name: string): string {
  const text = readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')
  const { version } = JSON.parse(text) as { version: string }
  return `${name} ${version}`
}
