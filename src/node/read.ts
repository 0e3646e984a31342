import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { FormatError } from '../core/errors.js'
import type { ByteSource } from '../safetensors/read.js'

/** Calls `use` with the bytes of a file, which are read as they are asked for. */
export function withFile<Result>(op: string, path: string, use: (source: ByteSource) => Result): Result {
  const file = openSync(path, 'r')
  try {
    const read = (begin: number, end: number): Uint8Array<ArrayBuffer> => {
      const bytes = new Uint8Array(end - begin)
      let place = 0
      while (place < bytes.length) {
        const count = readSync(file, bytes, place, Math.min(bytes.length - place, LARGEST_READ), begin + place)
        if (count === 0) throw new FormatError(`${op}: the file became shorter while it was read`)
        place += count
      }
      return bytes
    }
    return use({ length: fstatSync(file).size, read })
  } finally {
    closeSync(file)
  }
}

/** Systems read and write less than 2³¹ bytes at a time. */
const LARGEST_READ = 1 << 30
