// jax-js with its WebAssembly backend. Its functions consume their arguments: `ref` keeps them.
import { blockUntilReady, defaultDevice, init, jit, nn, numpy as np, tree, valueAndGrad } from '@jax-js/jax'
import { type Contestant, type Peer, timeOfAsync, versionOf } from './peer.js'
import { type Attention, type Input, LEARNING_RATE, type Task } from './works.js'

type Values = np.Array

const load = ({ shape, data }: Input) => np.array(data, { shape })

function attention({ rows, embedDim, heads }: Attention) {
  const width = embedDim / heads
  const split = (x: Values) => x.reshape([rows, heads, width]).transpose([1, 0, 2])
  return (WQ: Values, WK: Values, WV: Values, WO: Values, x: Values): Values => {
    const q = split(np.matmul(x.ref, WQ.transpose()))
    const k = split(np.matmul(x.ref, WK.transpose()))
    const v = split(np.matmul(x, WV.transpose()))
    const weights = nn.softmax(np.matmul(q, k.transpose([0, 2, 1])).mul(width ** -0.5), -1)
    const joined = np.matmul(weights, v).transpose([1, 0, 2]).reshape([rows, embedDim])
    return np.matmul(joined, WO.transpose())
  }
}

const xorLoss = (w1: Values, b1: Values, w2: Values, b2: Values, x: Values, target: Values): Values => {
  const y = np.matmul(np.tanh(np.matmul(x, w1).add(b1)), w2).add(b2)
  return np.mean(np.square(y.sub(target)))
}

/** A step of descent: the parameters behind it. */
function xorStep(...values: Values[]): Values[] {
  const [w1, b1, w2, b2, x, target] = values as [Values, Values, Values, Values, Values, Values]
  const parameters = [w1, b1, w2, b2]
  const [loss, gradients] = valueAndGrad(xorLoss, { argnums: [0, 1, 2, 3] })(w1.ref, b1.ref, w2.ref, b2.ref, x, target)
  loss.dispose()
  return parameters.map((parameter, i) => parameter.sub((gradients[i] as Values).mul(LEARNING_RATE)))
}

/** The task as a function of its inputs; attention takes its weights first. */
function functionOf(task: Task): (...inputs: Values[]) => Values[] {
  switch (task.kind) {
    case 'attention': {
      const forward = attention(task) as (...inputs: Values[]) => Values
      if (!task.backward) return (...inputs) => [forward(...inputs)]
      const loss = (...inputs: Values[]) => np.mean(np.square(forward(...inputs)))
      const gradient = valueAndGrad(loss, { argnums: [0, 1, 2, 3] })
      return (...inputs) => {
        const [value, gradients] = gradient(...inputs)
        return [value, ...(gradients as Values[])]
      }
    }
    case 'xor':
      return xorStep
    case 'matmul':
      return (a, b) => [np.matmul(a as Values, b as Values)]
    case 'softmax':
      return (x) => [nn.softmax(x as Values, -1)]
    case 'add':
      return (a, b) => [np.add(a as Values, b as Values)]
    case 'exp':
      return (x) => [np.exp(x as Values)]
    case 'gelu':
      return (x) => [nn.gelu(x as Values, { approximate: false })]
  }
}

/** The contestant for a task whose results are inputs of its next repetition (of the XOR step) or are dropped. */
function contestant(task: Task, loaded: readonly Values[], compute: (...inputs: Values[]) => Values[]): Contestant {
  let inputs = loaded
  const keeps = task.kind === 'xor'
  async function run(): Promise<Values[]> {
    const results = compute(...(keeps ? inputs.map((x, i) => (i < 4 ? x : x.ref)) : inputs.map((x) => x.ref)))
    await blockUntilReady(results)
    if (keeps) inputs = [...results, ...inputs.slice(4)]
    return results
  }
  return {
    async outputs() {
      const results = await run()
      return Promise.all(results.map(async (result) => (await (keeps ? result.ref : result).data()) as Float32Array))
    },
    time: (repetitions) =>
      timeOfAsync(repetitions, async () => {
        const results = await run()
        if (!keeps) tree.dispose(results)
      }),
    close: () => tree.dispose([...inputs]),
  }
}

export async function jax(compiled: boolean): Promise<Peer> {
  await init('wasm')
  defaultDevice('wasm')
  return {
    name: compiled ? 'jax-js, jit' : 'jax-js, eager',
    threads: 1,
    version: versionOf('@jax-js/jax'),
    async prepare(task, inputs) {
      const loaded = inputs.map(load)
      // The differentiated ones come first.
      const first = task.kind === 'attention' ? 1 : task.kind === 'xor' ? 2 : 0
      const ordered = [...loaded.slice(first), ...loaded.slice(0, first)]
      const compute = functionOf(task)
      return contestant(task, ordered, compiled ? jit(compute) : compute)
    },
    close: () => {},
  }
}
