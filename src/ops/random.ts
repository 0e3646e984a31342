// Random tensors.
import { empty } from '../core/contiguous.js'
import { bytesOf, checkDType, isFloating, suffixOf } from '../core/dtype.js'
import { ArgumentError, DTypeError, showValue } from '../core/errors.js'
import { checkOptions } from '../core/options.js'
import { checkInteger, checkShape, type Shape } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'
import { addressOf, tick } from '../memory/arena.js'
import { KernelFamily } from '../runtime/kernels.js'
import { ELEMENTS, inPieces, isShared } from '../runtime/threads.js'
import { checkTensorOptions, finish, type TensorOptions, tensor } from './creation.js'

// The generator: Philox4x32-10, counter based. A draw takes a range of counter values, so that the same seed gives the
// same numbers on every machine and in any order of threads.
const generator = { seedLow: 0, seedHigh: 0, counterLow: 0, counterHigh: 0 }
let seeded = false

/** Starts the random numbers anew: the same seed gives the same numbers on every machine. Any whole number. */
export function manualSeed(seed: number): void {
  checkInteger('manualSeed', 'the seed', seed)
  generator.seedLow = seed >>> 0
  generator.seedHigh = Math.floor(seed / 2 ** 32) >>> 0
  generator.counterLow = 0
  generator.counterHigh = 0
  seeded = true
}

/** Where the generator stands: its seed, and how many blocks it has drawn, as 32-bit halves. */
export type GeneratorState = Readonly<typeof generator>

/** Where the generator stands now, as numbers that JSON can hold; it is seeded first where it was not. */
export function getGeneratorState(): GeneratorState {
  seedOnce()
  return { ...generator }
}

/**
 * Takes the generator back to where it stood: the same numbers follow.
 *
 * @throws ArgumentError unless the state is one that `getGeneratorState` returned
 */
export function setGeneratorState(state: GeneratorState): void {
  const op = 'setGeneratorState'
  const names = Object.keys(generator) as (keyof GeneratorState)[]
  if (state === undefined) throw new ArgumentError(`${op}: needs what getGeneratorState returned, got undefined`)
  checkOptions(op, state, names)
  for (const name of names) {
    const value = state[name]
    if (value !== value >>> 0) {
      throw new ArgumentError(`${op}: ${name} must be a whole number of 32 bits, got ${showValue(value)}`)
    }
  }
  Object.assign(generator, state)
  seeded = true
}

/** Runs `fn` with random numbers from where the generator stood, which then stands where it did before. */
export function withGenerator<Result>(state: GeneratorState, fn: () => Result): Result {
  const before = getGeneratorState()
  Object.assign(generator, state)
  try {
    return fn()
  } finally {
    Object.assign(generator, before)
  }
}

function seedOnce(): void {
  if (!seeded) manualSeed(Math.floor(Math.random() * 2 ** 53))
}

/** The counter's two words `blocks` further on. */
function furtherOn(low: number, high: number, blocks: number): [low: number, high: number] {
  const next = low + blocks
  return [next >>> 0, (high + Math.floor(next / 2 ** 32)) >>> 0]
}

/** The seed and the next counter, which moves on by `blocks`. */
export function draw(blocks: number): [seedLow: number, seedHigh: number, low: number, high: number] {
  seedOnce()
  const { seedLow, seedHigh, counterLow, counterHigh } = generator
  ;[generator.counterLow, generator.counterHigh] = furtherOn(counterLow, counterHigh, blocks)
  return [seedLow, seedHigh, counterLow, counterHigh]
}

/** Fills a tensor by a kernel that makes `perBlock` values of each counter. */
function fillRandom(family: KernelFamily, out: Tensor, perBlock: number, ...more: number[]): void {
  const { length } = out.storage
  const [seedLow, seedHigh, low, high] = draw(Math.ceil(length / perBlock))
  const to = addressOf(out.storage)
  const bytes = bytesOf(out.dtype)
  const suffix = suffixOf(out.dtype)
  const piece = (start: number, end: number) => [
    ...[to + start * bytes, end - start, seedLow, seedHigh],
    ...[...furtherOn(low, high, start / perBlock), ...more],
  ]
  const nanoseconds = family.nanosecondsPerByte * bytes * length
  if (isShared(nanoseconds)) inPieces(family, suffix, { units: length, multiple: ELEMENTS, nanoseconds, piece })
  else family.get(suffix)(...piece(0, length))
}

const uniform = new KernelFamily('randomUniform')
const normal = new KernelFamily('randomNormal')
const integers = new KernelFamily('randomInteger')

function random(
  op: string,
  family: KernelFamily,
  shape: Shape,
  options: TensorOptions,
  perBlock: Readonly<Record<string, number>>,
): Tensor {
  checkShape(op, shape)
  checkTensorOptions(op, options)
  const { dtype = 'float32' } = options
  checkDType(op, dtype)
  if (!isFloating(dtype)) throw new DTypeError(`${op}: makes float32 or float64, not ${dtype}; see randint`)
  tick()
  const result = empty(dtype, [...shape])
  fillRandom(family, result, perBlock[dtype] as number)
  return finish(result, options)
}

/** Random numbers, uniform on [0, 1): multiples of 2⁻²⁴ (float32) or 2⁻⁵³ (float64). */
export function rand(shape: Shape, options: TensorOptions = {}): Tensor {
  return random('rand', uniform, shape, options, { float32: 4, float64: 2 })
}

/** Random numbers from the standard normal distribution (mean 0, variance 1). */
export function randn(shape: Shape, options: TensorOptions = {}): Tensor {
  return random('randn', normal, shape, options, { float32: 2, float64: 2 })
}

/**
 * Random whole numbers, uniform on low … high − 1, int32 unless a dtype is given.
 *
 * @throws ArgumentError unless low < high, both 32-bit whole numbers
 */
export function randint(low: number, high: number, shape: Shape, options: TensorOptions = {}): Tensor {
  checkShape('randint', shape)
  checkTensorOptions('randint', options)
  for (const bound of [low, high]) checkInteger('randint', 'a bound', bound)
  if (low >= high || low < -(2 ** 31) || high > 2 ** 31 - 1) {
    throw new ArgumentError(`randint: needs low < high within 32 bits, got ${low} and ${high}`)
  }
  tick()
  const result = empty('int32', [...shape])
  fillRandom(integers, result, 4, low, high)
  return options.dtype === undefined || options.dtype === 'int32'
    ? finish(result, options)
    : tensor(result.data, { ...options, shape })
}
