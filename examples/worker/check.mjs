// node check.mjs FILE QUESTION: milliseconds to the first event of a warm worker, and what a crash in the middle costs.

import { Worker } from './worker.mjs'

const [path, question, ...options] = process.argv.slice(2)
const worker = new Worker(options, process.env.WIM_EDGE ?? 'wim-edge')

async function ask (onFirst = () => {}) {
  const begun = performance.now()
  let first = null
  let last = null
  for await (const event of worker.ask([path], question)) {
    if (first === null) {
      first = performance.now() - begun
      onFirst()
    }
    last = event
  }
  return { first, last, seconds: (performance.now() - begun) / 1000 }
}

const cold = await ask()
const warm = await ask()
const crashed = await ask(() => worker.kill())
const after = await ask()
worker.close()
console.log(JSON.stringify({
  answers: [cold.last.type, warm.last.type, crashed.last.type, after.last.type],
  first_event_ms: warm.first,
  after_crash_seconds: after.seconds,
  after_crash_read_tokens: after.last.usage?.prefilled_tokens
}))
