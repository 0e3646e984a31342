import type { MultiHeadAttention } from 'wengert/nn'
import type { Verdict } from 'wengert/testing'
import { type Column, type Picture, paragraph, type Section, type Series, table } from '../support/document.js'
import { attentionWeight, percent, position, readable, scientific, sizes } from '../support/format.js'
import type { Compared, FixedStructure, GradientNorms } from './fixed-structure.js'
import { type LayerCheck, WEIGHTS, type WeightName } from './gradients.js'
import { DEAD, DRAWS, type RandomWeights, type Regime } from './random-weights.js'
import { FEATURES, GRID, PATCH, PATCHES, TILE, type Tile } from './tile.js'
import type { Walk } from './walk.js'

export function tileSection(tile: Tile, picture: Picture): Section {
  return {
    title: 'The tile',
    parts: [
      paragraph(
        `${TILE} × ${TILE} pixels of ${tile.image.name} from pixel ${tile.left},${tile.top}; on a map of the Earth, around ${position(tile.latitude, tile.longitude)}. Cut into ${GRID} × ${GRID} patches of ${PATCH} × ${PATCH} pixels in three colours, it is a matrix X of ${sizes([PATCHES, FEATURES])}: one patch a row, each of the ${FEATURES} features standardised over the patches.`,
      ),
      picture,
    ],
  }
}

export function walkSection(walk: Walk, { numHeads: heads, keyDim }: MultiHeadAttention): Section {
  const deviationOf = (symbol: string) => readable(walk.steps.find((step) => step.symbol === symbol)?.deviation ?? 0)
  return {
    title: 'From X to Y through multi-head attention',
    parts: [
      paragraph(`D = ${FEATURES}, H = ${heads} heads, d_k = d_v = D/H = ${keyDim}, random weights, float64.`),
      table(
        'Every step on the way',
        [
          { head: 'symbol', text: true },
          { head: 'formula', text: true },
          { head: 'shape' },
          { head: 'heads' },
          { head: 'std' },
        ],
        walk.steps.map(({ symbol, formula, shape, perHead, deviation }) => [
          symbol,
          formula,
          sizes(shape),
          perHead ? `${heads} ×` : '',
          readable(deviation),
        ]),
      ),
      paragraph(
        `The scores S have a standard deviation of ${deviationOf('S')}; the division by √d_k = ${readable(Math.sqrt(keyDim))} leaves ${deviationOf('S̃')}. Against A and Y of the MultiHeadAttention layer itself, the largest difference is ${scientific(walk.differenceOfA)} in A and ${scientific(walk.differenceOfY)} in Y; the rows of A sum to 1 within ${scientific(walk.rowSumError)}: ${walk.ok ? 'pass' : 'FAIL'}.`,
      ),
      paragraph(
        'No heatmap of A is drawn: with untrained weights it would show random dot products pushed through a softmax, and nothing about the image.',
      ),
    ],
  }
}

const VERDICTS: Readonly<Record<Verdict, string>> = { right: 'pass', wrong: 'FAIL', noisy: 'too noisy to say' }

export function gradientSection(checks: readonly LayerCheck[]): Section {
  const failures = checks.flatMap(({ weights }) => weights.filter(({ ok }) => !ok))
  return {
    title: 'The four weight gradients against finite differences',
    parts: [
      paragraph(
        `L = mean((Y − T)²) / 2 with a random T; differences in float64, for several steps and extrapolated to step 0, which tells how many digits they have. A gradient passes where analytic and numeric derivatives agree to six digits, or to what rounding leaves of the latter; it fails where they differ by more than both explain. A random direction moves every entry of the weight at once. Relative errors are relative to the largest derivative towards the same weight.`,
      ),
      ...checks.map(({ title, weights }) =>
        table(
          title,
          [
            { head: 'gradient', text: true },
            { head: 'shape' },
            { head: 'entries' },
            { head: 'directions' },
            { head: 'absolute', group: 'worst error' },
            { head: 'relative', group: 'worst error' },
            { head: 'digits' },
            { head: 'verdict', text: true },
          ],
          weights.map((check) => [
            `∂L/∂${symbolOf(check.weight)}`,
            sizes(check.shape),
            `${check.entries} of ${check.size}`,
            check.directions === 0 ? '–' : String(check.directions),
            scientific(check.maxAbsoluteError),
            scientific(check.maxRelativeError),
            check.digits === null ? '–' : String(Math.floor(check.digits)),
            VERDICTS[check.verdict],
          ]),
        ),
      ),
      ...failures.map(({ weight, text }) => paragraph(`∂L/∂${symbolOf(weight)}: ${text}`)),
    ],
  }
}

