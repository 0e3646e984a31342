import { main } from '../support/example.js'
import { spirals } from './spirals.js'

await main(spirals)
