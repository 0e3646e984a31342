// wengert, in a process of its own for each number of threads.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }
import type { Contestant, Peer } from './peer.js'
import type { Answer, Command } from './wengert-process.js'

export function wengertWith(threads: number): Peer {
  const script = fileURLToPath(new URL('wengert-process.ts', import.meta.url))
  const child = fork(script, [String(threads)], { serialization: 'advanced' })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`wengert's process ended with code ${code}`)
  })
  ended.catch(() => {})
  async function ask(command: Command): Promise<Answer> {
    const answer = once(child, 'message')
    child.send(command)
    const [value] = await Promise.race([answer, ended])
    return value as Answer
  }
  return {
    name: 'wengert',
    threads,
    version: `${packageJson.name} ${packageJson.version}`,
    async prepare(task, inputs): Promise<Contestant> {
      await ask({ do: 'prepare', task, inputs })
      return {
        outputs: async () => (await ask({ do: 'outputs' })).outputs ?? [],
        time: async (repetitions) => (await ask({ do: 'time', repetitions })).milliseconds ?? Number.NaN,
        close: () => {},
      }
    },
    close: () => {
      child.disconnect()
    },
  }
}
