// The tables of a comparison, and the same as JSON.
import { markdownTable } from 'markdown-table'
import type { Comparison, Timings } from './compare.js'
import type { Peer } from './peer.js'

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

const digits = (x: number) => (x >= 99.5 ? Math.round(x).toLocaleString('en-US') : x.toPrecision(2))
const ratioDigits = (x: number) => (x >= 10 ? x.toFixed(0) : x >= 0.095 ? x.toFixed(2) : x.toPrecision(1))

/** Quotients of the rounds in which both took part. */
function ratios(ours: Timings, theirs: Timings): number[] {
  return theirs.microseconds.map((x, round) => (ours.microseconds[round] as number) / x)
}

interface Cell {
  readonly ratio: number
  readonly least: number
  readonly most: number
  readonly rounds: number
}

function cell(ours: Timings, theirs: Timings): Cell {
  const all = ratios(ours, theirs)
  return { ratio: median(all), least: Math.min(...all), most: Math.max(...all), rounds: all.length }
}

function show({ ratio, least, most, rounds }: Cell): string {
  return rounds === 1 ? ratioDigits(ratio) : `${ratioDigits(ratio)} (${ratioDigits(least)}–${ratioDigits(most)})`
}

const isOurs = ({ name }: Peer) => name === 'wengert'
const label = ({ name, threads }: Peer, always: boolean) =>
  always || threads > 1 ? `${name}, ${threads} thread${threads > 1 ? 's' : ''}` : name

/** Peers to compare with a number of our threads: those with as many, and those that have only one. */
function opponents(peers: readonly Peer[], threads: number): readonly Peer[] {
  const several = new Set(peers.filter((peer) => peer.threads > 1).map(({ name }) => name))
  return peers.filter((peer) => !isOurs(peer) && (peer.threads === threads || !several.has(peer.name)))
}

const timingsOf = ({ timings }: Comparison, peer: Peer) => timings.find((entry) => entry.peer === peer)

/** Markdown: medians in microseconds, then for each number of threads the ratios wengert / peer. */
export function tables(comparisons: readonly Comparison[], peers: readonly Peer[]): string {
  const aligned = (rows: string[][]) =>
    markdownTable(rows, { align: rows[0]?.map((_, i) => (i === 0 ? 'l' : 'r')) ?? [] })
  const absolute = comparisons.map((comparison) => [
    comparison.work.title,
    ...peers.map((peer) => {
      const timings = timingsOf(comparison, peer)
      return timings === undefined ? '–' : digits(median(timings.microseconds))
    }),
  ])
  const parts = [`Medians in µs`, aligned([['work', ...peers.map((peer) => label(peer, true))], ...absolute])]
  for (const us of peers.filter(isOurs)) {
    const them = opponents(peers, us.threads)
    const rows = comparisons.map((comparison) => {
      const ours = timingsOf(comparison, us)
      return [
        comparison.work.title,
        ...them.map((peer) => {
          const theirs = timingsOf(comparison, peer)
          return ours === undefined || theirs === undefined ? '–' : show(cell(ours, theirs))
        }),
      ]
    })
    parts.push(
      `${label(us, true)}: time over that of the peer, median (least–most of the rounds); below 1 wengert is faster`,
      aligned([['work', ...them.map((peer) => label(peer, false))], ...rows]),
    )
  }
  return parts.join('\n\n')
}

/** All measurements: microseconds by round, and the ratios of the tables. */
export function record(comparisons: readonly Comparison[], peers: readonly Peer[]): object {
  return {
    date: new Date().toISOString(),
    node: process.version,
    peers: peers.map(({ name, threads, version }) => ({ name, threads, version })),
    works: comparisons.map((comparison) => ({
      id: comparison.work.id,
      title: comparison.work.title,
      absent: comparison.absent.map(({ peer, reason }) => ({ name: peer.name, threads: peer.threads, reason })),
      timings: comparison.timings.map(({ peer, microseconds }) => ({
        name: peer.name,
        threads: peer.threads,
        median: median(microseconds),
        microseconds,
      })),
      ratios: peers.filter(isOurs).flatMap((us) => {
        const ours = timingsOf(comparison, us)
        return opponents(peers, us.threads).flatMap((peer) => {
          const theirs = timingsOf(comparison, peer)
          if (ours === undefined || theirs === undefined) return []
          return [{ threads: us.threads, peer: peer.name, peerThreads: peer.threads, ...cell(ours, theirs) }]
        })
      }),
    })),
  }
}
