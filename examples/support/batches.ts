/** The batches of a loader, pass after pass, without an end. */
export function* endless<Batch>(loader: Iterable<Batch>): Generator<Batch, never> {
  while (true) yield* loader
}
