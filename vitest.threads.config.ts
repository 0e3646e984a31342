// Every test once more with all work, however small, shared by two threads: `vitest run --config vitest.threads.config.ts`.
import { mergeConfig } from 'vitest/config'
import base from './vitest.config.js'

export default mergeConfig(base, { test: { setupFiles: ['test/support/share-with-two.ts'] } })
