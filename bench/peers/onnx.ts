// onnxruntime, which computes forward only. Its models are written here, node by node.
import { create, toBinary } from '@bufbuild/protobuf'
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProto_DataType,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { type Contestant, type Peer, timeOfAsync, versionOf } from './peer.js'
import type { Attention, Input, Task } from './works.js'

const OPSET = 20n // the first with Gelu
const IR_VERSION = 9n

type Attributes = Readonly<Record<string, number | readonly number[]>>

function attribute([name, value]: [string, number | readonly number[]]) {
  const { INT, INTS } = AttributeProto_AttributeType
  return typeof value === 'number'
    ? create(AttributeProtoSchema, { name, type: INT, i: BigInt(value) })
    : create(AttributeProtoSchema, { name, type: INTS, ints: value.map(BigInt) })
}

function node(opType: string, input: string[], output: string, attributes: Attributes = {}) {
  return create(NodeProtoSchema, {
    opType,
    input,
    output: [output],
    attribute: Object.entries(attributes).map(attribute),
  })
}

const bytes = (data: Float32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>) =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength)

function floats(name: string, dims: readonly number[], data: Float32Array<ArrayBuffer>) {
  const dataType = TensorProto_DataType.FLOAT
  return create(TensorProtoSchema, { name, dims: dims.map(BigInt), dataType, rawData: bytes(data) })
}

function shape(name: string, sizes: readonly number[]) {
  const [dataType, rawData] = [TensorProto_DataType.INT64, bytes(BigInt64Array.from(sizes, BigInt))]
  return create(TensorProtoSchema, { name, dims: [BigInt(sizes.length)], dataType, rawData })
}

function variable(name: string, sizes: readonly number[]) {
  const dim = sizes.map((size) =>
    create(TensorShapeProto_DimensionSchema, { value: { case: 'dimValue', value: BigInt(size) } }),
  )
  const type = create(TypeProto_TensorSchema, {
    elemType: TensorProto_DataType.FLOAT,
    shape: create(TensorShapeProtoSchema, { dim }),
  })
  return create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, { value: { case: 'tensorType', value: type } }),
  })
}

type Node = ReturnType<typeof node>
type Constant = ReturnType<typeof floats>

/** A model with the inputs a, b, … and the output y. */
function model(inputs: readonly Input[], output: readonly number[], nodes: Node[], constants: Constant[] = []) {
  const graph = create(GraphProtoSchema, {
    name: 'graph',
    node: nodes,
    initializer: constants,
    input: inputs.map((input, i) => variable('ab'.charAt(i), input.shape)),
    output: [variable('y', output)],
  })
  const opsetImport = [create(OperatorSetIdProtoSchema, { domain: '', version: OPSET })]
  return toBinary(ModelProtoSchema, create(ModelProtoSchema, { irVersion: IR_VERSION, opsetImport, graph }))
}

function attention({ rows, embedDim, heads }: Attention, inputs: readonly Input[]) {
  const [x, ...weights] = inputs as [Input, ...Input[]]
  const width = embedDim / heads
  const constants = [
    ...weights.map((weight, i) => floats(`W${'QKVO'.charAt(i)}`, weight.shape, weight.data)),
    shape('split', [rows, heads, width]),
    shape('joined', [rows, embedDim]),
    floats('scale', [], Float32Array.of(width ** -0.5)),
  ]
  const project = (weight: string, out: string, perm: number[]) => [
    node('Gemm', ['a', weight], `${out}Flat`, { transB: 1 }),
    node('Reshape', [`${out}Flat`, 'split'], `${out}Split`),
    node('Transpose', [`${out}Split`], out, { perm }),
  ]
  const nodes = [
    ...project('WQ', 'q', [1, 0, 2]),
    ...project('WK', 'k', [1, 2, 0]),
    ...project('WV', 'v', [1, 0, 2]),
    node('MatMul', ['q', 'k'], 'scores'),
    node('Mul', ['scores', 'scale'], 'scaled'),
    node('Softmax', ['scaled'], 'weights', { axis: -1 }),
    node('MatMul', ['weights', 'v'], 'mixed'),
    node('Transpose', ['mixed'], 'mixedByRow', { perm: [1, 0, 2] }),
    node('Reshape', ['mixedByRow', 'joined'], 'concatenated'),
    node('Gemm', ['concatenated', 'WO'], 'y', { transB: 1 }),
  ]
  return model([x], x.shape, nodes, constants)
}

/** The model of a task and the inputs that are fed to it; null where there is no forward to compute. */
function modelOf(task: Task, inputs: readonly Input[]): { model: Uint8Array; feeds: readonly Input[] } | null {
  const output = inputs[0]?.shape ?? []
  const simple = (nodes: Node[]) => ({ model: model(inputs, output, nodes), feeds: inputs })
  switch (task.kind) {
    case 'attention':
      return task.backward ? null : { model: attention(task, inputs), feeds: inputs.slice(0, 1) }
    case 'xor':
      return null
    case 'matmul':
      return simple([node('MatMul', ['a', 'b'], 'y')])
    case 'softmax':
      return simple([node('Softmax', ['a'], 'y', { axis: -1 })])
    case 'add':
      return simple([node('Add', ['a', 'b'], 'y')])
    case 'exp':
      return simple([node('Exp', ['a'], 'y')])
    case 'gelu':
      return simple([node('Gelu', ['a'], 'y')])
  }
}

export function onnx(threads: number): Peer {
  return {
    name: 'onnxruntime',
    threads,
    version: versionOf('onnxruntime-node'),
    async prepare(task, inputs): Promise<Contestant | null> {
      const built = modelOf(task, inputs)
      if (built === null) return null
      const session = await InferenceSession.create(built.model, { intraOpNumThreads: threads, interOpNumThreads: 1 })
      const feeds = Object.fromEntries(
        built.feeds.map(({ data, shape }, i) => ['ab'.charAt(i), new Tensor('float32', data, shape)]),
      )
      return {
        async outputs() {
          const { y } = await session.run(feeds)
          return [y?.data as Float32Array]
        },
        time: (repetitions) =>
          timeOfAsync(repetitions, async () => {
            await session.run(feeds)
          }),
        close: () => void session.release(),
      }
    },
    close: () => {},
  }
}
