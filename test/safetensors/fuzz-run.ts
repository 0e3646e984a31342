// npm run fuzz -- --count 100000 --seed 1
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'

const { values } = parseArgs({ options: { count: { type: 'string', default: '100000' }, seed: { type: 'string' } } })
const count = Number(values.count)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
console.log(`${count} damaged files, seed ${seed}`)
const start = performance.now()
const { read, refused } = fuzz(count, seed)
const total = [...refused.values()].reduce((sum, times) => sum + times, 0)
for (const [kind, times] of [...refused].sort(([, a], [, b]) => b - a).slice(0, 30)) console.log(`${times}\t${kind}`)
console.log(
  `${total} refused with an error of the library's (the most frequent above), ${read} read, the same each time; ` +
    `${((performance.now() - start) / 1000).toFixed(0)} s, ${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MB resident`,
)
