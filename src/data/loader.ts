import { ArgumentError, showValue } from '../core/errors.js'
import { checkFlag, checkOptions } from '../core/options.js'
import { checkInteger } from '../core/shape.js'
import { permutation } from './shuffle.js'

/** Options of `DataLoader` and `AsyncDataLoader`. */
export interface DataLoaderOptions {
  /** How many items a batch has; default 1. */
  readonly batchSize?: number
  /**
   * Whether each pass has the items in another random order; default false. What is not an array is read to its end
   * first.
   */
  readonly shuffle?: boolean
  /**
   * Determines the orders; a whole number of at least 0, by default a random one. It has nothing to do with `manualSeed`.
   */
  readonly seed?: number
  /** Whether the last batch is left out where it is not full; default false. */
  readonly dropLast?: boolean
}

/** Options with a function that makes a batch. */
export interface CollateOptions<Item, Batch> extends DataLoaderOptions {
  /** Makes a batch of its items; by default, the array of them. */
  readonly collate: (items: Item[]) => Batch
}

/** Where a loader stands, for a checkpoint. */
export interface DataLoaderState {
  readonly seed: number
  /** The pass under way, or the next one, counted from 0. */
  readonly pass: number
  /** How many of its batches have been handed out. */
  readonly batch: number
}

type Settings<Item, Batch> = Required<Omit<DataLoaderOptions, 'seed'>> & { readonly collate: (items: Item[]) => Batch }

/** What both loaders share: options, and where the passes stand. */
abstract class Loader<Item, Batch> {
  protected readonly settings: Settings<Item, Batch>
  #seed: number
  #pass = 0
  #batch = 0
  /** Whether the next pass is the one that #pass says, from #batch on. */
  #atStart = true

  constructor(op: string, options: DataLoaderOptions & Partial<CollateOptions<Item, Batch>>) {
    checkOptions(op, options, ['batchSize', 'shuffle', 'seed', 'dropLast', 'collate'])
    const { batchSize = 1, shuffle = false, seed = Math.floor(Math.random() * 2 ** 53), dropLast = false } = options
    checkInteger(op, 'batchSize', batchSize, 1)
    checkFlag(op, 'shuffle', shuffle)
    checkInteger(op, 'seed', seed, 0)
    checkFlag(op, 'dropLast', dropLast)
    // Without a function, Batch is Item[].
    const { collate = (items: Item[]) => items as Batch } = options
    if (typeof collate !== 'function') {
      throw new ArgumentError(`${op}: collate must be a function of a batch's items, got ${typeof collate}`)
    }
    this.settings = { batchSize, shuffle, dropLast, collate }
    this.#seed = seed
  }

  /** Determines the orders of the items. */
  get seed(): number {
    return this.#seed
  }

