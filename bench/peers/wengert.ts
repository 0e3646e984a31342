import * as wengert from '../../dist/index.js'
import { MultiHeadAttention } from '../../dist/nn.js'
import packageJson from '../../package.json' with { type: 'json' }
import { type Contestant, type Peer, timeOf } from './peer.js'
import { type Attention, type Input, LEARNING_RATE, type Task } from './works.js'

const { mseLoss, noGrad, setThreads, tensor } = wengert
type Tensor = wengert.Tensor

const load = ({ shape, data }: Input, requiresGrad = false) => tensor(data, { shape, requiresGrad })
const values = (x: Tensor | null) => x?.data as Float32Array

/** What to run, and what it computes when it is run for the first time. */
interface Program {
  run(): void
  outputs(): readonly Float32Array[]
}

function expression(compute: () => Tensor): Program {
  return { run: compute, outputs: () => [values(compute())] }
}

function attention({ embedDim, heads, backward }: Attention, inputs: readonly Tensor[]): Program {
  const [x, WQ, WK, WV, WO] = inputs as [Tensor, Tensor, Tensor, Tensor, Tensor]
  const layer = new MultiHeadAttention({ embedDim, numHeads: heads })
  layer.loadStateDict({ WQ, WK, WV, WO })
  if (!backward) return expression(() => noGrad(() => layer.forward(x)))
  const step = () => {
    layer.zeroGrad()
    const loss = layer.forward(x).square().mean()
    loss.backward()
    return loss
  }
  return { run: step, outputs: () => [values(step()), ...layer.parameters().map(({ grad }) => values(grad))] }
}

function xor(inputs: readonly Input[]): Program {
  const [x, target] = inputs.slice(0, 2).map((input) => load(input)) as [Tensor, Tensor]
  const parameters = inputs.slice(2).map((input) => load(input, true)) as [Tensor, Tensor, Tensor, Tensor]
  const run = () => {
    const [w1, b1, w2, b2] = parameters
    mseLoss(x.matmul(w1).add(b1).tanh().matmul(w2).add(b2), target).backward()
    noGrad(() => {
      for (const parameter of parameters) {
        parameter.copy_(parameter.sub((parameter.grad as Tensor).scale(LEARNING_RATE)))
        parameter.grad = null
      }
    })
  }
  const outputs = () => {
    run()
    return parameters.map(values)
  }
  return { run, outputs }
}

function programOf(task: Task, inputs: readonly Input[]): Program {
  if (task.kind === 'xor') return xor(inputs)
  const tensors = inputs.map((input) => load(input))
  const [a, b] = tensors as [Tensor, Tensor]
  switch (task.kind) {
    case 'attention':
      return attention(task, tensors)
    case 'matmul':
      return expression(() => a.matmul(b))
    case 'softmax':
      return expression(() => a.softmax())
    case 'add':
      return expression(() => a.add(b))
    case 'exp':
      return expression(() => a.exp())
    case 'gelu':
      return expression(() => a.gelu())
  }
}

export function wengertWith(threads: number): Peer {
  /** Runs something with this number of threads, started and awake. */
  function threaded<Result>(program: Program, action: () => Result): Result {
    setThreads(threads)
    program.run()
    return action()
  }
  return {
    name: 'wengert',
    threads,
    version: `${packageJson.name} ${packageJson.version}`,
    async prepare(task, inputs): Promise<Contestant> {
      const program = programOf(task, inputs)
      return {
        async outputs() {
          setThreads(threads)
          return program.outputs()
        },
        time: async (repetitions) => threaded(program, () => timeOf(repetitions, program.run)),
        close: () => {},
      }
    },
    close: () => {
      setThreads(1)
    },
  }
}
