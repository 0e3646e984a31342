// Rounds in which all contestants of a work take turns.
import type { Contestant, Peer } from './peer.js'
import { inputsOf, type Work } from './works.js'

/** Milliseconds that one timing takes, by the number of repetitions in it. */
const TIMING = 40
/** Milliseconds of repetitions before the first timing, in which code is compiled. */
const WARM_UP = 300
/** Milliseconds for all timings of a contestant: slow ones take part in fewer rounds, but in one at least. */
const BUDGET = 3000
/** By how much results may differ, relative to the largest number among them. */
const TOLERANCE = 1e-3

export interface Timings {
  readonly peer: Peer
  /** Microseconds a repetition, one number a round. */
  readonly microseconds: readonly number[]
}

export interface Comparison {
  readonly work: Work
  readonly timings: readonly Timings[]
  /** What is to be said about peers that did not take part. */
  readonly absent: readonly { readonly peer: Peer; readonly reason: string }[]
}

/** The largest difference of two lists of results, relative to the largest number of each array. */
function difference(results: readonly Float32Array[], expected: readonly Float32Array[]): number {
  if (results.length !== expected.length) return Number.POSITIVE_INFINITY
  let worst = 0
  for (const [i, wanted] of expected.entries()) {
    const got = results[i] as Float32Array
    if (got.length !== wanted.length) return Number.POSITIVE_INFINITY
    const size = wanted.reduce((largest, x) => Math.max(largest, Math.abs(x)), Number.MIN_VALUE)
    // Not Math.max: NaN is a difference.
    wanted.forEach((x, k) => {
      const error = Math.abs((got[k] as number) - x) / size
      if (!(error <= worst)) worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error
    })
  }
  return worst
}

interface Entrant {
  readonly peer: Peer
  readonly contestant: Contestant
  readonly repetitions: number
  readonly rounds: number
  readonly microseconds: number[]
}

/** Warms a contestant up and finds out how often it must repeat. */
async function enter(peer: Peer, contestant: Contestant, rounds: number): Promise<Entrant> {
  let repetitions = 1
  let milliseconds = await contestant.time(1)
  for (let spent = milliseconds; spent < WARM_UP; spent += milliseconds) {
    if (milliseconds < TIMING) repetitions *= 2
    milliseconds = await contestant.time(repetitions)
  }
  const one = milliseconds / repetitions
  const affordable = Math.max(1, Math.floor(BUDGET / Math.max(one, TIMING)))
  return {
    peer,
    contestant,
    repetitions: Math.max(1, Math.round(TIMING / one)),
    rounds: Math.min(rounds, affordable),
    microseconds: [],
  }
}

/**
 * Compares all peers at a work. The first one's results are what the others must compute too.
 *
 * @throws Error where a peer computes something else
 */
export async function compare(work: Work, peers: readonly Peer[], rounds: number): Promise<Comparison> {
  const inputs = inputsOf(work.task)
  const absent: { peer: Peer; reason: string }[] = []
  const entrants: Entrant[] = []
  let expected: readonly Float32Array[] | undefined
  for (const peer of peers) {
    const contestant = await peer.prepare(work.task, inputs)
    if (contestant === null) {
      absent.push({ peer, reason: 'does not do it' })
      continue
    }
    const results = await contestant.outputs()
    expected ??= results
    const distance = difference(results, expected)
    if (distance > TOLERANCE) throw new Error(`${peer.name} computes something else at ${work.title}: by ${distance}`)
    entrants.push(await enter(peer, contestant, rounds))
  }
  for (let round = 0; round < rounds; round++) {
    for (const { contestant, repetitions, rounds: own, microseconds } of entrants) {
      if (round >= own) continue
      // What was idle while the others took their turns wakes up: compiled code, caches, memory.
      await contestant.time(repetitions)
      microseconds.push(((await contestant.time(repetitions)) * 1000) / repetitions)
    }
  }
  for (const { contestant } of entrants) contestant.close()
  return { work, timings: entrants.map(({ peer, microseconds }) => ({ peer, microseconds })), absent }
}
