/** Any value in a message, also one that has no text of its own. */
export function showValue(value: unknown): string {
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** Base of every error that wengert throws on purpose. `name` is the class's name. */
export class WengertError extends Error {
  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/** Shapes, sizes, ranks or axes do not fit the operation. */
export class ShapeError extends WengertError {}

/** A dtype is not one that the operation takes. */
export class DTypeError extends WengertError {}

/** An index or a range lies outside of its axis. */
export class IndexError extends WengertError {}

/** An argument is not of a kind or value that the operation takes. */
export class ArgumentError extends WengertError {}

/** Differentiation was asked for where it cannot be done: no gradient, a released tape, a stale value. */
export class GradientError extends WengertError {}

/** The numbers asked for do not fit into the memory that the engine can give. */
export class MemoryError extends WengertError {}

/** The bytes of a file are not what its format prescribes. */
export class FormatError extends WengertError {}

/** A thread that took part in an operation failed or ended. */
export class ThreadError extends WengertError {}

/** `detectAnomaly` found the operation that made a value or a cotangent NaN or infinite. */
export class AnomalyError extends WengertError {
  constructor(
    message: string,
    /** The operation's name. */
    readonly op: string,
    /** Whether its output or the cotangent that its rule passes on was the first to go wrong. */
    readonly at: 'output' | 'cotangent',
    /** Where the user's code called it, `file:line:column`; null where the engine does not tell. */
    readonly line: string | null,
  ) {
    super(message)
  }
}
