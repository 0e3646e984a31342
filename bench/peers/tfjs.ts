// TensorFlow.js with its backends `wasm` and `cpu`. Both have computed when an operation returns.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as tf from '@tensorflow/tfjs'
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm'
import { type Contestant, type Peer, timeOf, versionOf } from './peer.js'
import { type Attention, type Input, LEARNING_RATE, type Task } from './works.js'

const wasm = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm/package.json')
setWasmPaths(join(dirname(wasm), 'dist/'))

const load = ({ shape, data }: Input) => tf.tensor(data, shape)
const values = (x: tf.Tensor | undefined) => x?.dataSync() as Float32Array

function attention({ rows, embedDim, heads }: Attention, x: tf.Tensor) {
  const width = embedDim / heads
  const project = (weight: tf.Tensor) =>
    tf.transpose(tf.reshape(tf.matMul(x, weight, false, true), [rows, heads, width]), [1, 0, 2])
  return (WQ: tf.Tensor, WK: tf.Tensor, WV: tf.Tensor, WO: tf.Tensor): tf.Tensor => {
    const scores = tf.mul(tf.matMul(project(WQ), project(WK), false, true), width ** -0.5)
    const heads = tf.matMul(tf.softmax(scores), project(WV))
    return tf.matMul(tf.reshape(tf.transpose(heads, [1, 0, 2]), [rows, embedDim]), WO, false, true)
  }
}

interface Program {
  /** The results, which the caller disposes of. */
  compute(): tf.Tensor[]
}

function xor(inputs: readonly Input[]): Program {
  const [x, target] = inputs.slice(0, 2).map(load) as [tf.Tensor, tf.Tensor]
  const parameters = inputs.slice(2).map((input) => tf.variable(load(input)))
  const [w1, b1, w2, b2] = parameters as [tf.Variable, tf.Variable, tf.Variable, tf.Variable]
  const optimizer = tf.train.sgd(LEARNING_RATE)
  const loss = () => {
    const y = tf.add(tf.matMul(tf.tanh(tf.add(tf.matMul(x, w1), b1)), w2), b2)
    return tf.mean(tf.squaredDifference(y, target)) as tf.Scalar
  }
  return {
    compute() {
      optimizer.minimize(loss)
      return parameters.map((parameter) => tf.clone(parameter))
    },
  }
}

function programOf(task: Task, inputs: readonly Input[]): Program {
  if (task.kind === 'xor') return xor(inputs)
  const tensors = inputs.map(load)
  const [a, b, ...rest] = tensors as [tf.Tensor, tf.Tensor, ...tf.Tensor[]]
  const expression = (compute: () => tf.Tensor): Program => ({ compute: () => [tf.tidy(compute)] })
  switch (task.kind) {
    case 'attention': {
      const forward = attention(task, a) as (...weights: tf.Tensor[]) => tf.Tensor
      const weights = [b, ...rest]
      if (!task.backward) return expression(() => forward(...weights))
      const gradient = tf.valueAndGrads((...inner: tf.Tensor[]) => tf.mean(tf.square(forward(...inner))))
      return {
        compute: () =>
          tf.tidy(() => {
            const { value, grads } = gradient(weights)
            return [value, ...grads]
          }),
      }
    }
    case 'matmul':
      return expression(() => tf.matMul(a, b))
    case 'softmax':
      return expression(() => tf.softmax(a))
    case 'add':
      return expression(() => tf.add(a, b))
    case 'exp':
      return expression(() => tf.exp(a))
    case 'gelu':
      // x (1 + erf(x / √2)) / 2
      return expression(() => tf.mul(tf.mul(a, 0.5), tf.add(tf.erf(tf.mul(a, Math.SQRT1_2)), 1)))
  }
}

/** Whether the backend has what the task needs. */
function isSupported(task: Task, backend: string): boolean {
  return task.kind !== 'gelu' || tf.getKernel('Erf', backend) !== undefined
}

export async function tfjs(backend: 'wasm' | 'cpu'): Promise<Peer> {
  tf.env().set('IS_TEST', true) // no advertisement of tfjs-node
  await tf.setBackend(backend)
  await tf.ready()
  return {
    name: `tfjs ${backend}`,
    threads: 1,
    version: versionOf('@tensorflow/tfjs'),
    async prepare(task, inputs): Promise<Contestant | null> {
      if (!isSupported(task, backend)) return null
      await tf.setBackend(backend)
      tf.engine().startScope()
      const program = programOf(task, inputs)
      return {
        async outputs() {
          await tf.setBackend(backend)
          const results = program.compute()
          const outputs = results.map(values)
          tf.dispose(results)
          return outputs
        },
        async time(repetitions) {
          await tf.setBackend(backend)
          return timeOf(repetitions, () => {
            tf.dispose(program.compute())
          })
        },
        close() {
          tf.engine().endScope()
          tf.disposeVariables()
        },
      }
    },
    close: () => {},
  }
}
