import { command, outOption, readArguments, runCommand, seedOption, stepsOption } from './command.js'
import type { Section } from './document.js'
import { prepareFolder, writeReport } from './output.js'
import { renderPage } from './page.js'
import { coloursOf, renderSection } from './terminal.js'

/** An example that trains something, tells what it found, and draws it on a page. */
export interface Example {
  /** The name of its npm script, and of its folder within `out`. */
  readonly name: string
  readonly title: string
  /** What `--help` says. */
  readonly description: string
  /** How many steps it makes by default. */
  readonly steps: number
  /** @param show prints a section, and puts it on the page */
  run(options: RunOptions, show: (section: Section) => void): Promise<Outcome>
}

/** What decides the numbers of a run. */
export interface RunOptions {
  readonly seed: number
  readonly steps: number
}

/** What came out. */
export interface Outcome {
  /** In a sentence or two. */
  readonly text: string
  /** As numbers: the same for the same options, and nothing of time or machine. */
  readonly numbers: object
}

/** Runs the example as the command line asks. */
export async function main(example: Example): Promise<void> {
  await runCommand(async () => {
    const { name, title, description } = example
    const options = readArguments<RunOptions & { readonly out: string }>(
      command(`npm run ${name} --`, description)
        .addOption(seedOption())
        .addOption(stepsOption(example.steps))
        .addOption(outOption(`out/${name}`)),
      process.argv.slice(2),
    )
    if (options === null) return 0
    const { seed, steps, out } = options
    await prepareFolder(out)
    const colours = coloursOf(process.stdout)
    const sections: Section[] = []
    const { text, numbers } = await example.run({ seed, steps }, (section) => {
      sections.push(section)
      console.log(renderSection(section, colours))
    })
    const path = await writeReport(out, renderPage({ title, lead: text }, sections), { seed, steps, ...numbers })
    console.log(`${text}\nReport: ${path}`)
    return 0
  })
}
