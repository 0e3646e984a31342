import { main } from '../support/example.js'
import { recall } from './recall.js'

await main(recall)
