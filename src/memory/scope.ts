// Who may still hold a storage. A storage made inside a scope is private to the library until a tensor over it is
// handed out; when the scope closes, those that no tape entry, pending cotangent or gradient owns are freed at once.
import type { DType, TypedArray } from '../core/dtype.js'
import { allocate, free } from './arena.js'
import { Storage } from './storage.js'

const scoped: Storage[] = []
let depth = 0

/** A new storage in linear memory: private inside a scope, the user's outside. */
export function newStorage(dtype: DType, length: number): Storage {
  return register(allocate(dtype, length))
}

/** A new storage whose numbers are at home in `numbers`, which nobody else may hold: nothing is copied until used. */
export function adoptStorage(dtype: DType, numbers: TypedArray): Storage {
  const storage = new Storage(dtype, numbers.length)
  storage.home = numbers
  return register(storage)
}

function register(storage: Storage): Storage {
  if (depth === 0) storage.escaped = true
  else {
    storage.scoped = true
    scoped.push(storage)
  }
  return storage
}

/** Opens a scope; `closeScope` takes what this returns. */
export function openScope(): number {
  depth++
  return scoped.length
}

/** Frees what the scope made and nobody owns. `kept`, the scope's result, goes to the enclosing scope or the user. */
export function closeScope(mark: number, kept: Storage | null): void {
  depth--
  // An array that is cut to length 0 gives its memory up, so one is taken at a time.
  while (scoped.length > mark) {
    const storage = scoped.pop() as Storage
    storage.scoped = false
    if (storage !== kept) freeUnowned(storage)
  }
  if (kept !== null) keep(kept)
}

/** Hands a storage to the innermost open scope, or to the user where none is open. */
export function keep(storage: Storage): void {
  if (storage.escaped) return
  if (depth === 0) storage.escaped = true
  else if (!storage.scoped) {
    storage.scoped = true
    scoped.push(storage)
  }
}

/** Runs a function of the user's: whatever it makes is the user's, however deep inside the library it is called. */
export function publicly<Result>(run: () => Result): Result {
  const before = depth
  depth = 0
  try {
    return run()
  } finally {
    depth = before
  }
}

/** One more owner. */
export function own(storage: Storage): void {
  storage.owners++
}

/** One owner less; the last one frees what is private. */
export function disown(storage: Storage): void {
  storage.owners--
  if (!storage.scoped) freeUnowned(storage)
}

function freeUnowned(storage: Storage): void {
  if (storage.owners === 0 && !storage.escaped) free(storage)
}
