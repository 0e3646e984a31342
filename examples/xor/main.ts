import { main } from '../support/example.js'
import { xor } from './xor.js'

await main(xor)
