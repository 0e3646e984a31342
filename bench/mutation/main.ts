// Mutation test of the gradient check: wrong derivatives must all be caught, right ones never flagged.
// `npm run mutation -- --cases 10000 --seed 1`; fails unless all are caught and there is no false alarm.
import { Command, InvalidArgumentError } from 'commander'
import { table } from 'table'
import { general } from './mistakes/general.js'
import { type FalseAlarm, type MutantResult, runCorrect, runMutants } from './run.js'

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('must be a whole number of at least 0')
  return value
}

const { cases, seed } = new Command('mutation')
  .description('Mutation test of gradcheck: wrong derivatives must be caught, right ones must pass.')
  .option('--cases <count>', 'random cases of right derivatives', wholeNumber, 10_000)
  .option('--seed <number>', 'seed of all random points', wholeNumber, 1)
  .parse()
  .opts<{ cases: number; seed: number }>()

const results = [...runMutants(seed)]
console.log(`mistakes that every operation can have: ${Object.keys(general).join('; ')}`)
console.log(tableOf(results))
console.log(kindsOf(results))
const survivors = results.filter(({ survived }) => survived !== null)
for (const { mutant, caught, points, survived } of survivors) {
  const { subject, operation, kind } = mutant
  console.log(`survived at ${points - caught} of ${points} points: ${subject}, ${operation}: ${kind}\n${survived}\n`)
}

const alarms: FalseAlarm[] = []
let batches = 0
const start = performance.now()
for (const found of runCorrect(cases, seed)) {
  alarms.push(...found)
  if (++batches % 10 === 0) console.error(`${batches} batches, ${alarms.length} false alarms`)
}
for (const { subject, inputs, report } of alarms) console.log(`false alarm: ${subject} at ${inputs}\n${report}\n`)

const caught = results.length - survivors.length
const operations = new Set(results.map(({ mutant }) => mutant.operation)).size
const score = ((100 * caught) / results.length).toFixed(caught === results.length ? 0 : 2)
const seconds = ((performance.now() - start) / 1000).toFixed(0)
console.log(`mutants caught: ${caught} of ${results.length}, in ${operations} operations; mutation score ${score} %`)
console.log(`false alarms: ${alarms.length} in ${cases} random cases of right derivatives (${seconds} s, seed ${seed})`)
process.exitCode = survivors.length === 0 && alarms.length === 0 ? 0 : 1

/** A row for each mistake that several operations make. */
function kindsOf(all: readonly MutantResult[]): string {
  const kinds = [...new Set(all.map(({ mutant }) => mutant.kind))]
  const rows = kinds.flatMap((kind) => {
    const list = all.filter(({ mutant }) => mutant.kind === kind)
    const operations = new Set(list.map(({ mutant }) => mutant.operation)).size
    const found = list.filter(({ survived }) => survived === null).length
    return operations < 2 ? [] : [[kind, String(operations), String(list.length), String(found)]]
  })
  return table([['mistake', 'operations', 'mutants', 'caught'], ...rows], {
    columns: { 1: { alignment: 'right' }, 2: { alignment: 'right' }, 3: { alignment: 'right' } },
    drawHorizontalLine: (line, count) => line <= 1 || line === count,
  })
}

/** A row for each operation; mistakes that every operation can have are counted only. */
function tableOf(all: readonly MutantResult[]): string {
  const byOperation = new Map<string, MutantResult[]>()
  for (const result of all) {
    const { operation } = result.mutant
    byOperation.set(operation, [...(byOperation.get(operation) ?? []), result])
  }
  const rows = [...byOperation].map(([operation, list]) => [
    operation,
    String(list.length),
    String(list.filter(({ survived }) => survived === null).length),
    [...new Set(list.map(({ mutant }) => mutant.kind))].filter((kind) => !(kind in general)).join('; '),
  ])
  return table([['operation', 'mutants', 'caught', 'mistakes of its own'], ...rows], {
    columns: { 1: { alignment: 'right' }, 2: { alignment: 'right' }, 3: { width: 76, wrapWord: true } },
    drawHorizontalLine: (line, count) => line <= 1 || line === count,
  })
}
