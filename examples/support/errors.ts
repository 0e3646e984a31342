/** Something the user gave cannot be used. Reported in one line, with exit code 2. */
export class InputError extends Error {}

/** The first line of whatever was thrown, without a full stop at its end. */
export function reason(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return (text.trim().split('\n')[0] ?? '').replace(/\.$/, '')
}
