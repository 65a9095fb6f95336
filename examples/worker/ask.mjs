// node ask.mjs FILE QUESTION [OPTIONS OF wim-edge worker]: the margins as they come, then the answer.

import { Worker } from './worker.mjs'

const [path, question, ...options] = process.argv.slice(2)
const worker = new Worker(options, process.env.WIM_EDGE ?? 'wim-edge')
let current = null
process.on('SIGINT', () => current !== null && worker.answerNow(current))

for await (const event of worker.ask([path], question)) {
  current = event.id
  if (event.type === 'margin.judged' && event.relevant) console.error(`margin: ${event.text}`)
  if (event.type === 'answer.finished') {
    console.log(event.text)
    const isFound = event.status !== 'not_found'
    for (const source of event.sources) console.log(`${isFound ? 'source' : 'nearest'}: ${source.opens ?? source.document}`)
    if (!isFound) process.exitCode = 11 // as `wim-edge ask` ends
  }
  if (event.type === 'error') {
    console.error(`error: ${event.message}\nhint: ${event.hint}`)
    process.exitCode = 1
  }
}
worker.close()
