// Every test once more with all work, however small, shared by two threads: `npm run test:threads`. Left out are those
// that count calls of kernels or keep to a few kilobytes, where small products have no scratch memory, and those that
// test other processes.
import { mergeConfig } from 'vitest/config'
import base from './vitest.config.js'

const exclude = ['test/**/memory.test.ts', 'test/counts.test.ts', 'test/readme.test.ts', 'test/examples/**']

export default mergeConfig(base, { test: { setupFiles: ['test/support/share-with-two.ts'], exclude } })
