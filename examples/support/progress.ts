import type { WriteStream } from 'node:tty'

/** Says on a terminal what is being done. Silent where either output goes to a file or a pipe, or cannot be erased. */
export class Progress {
  readonly #stream: WriteStream | null

  constructor(stdout: Partial<WriteStream>, stderr: WriteStream) {
    const { TERM } = process.env
    this.#stream = stdout.isTTY === true && stderr.isTTY && TERM !== 'dumb' ? stderr : null
  }

  /** @param done the share that is done, where it is known */
  show(what: string, done?: number): void {
    this.clear()
    this.#stream?.write(done === undefined ? `${what} …` : `${what} … ${Math.floor(done * 100)} %`)
  }

  clear(): void {
    this.#stream?.cursorTo(0)
    this.#stream?.clearLine(0)
  }
}