  /** Where the loader stands. Taken within a loop, it leads to the batch after the present one. */
  stateDict(): DataLoaderState {
    return { seed: this.#seed, pass: this.#pass, batch: this.#batch }
  }

  /**
   * Makes the next loop go on where the state was taken, over the same items in the same orders.
   *
   * @throws ArgumentError unless it is what `stateDict` returned
   */
  loadStateDict(state: DataLoaderState): void {
    const op = `${this.constructor.name}.loadStateDict`
    if (state === undefined) throw new ArgumentError(`${op}: the state must be what stateDict returned, got undefined`)
    checkOptions(op, state, ['seed', 'pass', 'batch'])
    const { seed, pass, batch } = state
    for (const [name, value] of Object.entries({ seed, pass, batch })) checkInteger(op, name, value, 0)
    this.#seed = seed
    this.#pass = pass
    this.#batch = batch
    this.#atStart = true
  }

  /** Begins a pass: which one it is, and how many of its batches are left out. A broken-off one is not gone on with. */
  protected begin(): { readonly pass: number; readonly skipped: number } {
    if (!this.#atStart) {
      this.#pass++
      this.#batch = 0
    }
    this.#atStart = false
    return { pass: this.#pass, skipped: this.#batch }
  }

  /** Notes that a batch of the pass under way is handed out. */
  protected handOut(batch: number): void {
    this.#batch = batch + 1
  }

  /** Notes that the pass under way came to its end. */
  protected end(): void {
    this.#pass++
    this.#batch = 0
    this.#atStart = true
  }

  /** The order of a pass over `count` items. */
  protected orderOf(count: number, pass: number): Uint32Array {
    return permutation(count, this.#seed, pass)
  }
}

/**
 * Batches of the items of an array or another iterable. Every `for` loop is a pass over all of them:
 *
 *     const loader = new DataLoader(images, { batchSize: 32, shuffle: true, seed: 1 })
 *     for (const batch of loader) step(batch)
 *
 * The orders of a seed are the same on every machine, and different in each pass.
 */
export class DataLoader<Item, Batch = Item[]> extends Loader<Item, Batch> implements Iterable<Batch> {
  readonly #source: Iterable<Item> | ArrayLike<Item>

  /**
   * @param source an array, anything of a length and places, or an iterable, which is asked for a new iterator in each pass
   * @throws ArgumentError for another source, or an option of another kind
   */
  constructor(source: Iterable<Item> | ArrayLike<Item>, ...options: Options<Item, Batch>) {
    super('DataLoader', options[0] ?? {})
    if (!isArrayLike(source) && !isIterable(source)) {
      const hint = isAsyncIterable(source) ? '; for an async source, see AsyncDataLoader' : ''
      throw new ArgumentError(`DataLoader: the source must be an array or iterable, got ${showValue(source)}${hint}`)
    }
    this.#source = source
  }

  /** How many batches a pass has; undefined where the source does not tell how many items it has. */
  get length(): number | undefined {
    if (!isArrayLike(this.#source)) return undefined
    const { batchSize, dropLast } = this.settings
    const batches = this.#source.length / batchSize
    return dropLast ? Math.floor(batches) : Math.ceil(batches)
  }

  *[Symbol.iterator](): Iterator<Batch> {
    const { pass, skipped } = this.begin()
    const batching = new Batching(this.settings, skipped)
    for (const item of this.#items(pass)) {
      const full = batching.add(item)
      if (full === null) continue
      this.handOut(batching.count - 1)
      yield full.batch
    }
    const rest = batching.finish()
    if (rest !== null) {
      this.handOut(batching.count - 1)
      yield rest.batch
    }
    this.end()
  }

  *#items(pass: number): Iterable<Item> {
    const source = this.#source
    if (!this.settings.shuffle) yield* isIterable<Item>(source) ? source : Array.from(source)
    else {
      const items = isArrayLike<Item>(source) ? source : [...source]
      for (const place of this.orderOf(items.length, pass)) yield items[place] as Item
    }
  }
}

/**
 * Batches of the items of an async source: a stream, or a function that returns an async generator. Every `for await`
 * loop is a pass over all of them:
 *
 *     const loader = new AsyncDataLoader(() => readLines(file), { batchSize: 32 })
 *     for await (const batch of loader) step(batch)
 */
export class AsyncDataLoader<Item, Batch = Item[]> extends Loader<Item, Batch> implements AsyncIterable<Batch> {
  readonly #source: () => AsyncIterable<Item>

  /**
   * @param source an async iterable, which is asked for a new iterator in each pass, or a function that returns one: what
   *   can be read only once, as streams and generators, needs the function for a second pass
   * @throws ArgumentError for another source, or an option of another kind
   */
  constructor(source: AsyncIterable<Item> | (() => AsyncIterable<Item>), ...options: Options<Item, Batch>) {
    super('AsyncDataLoader', options[0] ?? {})
    if (typeof source !== 'function' && !isAsyncIterable(source)) {
      const hint = isIterable(source) || isArrayLike(source) ? '; for this, see DataLoader' : ''
      throw new ArgumentError(
        `AsyncDataLoader: the source must be an async iterable, or a function that returns one, got ${showValue(source)}${hint}`,
      )
    }
    this.#source = () => {
      if (typeof source !== 'function') return source
      const made: unknown = source()
      if (isAsyncIterable(made) || isIterable<Item>(made)) return made as AsyncIterable<Item>
      throw new ArgumentError(
        `AsyncDataLoader: the function must return an async iterable, got ${showValue(made)}; an async function* does`,
      )
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Batch> {
    const { pass, skipped } = this.begin()
    const batching = new Batching(this.settings, skipped)
    for await (const item of this.#items(pass)) {
      const full = batching.add(item)
      if (full === null) continue
      this.handOut(batching.count - 1)
      yield full.batch
    }
    const rest = batching.finish()
    if (rest !== null) {
      this.handOut(batching.count - 1)
      yield rest.batch
    }
    this.end()
  }

  async *#items(pass: number): AsyncIterable<Item> {
    if (!this.settings.shuffle) {
      yield* this.#source()
      return
    }
    const items: Item[] = []
    for await (const item of this.#source()) items.push(item)
    for (const place of this.orderOf(items.length, pass)) yield items[place] as Item
  }
}

/** Options may be left out where a batch is the array of its items. */
type Options<Item, Batch> = [Batch] extends [Item[]]
  ? [options?: DataLoaderOptions | CollateOptions<Item, Batch>]
  : [options: CollateOptions<Item, Batch>]

/** Gathers items to batches. */
class Batching<Item, Batch> {
  /** How many batches are done, those left out included. */
  count = 0
  #items: Item[] = []

  constructor(
    readonly settings: Settings<Item, Batch>,
    /** How many of the first batches are left out. */
    readonly skipped: number,
  ) {}

  /** The batch that is full with this item; null where none is, or it is left out. */
  add(item: Item): { readonly batch: Batch } | null {
    this.#items.push(item)
    return this.#items.length < this.settings.batchSize ? null : this.#take()
  }

  /** The last batch, which is not full; null where there is none, or it is left out. */
  finish(): { readonly batch: Batch } | null {
    return this.#items.length === 0 || this.settings.dropLast ? null : this.#take()
  }

  #take(): { readonly batch: Batch } | null {
    const items = this.#items
    this.#items = []
    return this.count++ < this.skipped ? null : { batch: this.settings.collate(items) }
  }
}

function isArrayLike<Item>(source: unknown): source is ArrayLike<Item> {
  return typeof source === 'object' && source !== null && 'length' in source && Number.isSafeInteger(source.length)
}

function isIterable<Item>(source: unknown): source is Iterable<Item> {
  return source !== null && source !== undefined && typeof Object(source)[Symbol.iterator] === 'function'
}

function isAsyncIterable(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}