export function fixedStructureSection({ rows, gradients, singlePrecision }: FixedStructure): Section {
  const regime = (of: keyof Compared<unknown>, head: string): Column => ({ head, group: of })
  const norms = (of: keyof Compared<unknown>, weight: WeightName, mark: string): Series => ({
    name: `${symbolOf(weight)} ${of}`,
    mark,
    scaled: of === 'scaled',
    dashed: weight === 'WK',
    values: gradients.map((row) => row[of][weight]),
  })
  const gradientRow = (row: GradientNorms) => WEIGHTS.map((weight) => scientific(row[weight]))
  return {
    title: 'Experiment 1: the same attention at growing d_k',
    parts: [
      paragraph(
        'One row of attention over four patches (land, land, near water, far water). Its scores keep the structure c = (−0.5, −0.5, 1, 0) and have the size √d_k that independent queries and keys of unit variance give them. Softmax sees only gaps: without the factor 1/√d_k the lead of the near water over the far water grows as √d_k, and the derivative D_s a = diag(a) − a aᵀ vanishes.',
      ),
      table(
        'One row of the softmax',
        [
          { head: 'd_k' },
          ...(['unscaled', 'scaled'] as const).flatMap((of) => [
            regime(of, 'gap'),
            regime(of, 'a_near/a_far'),
            regime(of, 'a_near'),
            regime(of, '‖D_s a‖_F'),
          ]),
        ],
        rows.map((row) => [
          String(row.keyDim),
          ...[row.unscaled, row.scaled].flatMap(({ gap, ratio, near, rest, jacobianNorm }) => [
            readable(gap),
            ratio < 1e4 ? readable(ratio, 3) : scientific(ratio, 3),
            attentionWeight(near, rest),
            scientific(jacobianNorm, 3),
          ]),
        ]),
      ),
      paragraph(
        'The same scores in every row of a whole layer (row n: c rolled by n), made by keys at right angles of norm √d_k. V and T are random and the same at every d_k. Whatever goes back to W_Q and W_K passes through D_s a and dies with it; W_V and W_O do not pass through it and keep their gradient. (∂L/∂W_K falls as 1/√d_k even when scaled, because the queries of this construction stay at the size of c.)',
      ),
      table(
        '‖∂L/∂W‖ of the layer',
        [
          { head: 'd_k' },
          ...(['unscaled', 'scaled'] as const).flatMap((of) => WEIGHTS.map((weight) => regime(of, symbolOf(weight)))),
        ],
        gradients.map((row) => [String(row.keyDim), ...gradientRow(row.unscaled), ...gradientRow(row.scaled)]),
      ),
      {
        kind: 'chart',
        title: '‖∂L/∂W_Q‖ and ‖∂L/∂W_K‖ of the layer',
        quantity: '‖∂L/∂W‖',
        scale: 'log',
        keyDims: gradients.map((row) => row.keyDim),
        series: [
          norms('unscaled', 'WQ', 'Q'),
          norms('unscaled', 'WK', 'K'),
          norms('scaled', 'WQ', 'q'),
          norms('scaled', 'WK', 'k'),
        ],
      },
      paragraph(
        'In float32, a_near rounds to exactly 1 by d_k = 1024, and its own derivative a_near (1 − a_near) is exactly 0. The attention left to the other patches is still about e⁻³², so that the gradient as a whole is 1e-13 rather than 0: nothing beside the 6e-8 by which float32 can change a weight of size 1. It is exactly 0 once exp(−√d_k) leaves the range of float32.',
      ),
      table(
        'Unscaled, in float32',
        [{ head: 'd_k' }, { head: 'a_near' }, { head: '∂a_near/∂s_near' }, { head: '‖∂L/∂W_Q‖' }],
        singlePrecision.map(({ keyDim, near, derivative, gradientNorm }) => [
          String(keyDim),
          near === 1 ? '1 exactly' : near.toFixed(8),
          derivative === 0 ? '0 exactly' : scientific(derivative),
          gradientNorm === 0 ? '0 exactly' : scientific(gradientNorm),
        ]),
      ),
    ],
  }
}

