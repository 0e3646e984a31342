// Convolution and pooling, against plain loops.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avgPool2d, conv2d, maxPool2d, tensor } from 'wengert'
import { denseWith } from '../support/arbitraries.js'
import { expectNear } from '../support/expectations.js'
import { at, type Dense, generate, total } from '../support/reference.js'

const pair = (min: number, max: number) => fc.tuple(fc.integer({ min, max }), fc.integer({ min, max }))
const values = fc.integer({ min: -8, max: 8 }).map((n) => n / 4)
const tensorOf = ({ shape, data }: Dense) => tensor([...data], { shape, dtype: 'float64' })
const range = (length: number) => Array.from({ length }, (_, i) => i)

/** The element at a place of an image that may lie outside of it. */
function within(x: Dense, lead: readonly number[], row: number, column: number, outside: number): number {
  const [height, width] = x.shape.slice(-2) as [number, number]
  return row < 0 || column < 0 || row >= height || column >= width ? outside : at(x, [...lead, row, column])
}

const countOf = (length: number, size: number, stride: number, padding: number, dilation = 1) =>
  Math.floor((length + 2 * padding - dilation * (size - 1) - 1) / stride) + 1

test('conv2d', () => {
  const sample = fc
    .record({
      batch: fc.integer({ min: 1, max: 2 }),
      groups: fc.integer({ min: 1, max: 2 }),
      depth: fc.integer({ min: 1, max: 2 }),
      perGroup: fc.integer({ min: 1, max: 2 }),
      image: pair(3, 5),
      window: pair(1, 3),
      stride: pair(1, 2),
      padding: pair(1, 2),
      dilation: pair(1, 2),
    })
    .chain((sizes) =>
      fc.tuple(
        fc.constant(sizes),
        denseWith([sizes.batch, sizes.depth * sizes.groups, ...sizes.image], values),
        denseWith([sizes.perGroup * sizes.groups, sizes.depth, ...sizes.window], values),
        denseWith([sizes.perGroup * sizes.groups], values),
      ),
    )
  fc.assert(
    fc.property(sample, ([sizes, x, weight, bias]) => {
      const { batch, depth, groups, perGroup, image, window, stride, padding, dilation } = sizes
      const counts = ([0, 1] as const).map((axis) =>
        countOf(image[axis], window[axis], stride[axis], padding[axis], dilation[axis]),
      )
      const wanted = generate([batch, perGroup * groups, ...counts], ([n, o, i, j]) => {
        const [image, out, row, column] = [n, o, i, j] as [number, number, number, number]
        const first = Math.floor(out / perGroup) * depth
        const products = range(depth).flatMap((c) =>
          range(window[0]).flatMap((u) =>
            range(window[1]).map((v) => {
              const y = row * stride[0] + u * dilation[0] - padding[0]
              const z = column * stride[1] + v * dilation[1] - padding[1]
              return at(weight, [out, c, u, v]) * within(x, [image, first + c], y, z, 0)
            }),
          ),
        )
        return total(products) + at(bias, [out])
      })
      const options = { stride, padding, dilation, groups }
      expectNear(conv2d(tensorOf(x), tensorOf(weight), tensorOf(bias), options), wanted, { absolute: 1e-12 })
      const single = conv2d(tensorOf(x).at(0), tensorOf(weight), tensorOf(bias), options)
      expectNear(single, { shape: wanted.shape.slice(1), data: wanted.data.slice(0, single.size) }, { absolute: 1e-12 })
    }),
  )
})

test("padding 'same' keeps height and width", () => {
  const x = tensor([[[1, 2, 3]]], { dtype: 'float64' })
  const weight = tensor([[[[1, 10, 100, 1000]]]], { dtype: 'float64' })
  // One zero in front, two behind.
  expect(conv2d(x, weight, undefined, { padding: 'same' }).toArray()).toEqual([[[3210, 321, 32]]])
})

test.each([
  ['maxPool2d', maxPool2d, Number.NEGATIVE_INFINITY, (window: number[]) => Math.max(...window)],
  ['avgPool2d', avgPool2d, 0, (window: number[]) => total(window) / window.length],
] as const)('%s', (_, pool, outside, fn) => {
  const sample = fc
    .record({
      image: pair(3, 6),
      window: pair(1, 3),
      stride: fc.option(pair(1, 3), { nil: undefined }),
      padded: fc.boolean(),
    })
    .chain((sizes) => fc.tuple(fc.constant(sizes), denseWith([2, 2, ...sizes.image], values)))
  fc.assert(
    fc.property(sample, ([{ image, window, stride: given, padded }, x]) => {
      const padding = padded ? ([Math.floor(window[0] / 2), Math.floor(window[1] / 2)] as const) : ([0, 0] as const)
      const stride = given ?? window
      const counts = ([0, 1] as const).map((axis) => countOf(image[axis], window[axis], stride[axis], padding[axis]))
      const wanted = generate([2, 2, ...counts], (position) => {
        const [row, column] = position.slice(2) as [number, number]
        const seen = range(window[0]).flatMap((u) =>
          range(window[1]).map((v) =>
            within(
              x,
              position.slice(0, 2),
              row * stride[0] + u - padding[0],
              column * stride[1] + v - padding[1],
              outside,
            ),
          ),
        )
        return fn(seen)
      })
      expectNear(pool(tensorOf(x), window, { stride: given, padding }), wanted, { absolute: 1e-12 })
    }),
  )
})
