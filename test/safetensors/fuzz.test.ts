// A short form of `npm run fuzz`.
import { expect, test } from 'vitest'
import { fuzz } from './fuzz.js'

test('damaged files are read the same each time, or refused with an error of the library', () => {
  const { read, refused } = fuzz(4000, 1)
  const total = [...refused.values()].reduce((sum, times) => sum + times, 0)
  expect(read + total).toBe(4000)
  // The damage reaches all the checks, and leaves some files whole.
  expect(read).toBeGreaterThan(100)
  const kinds = [...refused.keys()]
  const checks = [
    'UTF',
    'is there twice',
    'leaves a hole',
    'overlaps',
    'reaches beyond',
    'needs # bytes',
    'unknown dtype',
  ]
  expect(checks.filter((check) => !kinds.some((kind) => kind.includes(check)))).toEqual([])
})
