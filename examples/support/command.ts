// What the examples' commands have in common.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { InputError, reason } from './errors.js'

/** A command that is started by `npm start --` or `npm run … --`, without options yet. */
export function command(start: string, description: string): Command {
  return new Command(start)
    .description(description)
    .helpOption('--help', 'show this help')
    .allowExcessArguments(false)
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
}

/** `--seed`, 0 by default. */
export function seedOption(): Option {
  return new Option('--seed <n>', 'seed of all random numbers').argParser(whole(0)).default(0)
}

/** `--steps`. */
export function stepsOption(steps: number): Option {
  return new Option('--steps <n>', 'training steps; few of them give a quick look').argParser(whole(1)).default(steps)
}

/** `--out`. */
export function outOption(out: string): Option {
  return new Option('--out <dir>', 'folder that receives report.html and report.json').default(out)
}

/**
 * The values of a command's options.
 *
 * @param args the arguments that follow the command
 * @returns null where they asked for help, which has then been printed
 * @throws InputError for options or values that are not understood
 */
export function readArguments<T extends { readonly out?: string }>(given: Command, args: readonly string[]): T | null {
  try {
    given.parse(args, { from: 'user' })
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return null
    throw new InputError(reason(thrown).replace(/^error: /, ''))
  }
  const options = given.opts<T>()
  if (options.out === '') throw new InputError('--out needs the name of a folder')
  return options
}

/** Reads a whole number of at least `least`. */
function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${Number.MAX_SAFE_INTEGER}.`)
    }
    return value
  }
}

/** Runs a command that tells its exit code; what the user gave wrongly is said in a line, with exit code 2. */
export async function runCommand(run: () => Promise<number>): Promise<void> {
  // Whoever reads only the beginning (head, less) closes the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  try {
    process.exitCode = await run()
  } catch (thrown) {
    if (!(thrown instanceof InputError)) throw thrown
    console.error(`error: ${thrown.message}`)
    process.exitCode = 2
  }
}
