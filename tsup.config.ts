import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    nn: 'src/nn/index.ts',
    optim: 'src/optim/index.ts',
    data: 'src/data/index.ts',
    safetensors: 'src/safetensors/index.ts',
    node: 'src/node/index.ts',
    testing: 'src/testing/index.ts',
    'testing/vitest': 'src/testing/vitest.ts',
    'testing/fast-check': 'src/testing/fast-check.ts',
  },
  format: ['esm', 'cjs'],
  target: 'es2022',
  dts: true,
  // The entry points share one engine: it must not be copied into each of them.
  splitting: true,
  clean: true,
  treeshake: false,
})
