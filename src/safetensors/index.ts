// The public names of `wengert/safetensors`, nothing else.
import '../methods.js'

export { parseCheckpoint, serializeCheckpoint } from './checkpoint.js'
export type { CheckpointValue } from './encode.js'
export { parseSafetensors, type Safetensors } from './read.js'
export { serializeSafetensors } from './write.js'
