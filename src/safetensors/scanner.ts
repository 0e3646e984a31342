import { FormatError } from '../core/errors.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const NINE = 0x39
/** Space, tab, line feed, carriage return. */
const WHITE_SPACE = new Set([0x20, 0x09, 0x0a, 0x0d])

const SHOWN = 80

/** A name from a file as messages show it: quoted, escaped and not too long. */
export function showName(name: string): string {
  return JSON.stringify(name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name)
}

/**
 * Reads JSON of a form that is known beforehand, piece by piece. Unlike `JSON.parse` it finds names that are there
 * twice, tells where something else stands than expected, and never goes deeper than its caller does.
 */
export class Scanner {
  #place = 0

  constructor(
    readonly op: string,
    readonly text: string,
  ) {}

  /** What is wrong with the header at the present place. */
  error(problem: string): FormatError {
    return new FormatError(`${this.op}: the header, character ${this.#place}: ${problem}`)
  }

  /** Whether nothing but spaces is left. */
  get atEnd(): boolean {
    while (this.text[this.#place] === ' ') this.#place++
    return this.#place === this.text.length
  }

  /** `{ name: value, … }`: `visit` is called for each name and reads its value. */
  object(what: string, visit: (name: string) => void): void {
    const seen = new Set<string>()
    this.#expect('{', what)
    if (this.#take('}')) return
    do {
      const name = this.string(`a name in ${what}`)
      if (name === '__proto__') throw this.error('the name "__proto__" is not allowed')
      if (seen.has(name)) throw this.error(`the name ${showName(name)} is there twice in ${what}`)
      seen.add(name)
      this.#expect(':', what)
      visit(name)
    } while (this.#take(','))
    this.#expect('}', what)
  }

  /** `[ 1, 2, … ]`, whole numbers of at least 0. */
  wholeNumbers(what: string, atMost: number): number[] {
    const numbers: number[] = []
    this.#expect('[', what)
    if (this.#take(']')) return numbers
    do {
      if (numbers.length === atMost) throw this.error(`there are more than ${atMost} numbers in ${what}`)
      numbers.push(this.#wholeNumber(what))
    } while (this.#take(','))
    this.#expect(']', what)
    return numbers
  }

  /** A string in quotes. */
  string(what: string): string {
    if (!this.#take('"')) throw this.error(`expected a string for ${what}, got ${this.#next()}`)
    const start = this.#place - 1
    let code = this.text.charCodeAt(this.#place)
    while (code !== QUOTE) {
      if (Number.isNaN(code)) throw this.error(`the string for ${what} does not end`)
      this.#place += code === BACKSLASH ? 2 : 1
      code = this.text.charCodeAt(this.#place)
    }
    this.#place++
    const value = this.#unescape(this.text.slice(start, this.#place), what)
    if (/\p{Surrogate}/u.test(value)) throw this.error(`the string for ${what} has half a surrogate pair`)
    return value
  }

  #unescape(quoted: string, what: string): string {
    try {
      return JSON.parse(quoted) as string
    } catch {
      throw this.error(`the string for ${what} has an escape or a control character that JSON does not know`)
    }
  }

  #wholeNumber(what: string): number {
    this.#skipSpace()
    const start = this.#place
    while (this.text.charCodeAt(this.#place) >= ZERO && this.text.charCodeAt(this.#place) <= NINE) this.#place++
    const digits = this.text.slice(start, this.#place)
    const value = Number(digits)
    if (digits === '' || (digits.length > 1 && digits.startsWith('0'))) {
      this.#place = start
      throw this.error(`expected a whole number of at least 0 for ${what}, got ${this.#next()}`)
    }
    if (!Number.isSafeInteger(value)) throw this.error(`${showName(digits)} is too large a number for ${what}`)
    return value
  }

  #expect(mark: string, what: string): void {
    if (!this.#take(mark)) throw this.error(`expected ${mark} for ${what}, got ${this.#next()}`)
  }

  #take(mark: string): boolean {
    this.#skipSpace()
    if (this.text[this.#place] !== mark) return false
    this.#place++
    return true
  }

  #next(): string {
    const next = this.text[this.#place]
    return next === undefined ? 'the end' : JSON.stringify(next)
  }

  #skipSpace(): void {
    while (WHITE_SPACE.has(this.text.charCodeAt(this.#place))) this.#place++
  }
}
