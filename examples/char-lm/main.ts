import { main } from '../support/example.js'
import { charLm } from './char-lm.js'

await main(charLm)
