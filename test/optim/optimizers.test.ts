// What all optimisers share: groups, gradients, state, and what they refuse.
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  DTypeError,
  GradientError,
  manualSeed,
  noGrad,
  ones,
  randn,
  type Tensor,
  tensor,
  zeros,
} from 'wengert'
import { Adam, AdamW, CosineAnnealingLR, LinearLR, OneCycleLR, RMSprop, SequentialLR, SGD, StepLR } from 'wengert/optim'
import { arenaStatistics } from '../../src/memory/arena.js'
import { expectError, expectSame, gradOf, untyped } from '../support/expectations.js'

const leaf = (values: number[]) => tensor(values, { requiresGrad: true })

/** One of each kind over the given parameters, with everything that they can keep. */
const kinds = {
  SGD: (parameters: Tensor[]) => new SGD(parameters, { lr: 0.1, momentum: 0.9 }),
  Adam: (parameters: Tensor[]) => new Adam(parameters, { lr: 0.1 }),
  AdamW: (parameters: Tensor[]) => new AdamW(parameters, { lr: 0.1 }),
  RMSprop: (parameters: Tensor[]) => new RMSprop(parameters, { lr: 0.1, momentum: 0.5, centered: true }),
}
const cases = Object.entries(kinds) as [keyof typeof kinds, (typeof kinds)['SGD' | 'Adam' | 'AdamW' | 'RMSprop']][]

describe.each(cases)('%s', (_, make) => {
  test('walks down a bowl', () => {
    const x = leaf([3, -2])
    const optimizer = make([x])
    for (let step = 0; step < 600; step++) {
      optimizer.zeroGrad()
      x.square().sum().backward()
      optimizer.groups.forEach((group) => {
        group.lr = 0.1 * 0.99 ** step
      })
      optimizer.step()
    }
    expect(Math.max(...x.data.map(Math.abs))).toBeLessThan(0.02)
  })

  test('leaves parameters without a gradient as they are, and counts no step for them', () => {
    const [x, y] = [leaf([1]), leaf([2])]
    const optimizer = make([x, y])
    x.sum().backward()
    optimizer.step()
    expect(x.item()).not.toBe(1)
    expect(y.item()).toBe(2)
    expect(optimizer.stateDict().steps).toEqual([1, 0])
  })

  test('changes in place, so that an older tape refuses to be swept', () => {
    const x = leaf([1, 2])
    const loss = x.square().sum()
    x.sum().backward()
    const optimizer = make([x])
    optimizer.step()
    expectError(() => loss.backward(), GradientError, 'backward', 'changed in place')
  })

  test('takes gradients that are views, and does not change them', () => {
    const x = tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { requiresGrad: true },
    )
    const y = tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { requiresGrad: true },
    )
    const gradient = tensor([
      [1, -1],
      [2, -2],
      [3, -3],
    ])
    x.grad = gradient.transpose()
    y.grad = gradient.transpose().clone()
    const optimizer = make([x, y])
    optimizer.step()
    expectSame(x, y)
    expect(gradient.toArray()).toEqual([
      [1, -1],
      [2, -2],
      [3, -3],
    ])
    expectSame(gradOf(x), gradient.transpose())
  })

  test('goes on from its state to the last bit, also when that went through JSON', () => {
    manualSeed(1)
    const start = [randn([3, 2]), randn([5])]
    const targets = Array.from({ length: 8 }, () => [randn([3, 2]), randn([5])] as const)
    const run = (from: readonly Tensor[], steps: readonly (readonly Tensor[])[], state?: string, tensors?: object) => {
      const parameters = from.map((x) => x.clone().requiresGrad_())
      const optimizer = make(parameters)
      if (state !== undefined) optimizer.loadStateDict({ ...JSON.parse(state), tensors })
      for (const step of steps) {
        optimizer.zeroGrad()
        parameters.forEach((x, i) => {
          x.sub(step[i] as Tensor)
            .square()
            .sum()
            .backward()
        })
        optimizer.step()
      }
      return { parameters, state: optimizer.stateDict() }
    }
    const whole = run(start, targets)
    const first = run(start, targets.slice(0, 5))
    const { tensors, ...plain } = first.state
    const second = run(
      first.parameters.map((x) => x.detach()),
      targets.slice(5),
      JSON.stringify(plain),
      tensors,
    )
    second.parameters.forEach((x, i) => {
      expectSame(x, whole.parameters[i] as Tensor)
    })
    expect(second.state.steps).toEqual(whole.state.steps)
    for (const [name, value] of Object.entries(whole.state.tensors)) {
      expectSame(second.state.tensors[name] as Tensor, value)
    }
  })

  test('its state is a copy, and so is what it loads', () => {
    const x = leaf([1])
    const optimizer = make([x])
    const step = () => {
      optimizer.zeroGrad()
      x.sum().backward()
      optimizer.step()
    }
    step()
    const state = optimizer.stateDict()
    const before = Object.values(state.tensors).map((value) => value.item())
    step()
    expect(Object.values(state.tensors).map((value) => value.item())).toEqual(before)
    optimizer.loadStateDict(state)
    for (const value of Object.values(state.tensors)) value.copy_(zeros([1]))
    expect(Object.values(optimizer.stateDict().tensors).map((value) => value.item())).toEqual(before)
  })

  test('keeps nothing in linear memory but its state', () => {
    const x = randn([64, 64], { requiresGrad: true })
    x.grad = randn([64, 64]).transpose()
    const optimizer = make([x])
    optimizer.step()
    const before = arenaStatistics()
    for (let i = 0; i < 100; i++) optimizer.step()
    const after = arenaStatistics()
    expect([after.residents, after.residentBytes]).toEqual([before.residents, before.residentBytes])
  })
})

