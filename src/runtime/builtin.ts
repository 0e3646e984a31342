interface BuiltIns {
  'node:os': typeof import('node:os')
  'node:worker_threads': typeof import('node:worker_threads')
}

/** A built-in module of Node; null elsewhere, and before Node 20.16. Bundlers see no import that they would resolve. */
export function builtin<Id extends keyof BuiltIns>(id: Id): BuiltIns[Id] | null {
  if (typeof process !== 'object' || typeof process.getBuiltinModule !== 'function') return null
  return (process.getBuiltinModule(id) as BuiltIns[Id] | undefined) ?? null
}
