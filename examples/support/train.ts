// A training loop for the examples: progress on a terminal, plain lines in a pipe, stopping and going on.
import { setImmediate } from 'node:timers/promises'
import type { WriteStream } from 'node:tty'
import { SingleBar } from 'cli-progress'

/** Options of `train`. */
export interface TrainOptions {
  /** How many steps there are in all. */
  readonly steps: number
  /** How many of them were done before: where a training that was stopped goes on. */
  readonly done?: number
  /** Makes step `index`, counted from 0, and returns its loss. */
  readonly step: (index: number) => number
  /** Ends the training where the running loss has not fallen to a new lowest value for so many steps. */
  readonly patience?: number
  /** Keeps what is needed to go on after `done` steps: called every `saveEvery` steps, and at the end. */
  readonly save?: (done: number) => void | Promise<void>
  readonly saveEvery?: number
  /** Stops the training behind the present step; so does Ctrl-C, and a second one ends the process. */
  readonly signal?: AbortSignal
  /** Where progress is shown; default stderr. */
  readonly output?: Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY'>>
}

/** How a training ended. */
export interface TrainResult {
  readonly ended: 'done' | 'early' | 'stopped'
  /** Steps done in all. */
  readonly done: number
  /** The running loss: each step's counts a twentieth. NaN before the first step. */
  readonly loss: number
  readonly stepsPerSecond: number
}

const SHARE = 1 / 20
/** Milliseconds between looks at the terminal, signals and timers. */
const PAUSE = 50

/**
 * Makes the steps. A training that is stopped has been saved: `train({ ...options, done })` goes on with it.
 *
 * @throws RangeError where the loss is NaN or infinite: what comes next would be, too
 */
export async function train(options: TrainOptions): Promise<TrainResult> {
  const { steps, done: before = 0, step, patience = Number.POSITIVE_INFINITY, saveEvery, signal } = options
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  const progress = new Progress(options.output ?? process.stderr, steps, before)
  const start = performance.now()
  let [done, loss, lowest, lowestAt, looked, saved] = [
    before,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    before,
    start,
    before,
  ]
  const speed = () => (done - before) / Math.max(1e-9, (performance.now() - start) / 1000)
  const save = async () => {
    if (saved !== done) await options.save?.(done)
    saved = done
  }
  let ended: TrainResult['ended'] = 'done'
  try {
    while (done < steps) {
      const found = step(done)
      if (!Number.isFinite(found)) throw new RangeError(`the loss of step ${done} is ${found}`)
      done++
      loss = Number.isNaN(loss) ? found : loss + SHARE * (found - loss)
      if (loss < lowest) [lowest, lowestAt] = [loss, done]
      if (saveEvery !== undefined && done % saveEvery === 0) await save()
      if (done - lowestAt >= patience) ended = 'early'
      if (performance.now() - looked > PAUSE) {
        progress.show(done, loss, speed())
        await setImmediate()
        looked = performance.now()
      }
      if (interrupt.signal.aborted || signal?.aborted === true) ended = 'stopped'
      if (ended !== 'done') break
    }
    await save()
  } finally {
    process.removeListener('SIGINT', onInterrupt)
    progress.end(done, loss, speed())
  }
  return { ended, done, loss, stepsPerSecond: speed() }
}

/** Milliseconds between lines in a pipe. */
const LINE = 5000

/** A bar on a terminal, else a line now and then. */
class Progress {
  readonly #bar: SingleBar | null = null
  #lastLine = performance.now()

  constructor(
    readonly output: NonNullable<TrainOptions['output']>,
    readonly steps: number,
    done: number,
  ) {
    if (output.isTTY !== true) return
    const format = '{bar} {percentage} %  step {value} of {total}  loss {loss}  {speed} steps/s  {left} s left'
    this.#bar = new SingleBar({ format, stream: output as WriteStream, hideCursor: true, fps: 20 })
    this.#bar.start(steps, done, { loss: '–', speed: '–', left: '–' })
  }

  show(done: number, loss: number, speed: number): void {
    if (this.#bar !== null) this.#bar.update(done, this.#payload(done, loss, speed))
    else if (performance.now() - this.#lastLine > LINE) this.#line(done, loss, speed)
  }

  end(done: number, loss: number, speed: number): void {
    if (this.#bar === null) this.#line(done, loss, speed)
    else {
      this.#bar.update(done, this.#payload(done, loss, speed))
      this.#bar.stop()
    }
  }

  #payload(done: number, loss: number, speed: number) {
    const left = Math.ceil((this.steps - done) / Math.max(speed, 1e-9))
    return { loss: loss.toPrecision(4), speed: speed.toFixed(speed < 10 ? 1 : 0), left }
  }

  #line(done: number, loss: number, speed: number): void {
    const shown = this.#payload(done, loss, speed)
    this.output.write(
      `step ${done} of ${this.steps}, loss ${shown.loss}, ${shown.speed} steps/s, ${shown.left} s left\n`,
    )
    this.#lastLine = performance.now()
  }
}
