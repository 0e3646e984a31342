/** A built-in module of Node; null elsewhere, and before Node 20.16. Bundlers see no import that they would resolve. */
export function builtin<Id extends 'node:os' | 'node:worker_threads'>(id: Id) {
  if (typeof process !== 'object' || typeof process.getBuiltinModule !== 'function') return null
  return process.getBuiltinModule(id) ?? null
}