describe('groups', () => {
  test('have their own settings, and the others from the options', () => {
    const [a, b, c] = [leaf([1]), leaf([1]), leaf([1])]
    const optimizer = new SGD(
      [
        { parameters: [a, b], lr: 0.5 },
        { parameters: [c], weightDecay: 1 },
      ],
      { lr: 0.25 },
    )
    expect(optimizer.groups.map(({ lr, weightDecay }) => [lr, weightDecay])).toEqual([
      [0.5, 0],
      [0.25, 1],
    ])
    a.add(b).add(c).sum().backward()
    optimizer.step()
    expect([a, b, c].map((x) => x.item())).toEqual([0.5, 0.5, 0.5])
  })

  test('may be changed between steps, but not to what cannot be', () => {
    const x = leaf([1])
    const optimizer = new SGD([x], { lr: 0.5 })
    const [group] = optimizer.groups
    if (group === undefined) throw new Error('there is no group')
    x.sum().backward()
    group.lr = 0.25
    optimizer.step()
    expect(x.item()).toBe(0.75)
    group.lr = Number.NaN
    expectError(() => optimizer.step(), ArgumentError, 'SGD', 'lr')
    expect(x.item()).toBe(0.75)
  })

  test('undefined settings are left out', () => {
    const optimizer = new Adam([{ parameters: [leaf([1])], lr: untyped(undefined) }], { eps: untyped(undefined) })
    expect(optimizer.groups[0]).toMatchObject({ lr: 1e-3, eps: 1e-8 })
  })

  test('parameters may be any iterable', () => {
    const parameters = new Set([leaf([1]), leaf([2])])
    expect(new SGD(parameters.values(), { lr: 1 }).groups[0]?.parameters).toEqual([...parameters])
    expect(new SGD([{ parameters }], { lr: 1 }).groups[0]?.parameters).toEqual([...parameters])
  })

  test('a momentum that is turned on later starts then, and one turned off is not used', () => {
    const [x, y] = [leaf([0]), leaf([0])]
    const late = new SGD([x], { lr: 1 })
    const always = new SGD([y], { lr: 1, momentum: 0.5 })
    const step = (optimizer: SGD, parameter: Tensor, momentum: number) => {
      Object.assign(optimizer.groups[0] ?? {}, { momentum })
      parameter.grad = ones([1])
      optimizer.step()
      return parameter.item()
    }
    expect([0, 0.5, 0.5, 0].map((momentum) => step(late, x, momentum))).toEqual([-1, -2, -3.5, -4.5])
    expect([0.5, 0.5].map((momentum) => step(always, y, momentum))).toEqual([-1, -2.5])
  })
})

