import { main } from '../support/example.js'
import { vanishingGradients } from './vanishing-gradients.js'

await main(vanishingGradients)
