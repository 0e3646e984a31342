import { noGrad } from 'wengert'
import { type Picture, paragraph, type Section, table } from '../support/document.js'
import { percent } from '../support/format.js'
import { heatmaps, type Panel } from '../support/heat.js'
import { tileUri } from '../support/image.js'
import { linePlot } from '../support/line-plot.js'
import { batchOf, DIGITS, type DigitImage, type DigitSets, SIDE } from './images.js'
import { BLOCKS, EMBED_DIM, GRID, HEADS, type VisionTransformer } from './model.js'
import { accuracyOf, type Trained } from './training.js'

export function taskSection({ train, test }: DigitSets): Section {
  return {
    title: 'The task',
    parts: [
      paragraph(
        `Which digit is it? ${train.length} images of ${SIDE} × ${SIDE} pixels from the MNIST database of handwritten digits to train with, ${test.length} others to test with. In training, each image is moved by up to a pixel, each time anew.`,
      ),
    ],
  }
}

export function accuracySection({ test }: DigitSets, trained: Trained): Section {
  const { model, answers, curve, result, seconds, processorSeconds } = trained
  const parameters = model.parameters().reduce((sum, { size }) => sum + size, 0)
  const rows = Array.from({ length: DIGITS }, (_, digit) => {
    const given = answers.filter((__, i) => test[i]?.digit === digit)
    const wrong = given.filter((answer) => answer !== digit)
    return [String(digit), String(given.length), percentage(1 - wrong.length / given.length), commonest(wrong)]
  })
  return {
    title: 'What it learned',
    parts: [
      paragraph(
        `A vision transformer: ${GRID} × ${GRID} patches of ${SIDE / GRID} × ${SIDE / GRID} pixels and a class token, rows of D = ${EMBED_DIM}, ${BLOCKS} blocks of H = ${HEADS} heads, ${parameters} parameters.`,
      ),
      table(
        'The training',
        [
          { head: 'steps' },
          { head: 'seconds' },
          { head: 'of processor time' },
          { head: 'steps per second' },
          { head: 'loss' },
          { head: 'test accuracy' },
        ],
        [
          [
            String(result.done),
            seconds.toFixed(1),
            processorSeconds.toFixed(1),
            result.stepsPerSecond.toFixed(1),
            result.loss.toFixed(4),
            percentage(accuracyOf(answers, test)),
          ],
        ],
      ),
      linePlot({
        title: 'Learning curve',
        x: 'steps',
        y: 'accuracy on the test images',
        lines: [{ name: 'test', points: curve }],
        levels: [{ name: 'guessing', value: 1 / DIGITS }],
        range: [0, 1],
        format: percent,
      }),
      table(
        'Test images by digit',
        [{ head: 'digit' }, { head: 'images' }, { head: 'accuracy' }, { head: 'most often taken for' }],
        rows,
      ),
    ],
  }
}

/** The answer that is there most often. */
function commonest(answers: readonly number[]): string {
  const counts = new Map<number, number>()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most === undefined ? '–' : `${most[0]} (${most[1]} ×)`
}

function percentage(share: number): string {
  return `${(100 * share).toFixed(2)} %`
}

export function untrainedSection(): Section {
  return {
    title: 'Where it looks',
    parts: [
      paragraph(
        'The model takes less than half of the test images for what they are: where it looks would tell little. More steps are needed before its attention is drawn.',
      ),
    ],
  }
}

/** The attention of the class token over the first test image of each digit, and over some mistakes. */
export async function attentionSection({ test }: DigitSets, { model, answers }: Trained): Promise<Section> {
  const first = Array.from({ length: DIGITS }, (_, digit) => test.findIndex((image) => image.digit === digit))
  const wrong = test.flatMap(({ digit }, i) => (answers[i] === digit ? [] : [i]))
  const mistakes = wrong.filter((_, i) => i % Math.ceil(wrong.length / 5) === 0)
  const lookedAt = (of: readonly number[], title: string) => attentionPicture(title, of, test, answers, model)
  return {
    title: 'Where it looks',
    parts: [
      paragraph(
        'How the class token, in whose row the answer is gathered, spreads its attention over the patches in the last block, drawn over the image.',
      ),
      await lookedAt(first, 'The first test image of each digit'),
      ...(mistakes.length === 0 ? [] : [await lookedAt(mistakes, 'Some that it takes for another digit')]),
    ],
  }
}

async function attentionPicture(
  title: string,
  places: readonly number[],
  test: readonly DigitImage[],
  answers: readonly number[],
  model: VisionTransformer,
): Promise<Picture> {
  const drawn = places.map((i) => test[i] as DigitImage)
  const weights = noGrad(() => model.classAttention(batchOf(drawn).images).toArray()) as number[][][]
  const rows = await Promise.all(
    drawn.map(async (image, row): Promise<Panel[]> => {
      const uri = await picture(image)
      const answer = answers[places[row] ?? 0] ?? Number.NaN
      const label = answer === image.digit ? `${image.digit}` : `${image.digit}, taken for ${answer}`
      const heads = weights[row] ?? []
      return [
        { label: [label], image: uri },
        ...heads.map((one) => ({ label: [`most: ${percent(Math.max(...one))}`], image: uri, weights: one })),
      ]
    }),
  )
  const html = heatmaps({
    label: title,
    heads: ['the image', ...Array.from({ length: HEADS }, (_, head) => `head ${head + 1}`)],
    rows,
    grid: GRID,
    top: Math.max(...weights.flat(2)),
    quantity: `attention weight (evenly: ${(1 / (1 + GRID ** 2)).toFixed(3)})`,
  })
  return { kind: 'picture', title, html }
}

/** White on black. */
async function picture({ pixels }: DigitImage): Promise<string> {
  const bytes = Uint8Array.from(pixels, (ink) => Math.round(255 * ink))
  const colours = Uint8Array.from({ length: 3 * bytes.length }, (_, i) => bytes[Math.floor(i / 3)] ?? 0)
  return await tileUri({ name: 'digit', width: SIDE, height: SIDE, pixels: colours })
}
