// wengert, in the process that is forked for a number of threads.
import { mseLoss, noGrad, setThreads, type Tensor, tensor } from '../../dist/index.js'
import { MultiHeadAttention } from '../../dist/nn.js'
import { SGD } from '../../dist/optim.js'
import { timeOf } from './peer.js'
import { type Attention, type Input, LEARNING_RATE, type Task } from './works.js'

export type Command =
  | { readonly do: 'prepare'; readonly task: Task; readonly inputs: readonly Input[] }
  | { readonly do: 'outputs' }
  | { readonly do: 'time'; readonly repetitions: number }

export type Answer = { readonly outputs?: readonly Float32Array[]; readonly milliseconds?: number }

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
  const optimizer = new SGD(parameters, { lr: LEARNING_RATE })
  const run = () => {
    const [w1, b1, w2, b2] = parameters
    mseLoss(x.matmul(w1).add(b1).tanh().matmul(w2).add(b2), target).backward()
    optimizer.step()
    optimizer.zeroGrad()
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

function answer(value: Answer): void {
  process.send?.(value)
}

let program: Program = { run: () => {}, outputs: () => [] }
setThreads(Number(process.argv[2]))
process.on('message', (command: Command) => {
  if (command.do === 'prepare') {
    program = programOf(command.task, command.inputs)
    answer({})
  } else if (command.do === 'outputs') answer({ outputs: program.outputs() })
  else answer({ milliseconds: timeOf(command.repetitions, program.run) })
})
