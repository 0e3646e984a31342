// The public names of `wengert/node`, nothing else: files.
import '../methods.js'

export { loadCheckpoint, loadSafetensors, saveCheckpoint, saveSafetensors } from './files.js'
