// Every test once more with all work, however small, shared by two threads: `npm run test:threads`.
// Those of memory budgets are left out: they are of a few kilobytes, and small products have no scratch memory.
import { mergeConfig } from 'vitest/config'
import base from './vitest.config.js'

export default mergeConfig(base, {
  test: { setupFiles: ['test/support/share-with-two.ts'], exclude: ['test/**/memory.test.ts'] },
})
