import asc from 'assemblyscript/asc'

/** The exports of AssemblyScript source text, with a memory of `pages` pages of 64 KiB. */
export async function assemble(text: string, fused: boolean, pages = 1): Promise<WebAssembly.Exports> {
  let binary: Uint8Array<ArrayBuffer> | undefined
  const features = ['--enable', 'simd', ...(fused ? ['--enable', 'relaxed-simd'] : [])]
  const memory = ['--runtime', 'stub', '--initialMemory', String(pages)]
  const { error, stderr } = await asc.main(['loop.ts', '-O3', '-o', 'loop.wasm', ...memory, ...features], {
    readFile: (name) => (name === 'loop.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'loop.wasm') binary = contents as Uint8Array<ArrayBuffer>
    },
    listFiles: () => [],
  })
  if (error || binary === undefined) throw error ?? new Error(stderr.toString())
  return new WebAssembly.Instance(new WebAssembly.Module(binary), {}).exports
}
