import { shareEverything, useThreads } from './threads.js'

shareEverything()
useThreads(2)