describe('what cannot be', () => {
  const x = leaf([1])
  const refused: [string, () => unknown, Parameters<typeof expectError>[1], ...string[]][] = [
    ['no parameters', () => new SGD([], { lr: 1 }), ArgumentError, 'no parameters'],
    ['no lr', () => new SGD([x]), ArgumentError, 'lr is missing'],
    ['one tensor', () => new SGD(untyped(x), { lr: 1 }), ArgumentError, 'put it into an array'],
    ['a number', () => new SGD(untyped(3), { lr: 1 }), ArgumentError, 'list of tensors'],
    ['a module', () => new SGD(untyped({ weight: x }), { lr: 1 }), ArgumentError, 'parameters()'],
    [
      'a group by another name',
      () => new SGD(untyped([{ params: [x] }]), { lr: 1 }),
      ArgumentError,
      '{ parameters, lr',
    ],
    ['numbers', () => new SGD(untyped([1]), { lr: 1 }), ArgumentError, 'must be a tensor'],
    ['a mixture', () => new SGD(untyped([{ parameters: [leaf([1])] }, x]), { lr: 1 }), ArgumentError, 'mixes'],
    ['a parameter twice', () => new SGD([x, x], { lr: 1 }), ArgumentError, 'twice'],
    [
      'a parameter in two groups',
      () => new SGD([{ parameters: [x] }, { parameters: [x] }], { lr: 1 }),
      ArgumentError,
      'twice',
    ],
    ['a result', () => new SGD([x.scale(2)], { lr: 1 }), GradientError, 'only leaves', '(1,)'],
    ['whole numbers', () => new SGD([tensor([1], { dtype: 'int32' })], { lr: 1 }), DTypeError, 'int32'],
    ['a view', () => new SGD([ones([2, 3]).transpose()], { lr: 1 }), ArgumentError, 'view'],
    ['an unknown option', () => new SGD([x], untyped({ learningRate: 1 })), ArgumentError, 'learningRate', 'lr'],
    [
      'an unknown option of a group',
      () => new SGD([untyped({ parameters: [x], beta: 1 })], { lr: 1 }),
      ArgumentError,
      'beta',
    ],
    ['a negative lr', () => new SGD([x], { lr: -1 }), ArgumentError, 'lr', '-1'],
    ['an lr of a group', () => new SGD([{ parameters: [x], lr: untyped('1') }], { lr: 1 }), ArgumentError, 'lr'],
    ['nesterov without momentum', () => new SGD([x], { lr: 1, nesterov: true }), ArgumentError, 'nesterov'],
    [
      'nesterov with dampening',
      () => new SGD([x], { lr: 1, nesterov: true, momentum: 0.9, dampening: 0.1 }),
      ArgumentError,
      'dampening',
    ],
    ['a flag that is none', () => new SGD([x], { lr: 1, nesterov: untyped(1) }), ArgumentError, 'true or false'],
    ['dampening of NaN', () => new SGD([x], { lr: 1, dampening: Number.NaN }), ArgumentError, 'dampening'],
  ]
  test.each(refused)('SGD over %s', (_, run, kind, ...says) => {
    expectError(run, kind, 'SGD', ...says)
  })

  test('Adam and RMSprop check their settings', () => {
    expectError(() => new Adam([x], { betas: [1, 0.9] }), ArgumentError, 'Adam', '[0, 1)')
    expectError(() => new AdamW([x], { betas: untyped(0.9) }), ArgumentError, 'AdamW', 'betas')
    expectError(() => new AdamW([x], { weightDecay: Number.POSITIVE_INFINITY }), ArgumentError, 'AdamW', 'weightDecay')
    expectError(() => new Adam([x], { eps: -1 }), ArgumentError, 'Adam', 'eps')
    expectError(() => new RMSprop([x], { alpha: 1 }), ArgumentError, 'RMSprop', 'alpha')
    expectError(() => new RMSprop([x], { centered: untyped('yes') }), ArgumentError, 'RMSprop', 'centered')
  })

  test('a state that does not fit: all of it is listed, and nothing changed', () => {
    const optimizer = new Adam([leaf([1, 2]), leaf([3])], { lr: 0.5 })
    const state = new Adam([leaf([1, 2]), leaf([3])]).stateDict()
    const load = (changes: object) => () => optimizer.loadStateDict({ ...state, ...changes })
    const op = 'Adam.loadStateDict'
    const { parameters, ...rest } = state.groups[0] as (typeof state.groups)[number]
    expectError(() => optimizer.loadStateDict(untyped(null)), ArgumentError, op)
    expectError(load({ tensors: null }), ArgumentError, op)
    expectError(load({ more: 1 }), ArgumentError, op, 'more')
    expectError(load({ groups: [] }), ArgumentError, op, '0 groups instead of 1')
    expectError(load({ steps: [1, -1] }), ArgumentError, op, 'steps')
    expectError(
      load({
        groups: [{ parameters: [0], lr: 1, betas: [0, 0], eps: 0, alpha: 1 }],
        steps: [2],
        tensors: { '0.expAvg': ones([3]), '1.expAvgSq': 3, '2.expAvg': ones([1]), '0.momentum': ones([2]) },
      }),
      ArgumentError,
      op,
      'group 0 has the parameters [0] instead of [0,1]',
      'group 0 misses weightDecay',
      'unexpected alpha',
      'steps must be 2',
      '0.expAvg has shape (3,) instead of (2,)',
      '1.expAvgSq is no tensor',
      'unexpected: 2.expAvg',
      'unexpected: 0.momentum',
    )
    expectError(load({ groups: [{ ...rest, parameters, lr: -1 }] }), ArgumentError, op, 'lr')
    expect(optimizer.groups[0]?.lr).toBe(0.5)
  })
})

