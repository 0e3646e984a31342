// PyTorch, in a process of its own for each number of threads.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Contestant, Peer } from './peer.js'
import { LEARNING_RATE } from './works.js'

interface Answer {
  readonly version?: string
  readonly referenceBlas?: boolean
  readonly outputs?: readonly string[]
  readonly milliseconds?: number
}

const encode = (data: Float32Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')

function decode(text: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'))
  return new Float32Array(bytes.buffer)
}

/** Sends a command and returns the answer to it. */
type Ask = (command: object) => Promise<Answer>

function conversation(child: ChildProcessWithoutNullStreams): { ask: Ask; greeting: Promise<Answer> } {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let complaints = ''
  child.stderr.on('data', (text) => {
    complaints += String(text)
  })
  const listen = async (): Promise<Answer> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`the Python process ended: ${complaints}`)
    return JSON.parse(String(value))
  }
  const ask: Ask = (command) => {
    child.stdin.write(`${JSON.stringify(command)}\n`)
    return listen()
  }
  return { ask, greeting: listen() }
}

/** The first of the commands that is a Python with PyTorch. */
export function pythonWithTorch(commands: readonly string[]): string | undefined {
  return commands.find((command) => spawnSync(command, ['-c', 'import torch'], { stdio: 'ignore' }).status === 0)
}

export async function torch(python: string, threads: number): Promise<Peer> {
  const script = fileURLToPath(new URL('pytorch.py', import.meta.url))
  // The libraries below PyTorch have thread counts of their own.
  const names = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'BLIS_NUM_THREADS', 'MKL_NUM_THREADS']
  const limits = Object.fromEntries(names.map((name) => [name, String(threads)]))
  const child = spawn(python, [script, String(threads)], { env: { ...process.env, ...limits } })
  const { ask, greeting } = conversation(child)
  const { version, referenceBlas } = await greeting
  return {
    name: 'PyTorch',
    threads,
    version: `PyTorch ${version}${referenceBlas ? ' on the slow reference BLAS (Debian: install libopenblas0-pthread)' : ''}`,
    async prepare(task, inputs): Promise<Contestant> {
      const encoded = inputs.map(({ shape, data }) => ({ shape, data: encode(data) }))
      await ask({ do: 'prepare', task, inputs: encoded, learningRate: LEARNING_RATE })
      return {
        outputs: async () => (await ask({ do: 'outputs' })).outputs?.map(decode) ?? [],
        time: async (repetitions) => (await ask({ do: 'time', repetitions })).milliseconds ?? Number.NaN,
        close: () => {},
      }
    },
    close: () => {
      child.stdin.end()
    },
  }
}
