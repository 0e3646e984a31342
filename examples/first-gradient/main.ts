import { command, readArguments, runCommand } from '../support/command.js'

await runCommand(async () => {
  const description =
    'Computes L = Σ x² for x = (1, 2, 3), shows its tape, and goes back along it to ∂L/∂x = 2 x. The program is in ' +
    'first-gradient.ts; nothing in it is random, so it has no seed.'
  const options = readArguments(command('npm run first-gradient --', description), process.argv.slice(2))
  if (options !== null) await import('./first-gradient.js')
  return 0
})
