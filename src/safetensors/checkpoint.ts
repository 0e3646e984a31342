import { ArgumentError, FormatError, showValue } from '../core/errors.js'
import { type CheckpointValue, decode, encode } from './encode.js'
import { isPlainObject } from './plain.js'
import { type ByteSource, bytesOf, readSafetensors } from './read.js'
import { showName } from './scanner.js'
import { join, type Pieces, writeSafetensors } from './write.js'

/** What tells a checkpoint from other safetensors files, and in which metadata its plain values are. */
const FORMAT = 'wengert-checkpoint'
const VERSION = '1'

/**
 * Writes the state of a training run as bytes: parameters, optimiser, schedule, random generator, counters, and
 * whatever else it needs to go on as if it had never stopped.
 *
 *     serializeCheckpoint({ step, model: model.stateDict(), optimizer: optimizer.stateDict() })
 *
 * The state is a plain object of tensors, numbers, strings, booleans, null, and arrays and plain objects of these;
 * fields that are undefined are left out. All numbers come back with the same bits, NaN, ±∞ and −0 among them; tensors
 * without gradients; one that stands in several places as one.
 *
 * The bytes are a safetensors file. Its tensors are called after their places in the state (`model.WQ`), so that other
 * programs read them too; the plain values are JSON in its metadata.
 *
 * @throws ArgumentError where the state holds anything else (a class instance, a function, itself …); it says where
 */
export function serializeCheckpoint(state: object): Uint8Array<ArrayBuffer> {
  return join(writeCheckpoint('serializeCheckpoint', state))
}

/**
 * The state that `serializeCheckpoint` or `saveCheckpoint` wrote. What its fields are is the caller's word (`State`):
 * only that the bytes are a checkpoint is checked here, and names and shapes by each `loadStateDict`.
 *
 *     const saved = parseCheckpoint<{ step: number; model: StateDict }>(bytes)
 *     model.loadStateDict(saved.model)
 *
 * @param bytes an ArrayBuffer, or a view of one
 * @throws FormatError where the bytes are no checkpoint, with all the checks of `parseSafetensors`
 */
export function parseCheckpoint<State extends object = Record<string, CheckpointValue>>(
  bytes: ArrayBuffer | ArrayBufferView,
): State {
  return readCheckpoint('parseCheckpoint', bytesOf('parseCheckpoint', bytes))
}

/** A checkpoint as the pieces of its file. */
export function writeCheckpoint(op: string, state: object): Pieces {
  if (!isPlainObject(state)) {
    throw new ArgumentError(
      `${op}: the state must be a plain object, for example { step, model: model.stateDict() }, got ${showValue(state)}`,
    )
  }
  const { json, tensors } = encode(op, state)
  return writeSafetensors(op, tensors, { format: FORMAT, version: VERSION, state: JSON.stringify(json) })
}

/** Reads a checkpoint. */
export function readCheckpoint<State extends object>(op: string, source: ByteSource): State {
  const { tensors, metadata } = readSafetensors(op, source)
  const { format, version, state } = metadata
  if (format !== FORMAT || state === undefined) {
    throw new FormatError(`${op}: this safetensors file is no checkpoint; read its tensors with parseSafetensors`)
  }
  if (version !== VERSION) {
    throw new FormatError(`${op}: the checkpoint has version ${showName(showValue(version))}; ${VERSION} can be read`)
  }
  const result = decode(op, parseJson(op, state), tensors)
  if (!isPlainObject(result)) throw new FormatError(`${op}: the state in the metadata is no object`)
  return result as State
}

function parseJson(op: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FormatError(`${op}: the state in the metadata is no valid JSON`)
  }
}
