import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^wengert$/, replacement: source('./src/index.ts') },
      { find: /^wengert\/(nn|optim|data|safetensors|node)$/, replacement: source('./src/$1/index.ts') },
      { find: /^wengert\/testing\/(vitest|fast-check)$/, replacement: source('./src/testing/$1.ts') },
      { find: /^wengert\/testing$/, replacement: source('./src/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    // The default leaves one processor to watching.
    maxWorkers: '100%',
  },
})
