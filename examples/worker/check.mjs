// node check.mjs FILE OTHER QUESTION: milliseconds to the first event of a warm worker, and what a crash costs: it is
// killed while it reads OTHER, then asked about FILE again, whose reading is kept.

import { Worker } from './worker.mjs'

const [path, other, question, ...options] = process.argv.slice(2)
const worker = new Worker(options, process.env.WIM_EDGE ?? 'wim-edge')

async function ask (document, onSegment = () => {}) {
  const begun = performance.now()
  let first = null
  let last = null
  for await (const event of worker.ask([document], question)) {
    first ??= performance.now() - begun
    if (event.type === 'segment.read') onSegment()
    last = event
  }
  return { first, last, seconds: (performance.now() - begun) / 1000 }
}

const cold = await ask(path)
const warm = await ask(path)
const crashed = await ask(other, () => worker.kill())
const after = await ask(path)
worker.close()
console.log(JSON.stringify({
  answers: [cold.last.type, warm.last.type, crashed.last.type, after.last.type],
  first_event_ms: warm.first,
  after_crash_seconds: after.seconds,
  after_crash_read_tokens: after.last.usage?.prefilled_tokens
}))