export function randomWeightsSection(results: readonly RandomWeights[]): Section {
  const keyDims = results.map(({ keyDim }) => keyDim)
  const last = results.at(-1)
  const regimes = (head: string): Column[] => [
    { head: 'unscaled', group: head },
    { head: 'scaled', group: head },
  ]
  const both = (row: RandomWeights, show: (regime: Regime) => string) => [show(row.unscaled), show(row.scaled)]
  const series = (of: keyof Compared<unknown>, value: (regime: Regime) => number, banded = false): Series => ({
    name: of,
    mark: of === 'unscaled' ? '●' : '○',
    scaled: of === 'scaled',
    values: results.map((row) => value(row[of])),
    ...(banded ? { band: results.map((row) => row[of].jacobianQuartiles) } : {}),
  })
  return {
    title: 'Experiment 2: random weights, and a trap',
    parts: [
      paragraph(
        `What happens at initialisation: X and the weights are random, the entries of queries and keys have unit variance, N = 16, D = 64, d_v = d_k, L = mean((Y − T)²), ${DRAWS} draws for each d_k. First the typical row: medians over all rows of all draws.`,
      ),
      table(
        'The typical row',
        [{ head: 'd_k' }, { head: 'std(S)' }, ...regimes('median ‖D_s a‖_F'), ...regimes('rows < 1e-3')],
        results.map((row) => [
          String(row.keyDim),
          row.scoreDeviation.toFixed(1),
          ...both(row, ({ jacobianNorm }) => readable(jacobianNorm)),
          ...both(row, ({ deadRows }) => percent(deadRows)),
        ]),
      ),
      table(
        'How sharp it is: medians',
        [{ head: 'd_k' }, ...regimes('max a'), ...regimes('entropy (nats)')],
        results.map((row) => [
          String(row.keyDim),
          ...both(row, ({ max, rest }) => attentionWeight(max, rest)),
          ...both(row, ({ entropy }) => readable(entropy)),
        ]),
      ),
      {
        kind: 'chart',
        title: 'The typical row: median ‖D_s a‖_F',
        quantity: '‖D_s a‖_F',
        scale: 'log',
        keyDims,
        series: [
          series('unscaled', (regime) => regime.jacobianNorm, true),
          series('scaled', (regime) => regime.jacobianNorm, true),
        ],
      },
      {
        kind: 'chart',
        title: `Share of rows with ‖D_s a‖_F below ${DEAD}`,
        quantity: 'share of rows',
        scale: 'share',
        keyDims,
        series: [series('unscaled', (regime) => regime.deadRows), series('scaled', (regime) => regime.deadRows)],
      },
      paragraph('Now the trap: the gradient as a whole, all rows together.'),
      table(
        'The whole gradient: medians over the draws',
        [{ head: 'd_k' }, ...regimes('‖∂L/∂W_Q‖'), ...regimes('strongest 2 of 16')],
        results.map((row) => [
          String(row.keyDim),
          ...both(row, ({ gradientNorm }) => readable(gradientNorm, 1)),
          ...both(row, ({ topTwoShare }) => percent(topTwoShare)),
        ]),
      ),
      {
        kind: 'chart',
        title: 'The whole gradient: median ‖∂L/∂W_Q‖',
        quantity: '‖∂L/∂W_Q‖',
        scale: 'log',
        keyDims,
        series: [
          series('unscaled', (regime) => regime.gradientNorm),
          series('scaled', (regime) => regime.gradientNorm),
        ],
      },
      paragraph(
        `The whole ‖∂L/∂W_Q‖ of the unscaled layer does not vanish: it grows. It is no measure of how the rows fare. A few rows happen to be near a tie between two patches; they keep their derivative, and it is multiplied by keys of norm √d_k. At d_k = ${last?.keyDim}, the strongest 2 of 16 rows hold ${percent(last?.unscaled.topTwoShare ?? 0)} of the gradient (of Σ ‖∂L/∂q_n‖²), while ${percent(last?.unscaled.deadRows ?? 0)} of all rows have next to none. So what dies without 1/√d_k is the typical row: most patches learn nothing, and a random few get all the gradient. With it, every row keeps its part. Whoever plots only the whole norm sees the opposite.`,
      ),
    ],
  }
}

function symbolOf(weight: WeightName): string {
  return weight.replace('W', 'W_')
}
