/** What every optimiser can be set to. */
export interface CommonSettings {
  /** The learning rate. */
  lr: number
}

/** Where one parameter's numbers are in linear memory, for the length of one update. */
export interface UpdateCall<Settings> {
  readonly suffix: 'f32' | 'f64'
  readonly count: number
  readonly parameter: number
  readonly gradient: number
  /** Addresses of the state, in the order of `UpdateRule.buffers`; 0 for what the settings do not need. */
  readonly buffers: readonly number[]
  /** Whether each of them was made, of zeros, for this very update. */
  readonly fresh: readonly boolean[]
  readonly settings: Settings
  /** How many updates this parameter has had, this one included. */
  readonly step: number
}

/** All that makes one optimiser differ from another. */
export interface UpdateRule<Settings extends CommonSettings> {
  readonly name: string
  /** Values of the settings that are left out; `lr` is missing where it must be given. */
  readonly defaults: Omit<Settings, 'lr'> & Partial<CommonSettings>
  /** Names of the tensors that are kept for each parameter, of its shape and dtype. */
  readonly buffers: readonly string[]
  /** Whether the settings need the buffer of this name. */
  needs(buffer: string, settings: Settings): boolean
  /** Throws unless the settings can be used. */
  check(op: string, settings: Settings): void
  /** Updates one parameter and its state in place. */
  update(call: UpdateCall<Settings>): void
}
