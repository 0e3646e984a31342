// Optimisers, schedules and clipping take PyTorch's steps. The fixture's script stands beside it.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type DType, mseLoss, type Tensor, tensor } from 'wengert'
import {
  Adam,
  AdamW,
  type AnyOptimizer,
  ConstantLR,
  CosineAnnealingLR,
  clipGradNorm,
  clipGradValue,
  LinearLR,
  type LRSchedule,
  OneCycleLR,
  type Optimizer,
  RMSprop,
  SequentialLR,
  SGD,
  StepLR,
} from 'wengert/optim'
import { untyped } from '../support/expectations.js'

interface Numbers {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}
type Name = 'w1' | 'b1' | 'w2' | 'b2'
type Options = Readonly<Record<string, unknown>>
type Schedule = readonly [string, Options]

interface Case {
  readonly name: string
  readonly optimizer: string
  readonly options: Options
  readonly groups?: readonly { readonly names: readonly Name[]; readonly options: Options }[]
  readonly schedule?: Schedule
  readonly clip?: readonly ['norm' | 'value', number]
  readonly late?: readonly [Name, number]
  readonly losses: readonly number[]
  readonly parameters: readonly Readonly<Record<Name, readonly number[]>>[]
  readonly lrs?: readonly (readonly number[])[]
  readonly momenta?: readonly number[]
  readonly norms?: readonly number[]
  /** How far PyTorch's own float32 is from these numbers in the end. */
  readonly float32Distance: number
}

interface Fixture {
  readonly source: string
  readonly kept: readonly number[]
  readonly first: Readonly<Record<Name, Numbers>>
  readonly x: Numbers
  readonly y: Numbers
  readonly cases: readonly Case[]
}

const fixture = JSON.parse(readFileSync(new URL('../fixtures/torch-optim.json', import.meta.url), 'utf8')) as Fixture
const names: readonly Name[] = ['w1', 'b1', 'w2', 'b2']

type Constructor<Made, First> = new (first: First, options: never) => Made
const optimizers: Readonly<Record<string, Constructor<StepTaker, never>>> = { SGD, Adam, AdamW, RMSprop }
const schedules: Readonly<Record<string, Constructor<LRSchedule, AnyOptimizer>>> = {
  ConstantLR,
  LinearLR,
  StepLR,
  CosineAnnealingLR,
  OneCycleLR,
  SequentialLR,
}
type StepTaker = AnyOptimizer & Pick<Optimizer<{ lr: number }>, 'step' | 'zeroGrad'>

/** PyTorch's names of options in camelCase. */
function camelCase(options: Options): Options {
  const renamed = Object.entries(options).map(([name, value]) => [
    name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(renamed) as Options
}

function makeSchedule(optimizer: AnyOptimizer, [kind, options]: Schedule): LRSchedule {
  const make = schedules[kind] as Constructor<LRSchedule, AnyOptimizer>
  if (kind !== 'SequentialLR') return new make(optimizer, untyped(camelCase(options)))
  const parts = options['schedules'] as readonly Schedule[]
  return new make(optimizer, untyped({ ...options, schedules: parts.map((part) => makeSchedule(optimizer, part)) }))
}

/** Takes the fixture's 100 steps, and shows those that are kept. */
function train(example: Case, dtype: DType, see: (place: number, loss: number, now: Record<Name, Tensor>) => void) {
  const make = ({ data, shape }: Numbers, requiresGrad = false) => tensor(data, { shape, dtype, requiresGrad })
  const p = Object.fromEntries(names.map((name) => [name, make(fixture.first[name], true)])) as Record<Name, Tensor>
  const [x, y] = [make(fixture.x), make(fixture.y)]
  const given = example.groups?.map((group) => ({
    parameters: group.names.map((name) => p[name]),
    ...camelCase(group.options),
  }))
  const construct = optimizers[example.optimizer] as Constructor<StepTaker, never>
  const optimizer = new construct(untyped(given ?? Object.values(p)), untyped(camelCase(example.options)))
  const schedule = example.schedule && makeSchedule(optimizer, example.schedule)
  for (let step = 1; step <= 100; step++) {
    optimizer.zeroGrad()
    const hidden = x.matmul(p.w1).add(p.b1).tanh()
    const loss = mseLoss(hidden.matmul(p.w2).add(p.b2), y)
    loss.backward()
    if (example.late !== undefined && step < example.late[1]) p[example.late[0]].grad = null
    if (example.clip?.[0] === 'norm') {
      const norm = clipGradNorm(Object.values(p), example.clip[1])
      expect(norm).toBeCloseTo(example.norms?.[step - 1] as number, dtype === 'float64' ? 10 : 5)
    }
    if (example.clip?.[0] === 'value') clipGradValue(Object.values(p), example.clip[1])
    if (example.lrs !== undefined) {
      const group = optimizer.groups[0] as { betas?: readonly number[]; momentum?: number }
      optimizer.groups.forEach(({ lr }, i) => {
        expect(lr, `lr of group ${i} at step ${step}`).toBeCloseTo(example.lrs?.[step - 1]?.[i] as number, 12)
      })
      expect(group.betas?.[0] ?? group.momentum).toBeCloseTo(example.momenta?.[step - 1] as number, 12)
    }
    optimizer.step()
    schedule?.step()
    const place = fixture.kept.indexOf(step)
    if (place >= 0) see(place, loss.item(), p)
  }
}

// Roundings add up over 100 steps, and RMSprop, which divides by small numbers, magnifies them. float32 may go astray twice
// as far as PyTorch's own.
describe.each([
  { dtype: 'float64', tolerance: () => 1e-9 },
  { dtype: 'float32', tolerance: ({ float32Distance }: Case) => Math.max(1e-6, 2 * float32Distance) },
] as const)(`100 steps of ${fixture.source} in $dtype`, ({ dtype, tolerance }) => {
  test.each(fixture.cases.map((example) => [`${example.optimizer}: ${example.name}`, example] as const))(
    '%s',
    (_, example) => {
      let worst = 0
      train(example, dtype, (place, loss, now) => {
        worst = Math.max(worst, Math.abs(loss - (example.losses[place] as number)))
        for (const name of names) {
          const wanted = example.parameters[place]?.[name] as readonly number[]
          now[name].data.forEach((value, i) => {
            worst = Math.max(worst, Math.abs(value - (wanted[i] as number)))
          })
        }
      })
      expect(worst).toBeLessThan(tolerance(example))
    },
  )
})
