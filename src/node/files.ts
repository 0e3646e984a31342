import { fileURLToPath } from 'node:url'
import { ArgumentError, showValue } from '../core/errors.js'
import type { Tensor } from '../core/tensor.js'
import { readCheckpoint, writeCheckpoint } from '../safetensors/checkpoint.js'
import type { CheckpointValue } from '../safetensors/encode.js'
import { readSafetensors, type Safetensors } from '../safetensors/read.js'
import { writeSafetensors } from '../safetensors/write.js'
import { withFile } from './read.js'
import { writeWhole } from './write.js'

// Whatever goes wrong with the file itself (there is none, the disk is full) is Node's error with its code.

/**
 * Reads a safetensors file, tensor by tensor, so that files larger than any one array can be read.
 *
 * @param path a path, or a `file:` URL
 * @throws FormatError, DTypeError as `parseSafetensors` does; a system error where the file cannot be read
 */
export function loadSafetensors(path: string | URL): Safetensors {
  const file = pathOf('loadSafetensors', path)
  const op = `loadSafetensors ${file}`
  return withFile(op, file, (source) => readSafetensors(op, source))
}

/**
 * Writes tensors as a safetensors file. At any moment there is either the previous file or the new one, whole, whenever
 * the process is killed.
 *
 * @param path a path, or a `file:` URL
 * @throws ArgumentError as `serializeSafetensors` does; a system error where the file cannot be written
 */
export function saveSafetensors(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const file = pathOf('saveSafetensors', path)
  writeWhole(file, writeSafetensors('saveSafetensors', tensors, metadata))
}

/**
 * Reads the checkpoint that `saveCheckpoint` wrote. What its fields are is the caller's word, as for `parseCheckpoint`.
 *
 * @param path a path, or a `file:` URL
 * @throws FormatError, DTypeError as `parseCheckpoint` does; a system error where the file cannot be read
 */
export function loadCheckpoint<State extends object = Record<string, CheckpointValue>>(path: string | URL): State {
  const file = pathOf('loadCheckpoint', path)
  const op = `loadCheckpoint ${file}`
  return withFile(op, file, (source) => readCheckpoint<State>(op, source))
}

/**
 * Writes the state of a training run, as `serializeCheckpoint` describes it, to one file. At any moment there is either
 * the previous checkpoint or the new one, whole: the bytes go to a file `….partial` in the same folder, which takes the
 * name when they have reached the disk. What killed processes leave of such files is removed by the next call.
 *
 *     saveCheckpoint('run.safetensors', { step, model: model.stateDict(), optimizer: optimizer.stateDict() })
 *
 * @param path a path, or a `file:` URL
 * @throws ArgumentError as `serializeCheckpoint` does; a system error where the file cannot be written. The previous
 *   checkpoint stays
 */
export function saveCheckpoint(path: string | URL, state: object): void {
  const file = pathOf('saveCheckpoint', path)
  writeWhole(file, writeCheckpoint('saveCheckpoint', state))
}

function pathOf(op: string, path: unknown): string {
  if (path instanceof URL && path.protocol === 'file:') return fileURLToPath(path)
  if (typeof path === 'string' && path !== '') return path
  throw new ArgumentError(`${op}: the path must be a string or a file: URL, got ${showValue(path)}`)
}