describe('schedules', () => {
  const make = () => new SGD([{ parameters: [leaf([1])] }, { parameters: [leaf([1])], lr: 0.5 }], { lr: 1 })

  test('go on from their state, and set the rates to it', () => {
    const optimizer = make()
    const schedule = new CosineAnnealingLR(optimizer, { tMax: 10 })
    for (let i = 0; i < 4; i++) schedule.step()
    const state = JSON.parse(JSON.stringify(schedule.stateDict()))
    const other = make()
    other.loadStateDict(optimizer.stateDict())
    const resumed = new CosineAnnealingLR(other, { tMax: 10 })
    resumed.loadStateDict(state)
    expect(resumed.lrs).toEqual(schedule.lrs)
    schedule.step()
    resumed.step()
    expect(other.groups.map(({ lr }) => lr)).toEqual(optimizer.groups.map(({ lr }) => lr))
  })

  test('start from the rate before any schedule, or from one that was set since', () => {
    const optimizer = make()
    new LinearLR(optimizer, { startFactor: 0.1 })
    expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.1, 0.05])
    expect(new StepLR(optimizer, { stepSize: 1, gamma: 0.5 }).lrs).toEqual([1, 0.5])
    Object.assign(optimizer.groups[0] ?? {}, { lr: 0.25 })
    const schedule = new StepLR(optimizer, { stepSize: 1, gamma: 0.5 })
    schedule.step()
    expect(schedule.lrs).toEqual([0.125, 0.25])
  })

  test('one cycle keeps to its steps', () => {
    const schedule = new OneCycleLR(make(), { maxLr: 1, totalSteps: 1 })
    schedule.step()
    expectError(() => schedule.step(), ArgumentError, 'OneCycleLR', 'beyond the end')
    expect(schedule.stateDict().step).toBe(1)
    const short = new OneCycleLR(make(), { maxLr: 2, totalSteps: 10, pctStart: 0.1 })
    expect(short.lrs).toEqual([2, 2])
  })

  test('refuse what cannot be', () => {
    const optimizer = make()
    expectError(() => new StepLR(untyped({}), { stepSize: 1 }), ArgumentError, 'StepLR', 'optimiser')
    expectError(() => new StepLR(optimizer, untyped(undefined)), ArgumentError, 'StepLR', 'stepSize')
    expectError(() => new StepLR(optimizer, { stepSize: 0 }), ArgumentError, 'StepLR', 'stepSize')
    expectError(() => new StepLR(optimizer, { stepSize: 1, gamma: -1 }), ArgumentError, 'StepLR', 'gamma')
    expectError(() => new LinearLR(optimizer, { totalIters: 0 }), ArgumentError, 'LinearLR', 'totalIters')
    expectError(() => new CosineAnnealingLR(optimizer, untyped({ T: 1 })), ArgumentError, 'CosineAnnealingLR', 'tMax')
    expectError(() => new OneCycleLR(optimizer, untyped({ maxLr: 1 })), ArgumentError, 'OneCycleLR', 'totalSteps')
    const odd = { maxLr: 1, totalSteps: 5 }
    expectError(() => new OneCycleLR(optimizer, { ...odd, pctStart: 2 }), ArgumentError, 'OneCycleLR', 'pctStart')
    expectError(() => new OneCycleLR(optimizer, { ...odd, divFactor: 0 }), ArgumentError, 'OneCycleLR', 'divFactor')
    for (const name of ['pctStart', 'divFactor', 'finalDivFactor', 'maxLr']) {
      const text = untyped({ ...odd, [name]: '0.5' })
      expectError(() => new OneCycleLR(optimizer, text), ArgumentError, 'OneCycleLR', name)
    }
    expectError(
      () => new OneCycleLR(optimizer, { ...odd, annealStrategy: untyped('cosine') }),
      ArgumentError,
      'OneCycleLR',
      'annealStrategy',
    )
    const parts = [new StepLR(optimizer, { stepSize: 1 }), new StepLR(optimizer, { stepSize: 1 })]
    const sequence = (schedules: unknown, milestones: unknown, of = optimizer) =>
      expectError(() => new SequentialLR(of, untyped({ schedules, milestones })), ArgumentError, 'SequentialLR')
    sequence(parts, [])
    sequence([], [])
    sequence(parts, [0])
    sequence([...parts, ...parts], [2, 2, 3])
    sequence(parts, [1], make())
    sequence([1, 2], [1])
    const op = 'StepLR.loadStateDict'
    const [schedule] = parts
    expectError(() => schedule?.loadStateDict(untyped({ step: -1, baseLrs: [1, 1] })), ArgumentError, op, 'step')
    expectError(() => schedule?.loadStateDict(untyped({ step: 1, baseLrs: [1] })), ArgumentError, op, 'baseLrs')
    expectError(() => schedule?.loadStateDict(untyped(undefined)), ArgumentError, op)
    expectError(() => schedule?.loadStateDict(untyped({ epoch: 1 })), ArgumentError, op, 'epoch')
  })
})

test('steps record nothing, also inside a recorded function', () => {
  const x = leaf([1])
  const optimizer = new Adam([x])
  x.square().sum().backward()
  optimizer.step()
  expect([x.isLeaf, x.requiresGrad]).toEqual([true, true])
  noGrad(() => optimizer.step())
  expect(optimizer.stateDict().steps).toEqual([2])
})
