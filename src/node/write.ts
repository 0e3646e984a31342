import { closeSync, fsyncSync, openSync, readdirSync, realpathSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { Pieces } from '../safetensors/write.js'

/**
 * Writes a file so that at any moment there is either the previous file or the new one, whole: the bytes go to a new
 * file in the same folder, and only when they have reached the disk does it take the name, in one step.
 */
export function writeWhole(path: string, { pieces }: Pieces): void {
  const target = followLinks(path)
  removeLeftovers(target)
  const partial = join(dirname(target), `${basename(target)}.${process.pid}-${threadId}.partial`)
  const file = openSync(partial, 'wx')
  try {
    try {
      for (const piece of pieces) writeAll(file, piece)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(partial, target)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
  syncFolder(dirname(target))
}

/** A link stays a link: what it leads to is replaced. */
function followLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Removes what processes left behind that were killed while they wrote this file. */
function removeLeftovers(target: string): void {
  const start = `${basename(target)}.`
  for (const name of readdirSync(dirname(target))) {
    if (!name.startsWith(start)) continue
    const [, pid, thread] = /^(\d+)-(\d+)\.partial$/.exec(name.slice(start.length)) ?? []
    if (pid === undefined) continue
    // This thread writes one file at a time, so a file of its own name is from an earlier process of that number.
    const own = Number(pid) === process.pid && Number(thread) === threadId
    if (own || !isRunning(Number(pid))) rmSync(join(dirname(target), name), { force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    // Signal 0 only asks.
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** Systems write less than 2³¹ bytes at a time. */
const LARGEST_WRITE = 1 << 30

function writeAll(file: number, bytes: Uint8Array): void {
  let place = 0
  while (place < bytes.length) place += writeSync(file, bytes, place, Math.min(bytes.length - place, LARGEST_WRITE))
}

/** The new name reaches the disk with its folder. Windows knows no such thing. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
